// pprof is the judge of what pprof is: it names our addresses, prints no
// warning, and sees the values that were recorded.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/exporters/raw/own_program.h"
#include "tests/exporters/raw/recording.h"
#include "tests/exporters/raw/written_profile.h"

namespace unspool::exporters {
namespace {

using collectors::LossCause;
using collectors::TestImage;
using collectors::TestModule;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using unwind::kNoModule;
using unwind::WalkEnd;

constexpr char kGoToolPprof[] = UNSPOOL_GO " tool pprof";

// Two functions without a gap. The first ends in a call, as one does whose
// callee never returns: the return address is the second's start.
extern "C" void UnspoolTestFirst();
extern "C" void UnspoolTestSecond();
asm(R"(
    .text
    .globl UnspoolTestFirst, UnspoolTestSecond
    .type UnspoolTestFirst, @function
    .type UnspoolTestSecond, @function
UnspoolTestFirst:
    nop
    call abort@plt
    .size UnspoolTestFirst, . - UnspoolTestFirst
UnspoolTestSecond:
    ret
    .size UnspoolTestSecond, . - UnspoolTestSecond
)");

// Standard output and error of a command that must succeed.
std::string RunCommand(const std::string& command) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "re");
  char buffer[4096];
  size_t size = 0;
  while ((size = fread(buffer, 1, sizeof(buffer), pipe)) > 0) {
    output.append(buffer, size);
  }
  const int status = pclose(pipe);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << output;
  return output;
}

class GoPprofTest : public ::testing::Test {
 protected:
  void SetUp() override {
    recording_.BeginImage(TestImage());
    ASSERT_TRUE(recording_.writer().AddModule(2, OwnProgram()));
  }
  void TearDown() override { remove(path_.c_str()); }

  // Writes the profile and lets a pprof print it.
  std::string Pprof(const std::string& program, const std::string& arguments) {
    std::string bytes;
    EXPECT_EQ(WriteToString(recording_.Bytes(), {.gzip = true}, &bytes),
              RawStatus::kOk);
    std::ofstream(path_, std::ios::binary) << bytes;
    return RunCommand("PPROF_TMPDIR=" + ::testing::TempDir() + " " + program +
                      " " + arguments + " " + path_);
  }

  static uint64_t PcOf(void (*function)()) {
    return reinterpret_cast<uint64_t>(function);
  }

  Recording recording_;
  std::string path_ = ::testing::TempDir() + "go_pprof_test." +
                      std::to_string(getpid()) + ".pb.gz";
};

TEST_F(GoPprofTest, TopHasNoWarningWhateverTheAddresses) {
  unwind::Module vdso =
      TestModule(0x7fff00000000, 0x2000, 7, "linux-vdso.so.1");
  vdso.is_vdso = true;
  ASSERT_TRUE(recording_.writer().AddModule(3, vdso));
  auto& log = recording_.AddThread(4711, "app");
  const uint64_t kMs = 1'000'000;
  recording_.Sample(log, {{PcOf(UnspoolTestFirst), 2, true, false}},
                    WalkEnd::kRoot, 10 * kMs, 30);
  recording_.Sample(log, {{0x7fff00001100, 3, true, false}}, WalkEnd::kNoCfi,
                    10 * kMs, 20);
  recording_.Sample(log,
                    {{0, kNoModule, true, false},
                     {~uint64_t{0}, kNoModule, true, false},
                     {0xffffffff81000000, kNoModule, true, false}},
                    WalkEnd::kLoop, 10 * kMs, 10);
  recording_.writer().AddLoss(log, LossCause::kFull, 40 * kMs);
  for (const char* program : {kGoToolPprof, UNSPOOL_PPROF}) {
    const std::string top = Pprof(program, "-top");
    EXPECT_THAT(
        top,
        AllOf(HasSubstr("File: raw_test\n"), HasSubstr("Type: cpu\n"),
              HasSubstr("Duration: 640ms, Total samples = 640ms"),
              ContainsRegex("200ms [^\n]* 200ms [^\n]* \\[\\[vdso\\]\\]"),
              ContainsRegex("100ms [^\n]* 100ms [^\n]* \\[\\[unknown\\]\\]"),
              ContainsRegex(" 0 [^\n]* 200ms [^\n]* \\[truncated: no-cfi\\]"),
              ContainsRegex("40ms [^\n]* 40ms [^\n]* \\[lost: full\\]")));
    for (const char* word :
         {"arning", "rror", "ailed", "annot", "ound", "vailable"}) {
      EXPECT_THAT(top, Not(HasSubstr(word)));
    }
  }
}

TEST_F(GoPprofTest, MappingsLeadToTheRightNames) {
  auto& log = recording_.AddThread(4711, "app");
  recording_.Sample(log,
                    {{PcOf(UnspoolTestSecond), 2, /*exact=*/true, false},
                     {PcOf(UnspoolTestSecond), 2, /*exact=*/false, false}},
                    WalkEnd::kRoot, 10'000'000, 30);
  EXPECT_THAT(Pprof(UNSPOOL_PPROF, "-traces"),
              HasSubstr("     300ms   UnspoolTestSecond\n"
                        "             UnspoolTestFirst\n"));
}

TEST_F(GoPprofTest, RawShowsWhatWasRecorded) {
  auto& log = recording_.AddThread(4712, "worker");
  recording_.Sample(log, {{PcOf(UnspoolTestFirst), 2, true, /*guessed=*/true}},
                    WalkEnd::kDepth, 10'000'000, 3);
  EXPECT_THAT(
      Pprof(kGoToolPprof, "-raw"),
      AllOf(HasSubstr("PeriodType: cpu nanoseconds\nPeriod: 10000000\n"),
            HasSubstr("samples/count cpu/nanoseconds[dflt]\n"),
            HasSubstr("          3   30000000: 1 2 \n"),
            HasSubstr("comm:[app]"), HasSubstr("thread:[worker]"),
            HasSubstr("unwind:[guessed]"), HasSubstr("pid:[4711]"),
            HasSubstr("tid:[4712]"), HasSubstr("[truncated: depth]"),
            HasSubstr("unspool.engine=timer\n")));
}

TEST_F(GoPprofTest, TwoProfilesMergeIntoOne) {
  auto& log = recording_.AddThread(4711, "app");
  recording_.Sample(log, {{PcOf(UnspoolTestFirst), 2, true, false}},
                    WalkEnd::kDepth, 10'000'000, 3);
  EXPECT_THAT(Pprof(kGoToolPprof, "-raw " + path_),
              HasSubstr("          6   60000000: 1 2 \n"));
}

TEST_F(GoPprofTest, EmptyRecordingIsAccepted) {
  EXPECT_THAT(Pprof(kGoToolPprof, "-top"),
              HasSubstr("Showing nodes accounting for 0, 0% of 0 total"));
}

}  // namespace
}  // namespace unspool::exporters
