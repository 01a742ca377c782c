#include "collectors/signal_action.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace unspool::collectors {
namespace {

int ours = 0;
int theirs = 0;
int last_code = 0;
sigset_t mask_in_theirs;

void Ours(int signal, siginfo_t* info, void* context) {
  ++ours;
  ForwardSignal(signal, info, context);
}

void Theirs(int) {
  ++theirs;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask_in_theirs);
}

void TheirsWithInfo(int, siginfo_t* info, void*) {
  ++theirs;
  last_code = info->si_code;
}

class SignalActionTest : public testing::Test {
 protected:
  void SetUp() override {
    ours = theirs = last_code = 0;
    signal(SIGUSR1, SIG_DFL);
  }
  void TearDown() override { signal(SIGUSR1, SIG_IGN); }
};

TEST_F(SignalActionTest, ForwardsToAHandlerWithoutInfoUnderItsOwnMask) {
  struct sigaction action {};
  action.sa_handler = &Theirs;
  sigemptyset(&action.sa_mask);
  sigaddset(&action.sa_mask, SIGUSR2);
  sigaction(SIGUSR1, &action, nullptr);
  ASSERT_TRUE(InstallHandler(SIGUSR1, &Ours));
  raise(SIGUSR1);
  EXPECT_EQ(ours, 1);
  EXPECT_EQ(theirs, 1);
  EXPECT_EQ(sigismember(&mask_in_theirs, SIGUSR1), 1);
  EXPECT_EQ(sigismember(&mask_in_theirs, SIGUSR2), 1);
  EXPECT_EQ(sigismember(&mask_in_theirs, SIGTERM), 0);
}

TEST_F(SignalActionTest, ForwardsInfoToAHandlerThatWantsIt) {
  struct sigaction action {};
  action.sa_sigaction = &TheirsWithInfo;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGUSR1, &action, nullptr);
  ASSERT_TRUE(InstallHandler(SIGUSR1, &Ours));
  raise(SIGUSR1);
  EXPECT_EQ(theirs, 1);
  EXPECT_EQ(last_code, SI_TKILL);
}

TEST_F(SignalActionTest, ADefaultActionIsNotTaken) {
  ASSERT_TRUE(InstallHandler(SIGUSR1, &Ours));
  raise(SIGUSR1);  // would end the process
  EXPECT_EQ(ours, 1);
}

TEST_F(SignalActionTest, InstallingTwiceDoesNotForwardToOurselves) {
  signal(SIGUSR1, &Theirs);
  ASSERT_TRUE(InstallHandler(SIGUSR1, &Ours));
  ASSERT_TRUE(InstallHandler(SIGUSR1, &Ours));
  raise(SIGUSR1);
  EXPECT_EQ(ours, 1);
  EXPECT_EQ(theirs, 1);
}

TEST_F(SignalActionTest, AReplacedHandlerIsNoticed) {
  ASSERT_TRUE(InstallHandler(SIGUSR1, &Ours));
  EXPECT_TRUE(IsHandlerInstalled(SIGUSR1, &Ours));
  signal(SIGUSR1, &Theirs);
  EXPECT_FALSE(IsHandlerInstalled(SIGUSR1, &Ours));
}

TEST_F(SignalActionTest, HandlerRestartsCallsAndHasAllSignalsBlocked) {
  ASSERT_TRUE(InstallHandler(SIGUSR1, &Ours));
  struct sigaction action;
  sigaction(SIGUSR1, nullptr, &action);
  EXPECT_EQ(action.sa_flags & (SA_RESTART | SA_ONSTACK | SA_SIGINFO),
            SA_RESTART | SA_ONSTACK | SA_SIGINFO);
  EXPECT_EQ(sigismember(&action.sa_mask, SIGTERM), 1);
}

TEST(SampleSignal, IsAStandardOneThatCanBeCaughtAndNoInstructionRaises) {
  for (const int good : {SIGPROF, SIGVTALRM, SIGALRM, SIGUSR1, SIGURG, SIGIO}) {
    EXPECT_TRUE(IsSampleSignal(good)) << good;
  }
  for (const int bad :
       {0, -1, SIGKILL, SIGSTOP, SIGSEGV, SIGTRAP, SIGABRT, 32, SIGRTMIN, 65}) {
    EXPECT_FALSE(IsSampleSignal(bad)) << bad;
  }
}

}  // namespace
}  // namespace unspool::collectors
