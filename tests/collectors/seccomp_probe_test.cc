#include "collectors/seccomp_probe.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/collectors/one_call_filter.h"
#include "unwind/self_memory.h"

namespace unspool::collectors {
namespace {

class SeccompProbeTest : public testing::Test {
 protected:
  void SetUp() override {
    // What a program without privileges does before it restricts itself.
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &previous_);
  }
  void TearDown() override { sigprocmask(SIG_SETMASK, &previous_, nullptr); }

 private:
  sigset_t previous_;
};

uint32_t Bit(OptionalCall call) { return 1u << static_cast<uint32_t>(call); }

TEST_F(SeccompProbeTest, FindsWhatAFilterRefusesOrKillsFor) {
  constexpr uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;
  const struct {
    const char* name;
    uint32_t call;
    uint32_t action;
    uint32_t forbidden;
  } rows[] = {
      {"nothing of ours", SYS_mount, SECCOMP_RET_KILL_PROCESS, 0},
      {"copy killed", SYS_process_vm_readv, SECCOMP_RET_KILL_PROCESS,
       Bit(OptionalCall::kCopyMemory)},
      {"copy refused", SYS_process_vm_readv, kRefuse,
       Bit(OptionalCall::kCopyMemory)},
      {"copy unknown", SYS_process_vm_readv, SECCOMP_RET_ERRNO | ENOSYS,
       Bit(OptionalCall::kCopyMemory)},
      {"populate trapped", SYS_madvise, SECCOMP_RET_TRAP,
       Bit(OptionalCall::kPopulate)},
      {"event killed", SYS_perf_event_open, SECCOMP_RET_KILL_THREAD,
       Bit(OptionalCall::kPerfEvent)},
      {"event refused: the engine says why", SYS_perf_event_open, kRefuse, 0},
      {"timer killed", SYS_timer_create, SECCOMP_RET_KILL_PROCESS,
       Bit(OptionalCall::kThreads)},
      {"mask refused", SYS_rt_sigprocmask, kRefuse,
       Bit(OptionalCall::kThreads)},
      {"nap killed", SYS_nanosleep, SECCOMP_RET_KILL_PROCESS,
       Bit(OptionalCall::kThreads)},
      {"files refused", SYS_openat, kRefuse, Bit(OptionalCall::kFiles)},
      {"listing killed", SYS_getdents64, SECCOMP_RET_KILL_PROCESS,
       Bit(OptionalCall::kFiles)},
      {"renaming killed", SYS_rename, SECCOMP_RET_KILL_PROCESS,
       Bit(OptionalCall::kFiles)},
      {"exchanging killed", SYS_renameat2, SECCOMP_RET_KILL_PROCESS,
       Bit(OptionalCall::kFiles)},
      {"name killed", SYS_prctl, SECCOMP_RET_KILL_PROCESS,
       Bit(OptionalCall::kThreadName)},
      {"three at once", SYS_gettid, SECCOMP_RET_KILL_PROCESS,
       Bit(OptionalCall::kCopyMemory) | Bit(OptionalCall::kPerfEvent) |
           Bit(OptionalCall::kThreads)},
      {"the child's own end", SYS_exit_group, SECCOMP_RET_KILL_PROCESS, 0},
      {"the child's own end refused", SYS_exit_group, kRefuse, 0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const OneCallFilter filter(row.call, row.action);
    const SeccompRequest request = filter.request();
    EXPECT_EQ(FindForbiddenCalls(&request).bits(), row.forbidden);
  }
}

TEST_F(SeccompProbeTest, LeavesTheProcessAsItWas) {
  const OneCallFilter filter(SYS_getppid, SECCOMP_RET_KILL_PROCESS);
  const SeccompRequest request = filter.request();
  EXPECT_EQ(FindForbiddenCalls(&request).bits(), 0u);
  EXPECT_GT(getppid(), 0);
  EXPECT_EQ(waitpid(-1, nullptr, __WALL | WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  sigset_t pending;
  sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGCHLD), 0);
}

TEST_F(SeccompProbeTest, StrictModeForbidsEverything) {
  const SeccompRequest request{SECCOMP_SET_MODE_STRICT, nullptr};
  EXPECT_EQ(FindForbiddenCalls(&request).bits(), OptionalCallSet::All().bits());
}

TEST_F(SeccompProbeTest, AFilterThatTheKernelRefusesForbidsNothing) {
  const SeccompRequest request{SECCOMP_SET_MODE_FILTER, nullptr};
  EXPECT_EQ(FindForbiddenCalls(&request).bits(), 0u);
}

TEST_F(SeccompProbeTest, KnowsWhetherThereIsAFilter) {
  EXPECT_FALSE(HasSeccompFilter());
  const pid_t child = fork();
  if (child == 0) {
    const OneCallFilter filter(SYS_mount, SECCOMP_RET_KILL_PROCESS);
    const SeccompRequest request = filter.request();
    const bool is_set =
        syscall(SYS_seccomp, request.operation, 0, request.program) == 0;
    _exit(is_set && HasSeccompFilter() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(SeccompProbeTest, WithoutRequestTriesUnderTheFilterThatThereIs) {
  const pid_t child = fork();
  if (child == 0) {
    const OneCallFilter filter(SYS_process_vm_readv, SECCOMP_RET_KILL_PROCESS);
    const SeccompRequest request = filter.request();
    syscall(SYS_seccomp, request.operation, 0, request.program);
    _exit(FindForbiddenCalls(nullptr).bits() == Bit(OptionalCall::kCopyMemory)
              ? 0
              : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(OptionalCallsTest, ForbiddenCopyingIsNeverTried) {
  uint8_t bytes[8];
  const uint64_t word = 0x1122334455667788;
  const auto address = reinterpret_cast<uint64_t>(&word);
  EXPECT_EQ(unwind::CopyFromSelf(address, bytes), sizeof(bytes));
  OptionalCallSet forbidden;
  forbidden.Add(OptionalCall::kCopyMemory);
  SetForbiddenCalls(forbidden);
  EXPECT_FALSE(IsAllowed(OptionalCall::kCopyMemory));
  EXPECT_TRUE(IsAllowed(OptionalCall::kPopulate));
  EXPECT_EQ(unwind::CopyFromSelf(address, bytes), 0u);
  SetForbiddenCalls({});
  EXPECT_EQ(unwind::CopyFromSelf(address, bytes), sizeof(bytes));
}

}  // namespace
}  // namespace unspool::collectors
