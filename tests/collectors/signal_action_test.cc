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

// Whether the program's handler ran on the alternate stack.
bool ran_on_alternate = false;
void TheirsLooksAround(int) {
  stack_t stack;
  sigaltstack(nullptr, &stack);
  ran_on_alternate = (stack.ss_flags & SS_ONSTACK) != 0;
}

TEST_F(SignalActionTest, TheProgramsHandlerRunsOnTheStackThatItAskedFor) {
  alignas(16) static char alternate[64 << 10];
  const stack_t stack = {alternate, 0, sizeof(alternate)};
  stack_t previous;
  ASSERT_EQ(sigaltstack(&stack, &previous), 0);
  ASSERT_TRUE(InstallHandler(SIGUSR1, &Ours));
  for (const int flags : {0, SA_ONSTACK, 0}) {
    struct sigaction action {};
    action.sa_handler = &TheirsLooksAround;
    action.sa_flags = flags;
    ASSERT_EQ(ProgramSigaction(SIGUSR1, &action, nullptr), 0);
    raise(SIGUSR1);
    EXPECT_EQ(ran_on_alternate, flags == SA_ONSTACK);
  }
  // Without a handler of the program's, coroutines must be safe.
  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  ASSERT_EQ(ProgramSigaction(SIGUSR1, &ignore, nullptr), 0);
  struct sigaction kernel;
  sigaction(SIGUSR1, nullptr, &kernel);
  EXPECT_NE(kernel.sa_flags & SA_ONSTACK, 0);
  sigaltstack(&previous, nullptr);
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

using SignalActionDeathTest = SignalActionTest;

TEST_F(SignalActionDeathTest, TheDefaultActionIsTaken) {
  ASSERT_TRUE(InstallHandler(SIGUSR1, &Ours));
  EXPECT_EXIT(raise(SIGUSR1), testing::KilledBySignal(SIGUSR1), "");
}

TEST_F(SignalActionTest, ADefaultThatDoesNothingDoesNothing) {
  signal(SIGURG, SIG_DFL);
  ASSERT_TRUE(InstallHandler(SIGURG, &Ours));
  raise(SIGURG);
  raise(SIGURG);
  EXPECT_EQ(ours, 2);
}

TEST_F(SignalActionTest, TheProgramsActionIsExchangedBehindOurHandler) {
  struct sigaction theirs_with_mask {};
  theirs_with_mask.sa_handler = &Theirs;
  theirs_with_mask.sa_flags = SA_NODEFER;
  sigaddset(&theirs_with_mask.sa_mask, SIGUSR2);
  ASSERT_TRUE(InstallHandler(SIGUSR1, &Ours));
  struct sigaction old;
  EXPECT_EQ(ProgramSigaction(SIGUSR1, &theirs_with_mask, &old), 0);
  EXPECT_EQ(old.sa_handler, SIG_DFL);
  EXPECT_TRUE(IsHandlerInstalled(SIGUSR1, &Ours));
  EXPECT_EQ(ProgramSigaction(SIGUSR1, nullptr, &old), 0);
  EXPECT_EQ(old.sa_handler, &Theirs);
  EXPECT_EQ(old.sa_flags, SA_NODEFER);
  EXPECT_EQ(sigismember(&old.sa_mask, SIGUSR2), 1);
  EXPECT_EQ(sigismember(&old.sa_mask, SIGUSR1), 0);
  raise(SIGUSR1);
  EXPECT_EQ(theirs, 1);
  EXPECT_EQ(sigismember(&mask_in_theirs, SIGUSR1), 0);  // SA_NODEFER

  struct sigaction ignore {};
  ignore.sa_handler = SIG_IGN;
  EXPECT_EQ(ProgramSigaction(SIGUSR1, &ignore, nullptr), 0);
  raise(SIGUSR1);
  EXPECT_EQ(ours, 2);
  EXPECT_EQ(theirs, 1);
}

TEST_F(SignalActionDeathTest, AHandlerForOnceIsForOnce) {
  ASSERT_TRUE(InstallHandler(SIGUSR1, &Ours));
  struct sigaction once {};
  once.sa_handler = &Theirs;
  once.sa_flags = static_cast<int>(SA_RESETHAND);
  ProgramSigaction(SIGUSR1, &once, nullptr);
  raise(SIGUSR1);
  EXPECT_EQ(theirs, 1);
  EXPECT_EXIT(raise(SIGUSR1), testing::KilledBySignal(SIGUSR1), "");
}

TEST_F(SignalActionTest, WithoutOurHandlerTheKernelIsAsked) {
  struct sigaction action {};
  action.sa_handler = &Theirs;
  EXPECT_EQ(ProgramSigaction(SIGUSR2, &action, nullptr), 0);
  raise(SIGUSR2);
  EXPECT_EQ(theirs, 1);
  EXPECT_EQ(ProgramSigaction(SIGKILL, &action, nullptr), -1);
  signal(SIGUSR2, SIG_DFL);
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

TEST(SampleSignal, TrapsMayBeOursButNeverAreSampleSignals) {
  EXPECT_TRUE(MayBeOurs(SIGTRAP));
  EXPECT_TRUE(MayBeOurs(SIGPROF));
  EXPECT_FALSE(MayBeOurs(SIGSEGV));
}

TEST(SampleSignal, IsAStandardOneThatCanBeCaughtAndNoInstructionRaises) {
  for (const int good : {SIGPROF, SIGVTALRM, SIGALRM, SIGUSR1, SIGURG, SIGIO}) {
    EXPECT_TRUE(IsSampleSignal(good)) << good;
  }
  for (const int bad : {0, -1, SIGKILL, SIGSTOP, SIGTSTP, SIGSEGV, SIGTRAP,
                        SIGABRT, 32, SIGRTMIN, 65}) {
    EXPECT_FALSE(IsSampleSignal(bad)) << bad;
  }
}

}  // namespace
}  // namespace unspool::collectors
