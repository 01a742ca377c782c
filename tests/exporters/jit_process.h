// A profile of code that a JIT compiler made, and what the compiler wrote.

#ifndef UNSPOOL_TESTS_EXPORTERS_JIT_PROCESS_H_
#define UNSPOOL_TESTS_EXPORTERS_JIT_PROCESS_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "exporters/jit_code.h"
#include "exporters/profile.h"
#include "tests/exporters/command.h"
#include "tests/exporters/elf_program.h"
#include "tests/exporters/named_profile.h"

namespace unspool::exporters {

inline constexpr uint64_t kCode = 0x7f0000001000;
inline constexpr int64_t kSecond = 1'000'000'000;

// A profile of two processes that do not exist, with addresses in no file.
class JitProcessTest : public testing::Test {
 protected:
  JitProcessTest() {
    profile_.time_ns = time(nullptr) * kSecond;
    profile_.duration_ns = kSecond;
    profile_.mappings.push_back(
        {.memory_start = 0x1000,
         .memory_limit = 0x7fffffff0000,
         .filename = profile_.strings.Intern("[unknown]")});
  }

  ~JitProcessTest() override {
    for (const std::string& path : written_) std::remove(path.c_str());
  }

  // Above any number that the kernel gives to a process (proc(5), pid_max).
  static int64_t Pid(int process) { return (4 << 20) + 4 * getpid() + process; }

  std::string MapPath(int process = 0) const {
    return "/tmp/perf-" + std::to_string(Pid(process)) + ".map";
  }

  void Write(const std::string& path, const std::string& bytes) {
    written_.push_back(path);
    WriteFileOrDie(path, bytes);
  }

  // A sample of a process with one frame.
  void AddSample(uint32_t location, int process = 0) {
    const Label pid = {.key = profile_.strings.Intern("pid"),
                       .num = Pid(process)};
    const int64_t values[] = {1, 1};
    profile_.AddSample({&location, 1}, values, {&pid, 1});
  }

  uint32_t AddAddress(uint64_t address) {
    const uint32_t location = AddLocation(profile_, address);
    AddSample(location);
    return location;
  }

  // Names JIT-compiled code alone; returns what is told.
  std::vector<std::string> NameJit(const RecordedFiles* files = nullptr) {
    FunctionTable functions;
    return NameJitCode(profile_, &functions, files, [this] { ++ticks_; });
  }

  // The name of the leaf of a sample.
  std::string NameOf(size_t sample) {
    return FrameTexts(profile_, profile_.sample(sample).locations[0])[0];
  }

  std::vector<std::string> Comments() const {
    std::vector<std::string> texts;
    for (const StringId comment : profile_.comments) {
      texts.emplace_back(profile_.strings[comment]);
    }
    return texts;
  }

  Profile profile_ = NewCpuProfile();
  std::vector<std::string> written_;
  int ticks_ = 0;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_TESTS_EXPORTERS_JIT_PROCESS_H_
