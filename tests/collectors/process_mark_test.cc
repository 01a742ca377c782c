#include "collectors/process_mark.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "collectors/optional_calls.h"

namespace unspool::collectors {
namespace {

constexpr int kIsHere = 1;
constexpr int kIsMemoryHere = 2;

int Answers(const ProcessMark& mark) {
  return (mark.IsHere() ? kIsHere : 0) |
         (mark.IsMemoryHere() ? kIsMemoryHere : 0);
}

// What `mark` answers in a forked child, or -1.
// The system call itself: no hook of libc's hears of it.
int AnswersInChild(const ProcessMark& mark) {
  const long pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (pid == 0) _exit(Answers(mark));
  int status = 0;
  if (pid < 0 || waitpid(static_cast<pid_t>(pid), &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(ProcessMark, MeansTheProcessThatSetIt) {
  ProcessMark mark;
  mark.Set();
  EXPECT_EQ(mark.pid(), getpid());
  EXPECT_EQ(Answers(mark), kIsHere | kIsMemoryHere);
}

TEST(ProcessMark, AForkThatNobodyToldOfIsAnother) {
  ProcessMark mark;
  mark.Set();
  EXPECT_EQ(AnswersInChild(mark), 0);
  EXPECT_EQ(Answers(mark), kIsHere | kIsMemoryHere);
}

TEST(ProcessMark, AChildCanBeMarkedInItsTurn) {
  ProcessMark mark;
  mark.Set();
  const pid_t pid = fork();
  if (pid == 0) {
    mark.Set();
    _exit(Answers(mark));
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(WEXITSTATUS(status), kIsHere | kIsMemoryHere);
}

// Where madvise() must not be called.
TEST(ProcessMark, WithoutAWipedPageTheProcessIdTells) {
  OptionalCallSet forbidden;
  forbidden.Add(OptionalCall::kPopulate);
  SetForbiddenCalls(forbidden);
  ProcessMark mark;
  mark.Set();
  SetForbiddenCalls({});
  EXPECT_EQ(Answers(mark), kIsHere | kIsMemoryHere);
  EXPECT_EQ(AnswersInChild(mark), 0);
}

}  // namespace
}  // namespace unspool::collectors
