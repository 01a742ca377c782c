// Debug files from a server on this machine.

#include "exporters/symbolizer/debuginfod.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
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
    unsetenv("DEBUGINFOD_TIMEOUT");
    Run("for pid in *pid; do kill $(cat $pid); done");
  }

  // Waits until the server has one.
  std::string Port(const char* log = "log") {
    AwaitLog(log, " port ");
    const std::string text = ReadFile(Path(log));
    const size_t port = text.find(" port ") + 6;
    return text.substr(port, text.find(' ', port) - port);
  }

  void AwaitLog(const char* log, const char* text) {
    for (int i = 0; i < kMaxTries; ++i) {
      if (ReadFile(Path(log)).find(text) != std::string::npos) return;
      usleep(10'000);
    }
    ADD_FAILURE() << text << " is not in: " << ReadFile(Path(log));
  }

  // A server that takes connections, and says so, but never answers.
  void AskSilentServer() {
    WriteFileOrDie(Path("silent.py"), R"(import socket
server = socket.create_server(("127.0.0.1", 0))
print(f"at port {server.getsockname()[1]} ", flush=True)
kept = []
while True:
    kept.append(server.accept())
    print("asked", flush=True)
)");
    Run("{ python3 silent.py >silent.log 2>&1 & echo $! >silent.pid; }");
    setenv("DEBUGINFOD_URLS",
           ("http://127.0.0.1:" + Port("silent.log")).c_str(), 1);
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

TEST_F(DebuginfodTest, ThatIsSilentIsGivenUpAndNotAskedAgain) {
  AskSilentServer();
  setenv("DEBUGINFOD_TIMEOUT", "1", 1);
  Debuginfod servers;
  EXPECT_TRUE(absl::IsDeadlineExceeded(servers.Find(id_).status()));
  setenv("DEBUGINFOD_URLS", ("http://127.0.0.1:" + Port()).c_str(), 1);
  const absl::Status second = servers.Find(id_).status();
  EXPECT_THAT(std::string(second.message()), HasSubstr("are too slow"));
  EXPECT_EQ(ReadFile(Path("log")).find("GET"), std::string::npos);
}

TEST_F(DebuginfodTest, ThatIsSilentIsLeftOnceAskedTo) {
  AskSilentServer();
  setenv("DEBUGINFOD_TIMEOUT", "3600", 1);
  Debuginfod servers;
  std::thread stopper([&] {
    AwaitLog("silent.log", "asked");
    servers.Stop();
  });
  EXPECT_TRUE(absl::IsCancelled(servers.Find(id_).status()));
  stopper.join();
}

TEST_F(DebuginfodTest, ThatIsNotThereIsReported) {
  setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1", 1);
  EXPECT_THAT(
      ProblemsOf("bare"),
      ElementsAre(HasSubstr("the servers of DEBUGINFOD_URLS failed: ")));
}

}  // namespace
}  // namespace unspool::exporters
