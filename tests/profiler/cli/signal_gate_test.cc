#include "profiler/cli/signal_gate.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gtest/gtest.h"

namespace unspool::profiler {
namespace {

TEST(SignalGate, TakesOneRequestToEndAtATime) {
  const SignalGate gate;
  EXPECT_FALSE(gate.TakeRequestToEnd());
  raise(SIGINT);
  raise(SIGUSR1);  // not a request to end
  EXPECT_TRUE(gate.TakeRequestToEnd());
  EXPECT_FALSE(gate.TakeRequestToEnd());
  signal(SIGUSR1, SIG_IGN);  // discards it
}

TEST(SignalGate, TheChildHasTheSignalStateOfBefore) {
  signal(SIGCHLD, SIG_IGN);
  sigset_t before;
  sigemptyset(&before);
  sigaddset(&before, SIGALRM);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  const SignalGate gate;

  const pid_t child = fork();
  if (child == 0) {
    gate.RestoreInChild();
    sigset_t mask;
    sigprocmask(SIG_SETMASK, nullptr, &mask);
    struct sigaction action;
    sigaction(SIGCHLD, nullptr, &action);
    const bool same =
        sigismember(&mask, SIGALRM) == 1 && sigismember(&mask, SIGINT) == 0 &&
        sigismember(&mask, SIGPIPE) == 0 && action.sa_handler == SIG_IGN;
    _exit(same ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace unspool::profiler
