// Debug files from a server on this machine.

#include "exporters/symbolizer/debuginfod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/exporters/symbolizer/program_folder.h"

namespace unspool::exporters {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kMaxTries = 1000;

// ./bare is stripped, ./whole is what it was; server/ is served, log tells what
// was asked for.
class DebuginfodTest : public ProgramFolder {
 protected:
  void SetUp() override {
    Compile("g++", "-Wl,--build-id", "whole");
    expected_ = NamesOf("whole");
    id_ = BuildIdByReadelf(Path("whole"));
    Run("strip -s -o bare whole && mkdir -p server/buildid/" + id_);
    Run("{ python3 -u -m http.server 0 --bind 127.0.0.1 --directory server "
        ">log 2>&1 & echo $! >pid; }");
    setenv("DEBUGINFOD_CACHE_PATH", Path("cache").c_str(), 1);
    setenv("DEBUGINFOD_URLS", ("http://127.0.0.1:" + Port()).c_str(), 1);
    setenv("no_proxy", "127.0.0.1", 1);
  }

  void TearDown() override {
    unsetenv("DEBUGINFOD_URLS");
    Run("kill $(cat pid)");
  }

  // Waits until the server has one.
  std::string Port() {
    for (int i = 0; i < kMaxTries; ++i) {
      const std::string log = ReadFile(Path("log"));
      const size_t port = log.find(" port ");
      const size_t end = log.find(' ', port + 6);
      if (port != std::string::npos && end != std::string::npos) {
        return log.substr(port + 6, end - port - 6);
      }
      usleep(10'000);
    }
    ADD_FAILURE() << ReadFile(Path("log"));
    return "";
  }

  // Puts what the server has for the program.
  void Serve(const std::string& command) {
    Run(command + " server/buildid/" + id_ + "/debuginfo");
  }

  std::vector<std::string> expected_;
  std::string id_;
};

TEST_F(DebuginfodTest, GivesTheSameNamesAsTheProgramItself) {
  Serve("objcopy --only-keep-debug whole");
  EXPECT_TRUE(NamesOf("bare") == expected_);
  EXPECT_THAT(ProblemsOf("bare"), IsEmpty());
}

TEST_F(DebuginfodTest, IsNotAskedUnlessTheVariableIsSet) {
  Serve("objcopy --only-keep-debug whole");
  for (const char* value : {"", static_cast<const char*>(nullptr)}) {
    value == nullptr ? unsetenv("DEBUGINFOD_URLS")
                     : setenv("DEBUGINFOD_URLS", value, 1);
    EXPECT_FALSE(NamesOf("bare") == expected_);
    EXPECT_THAT(ProblemsOf("bare"), IsEmpty());
  }
  EXPECT_EQ(ReadFile(Path("log")).find("GET"), std::string::npos);
  EXPECT_NE(access(Path("cache").c_str(), F_OK), 0);
}

TEST_F(DebuginfodTest, IsNotAskedForWhatIsThere) {
  EXPECT_TRUE(NamesOf("whole") == expected_);
  Run("mkdir -p $(dirname debug/" + IdPath("whole") +
      ") && objcopy --only-keep-debug whole debug/" + IdPath("whole"));
  EXPECT_TRUE(NamesOf("bare") == expected_);
  EXPECT_EQ(ReadFile(Path("log")).find("GET"), std::string::npos);
}

TEST_F(DebuginfodTest, WithoutTheFileIsNoProblem) {
  EXPECT_THAT(ProblemsOf("bare"), IsEmpty());
  EXPECT_NE(ReadFile(Path("log")).find("404"), std::string::npos);
}

TEST_F(DebuginfodTest, WithAFileOfAnotherBuildIsReported) {
  Serve("cp /bin/true");
  EXPECT_THAT(ProblemsOf("bare"),
              ElementsAre(HasSubstr("is of another build: its build id")));
}

TEST_F(DebuginfodTest, ThatIsNotThereIsReported) {
  setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
  EXPECT_THAT(
      ProblemsOf("bare"),
      ElementsAre(HasSubstr("the servers of DEBUGINFOD_URLS failed: ")));
}

}  // namespace
}  // namespace unspool::exporters
