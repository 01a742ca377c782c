#include "collectors/pid_namespace.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectors/perf_event.h"

namespace unspool::collectors {
namespace {

TEST(PidNamespace, IsTheOneThatProcShows) {
  struct stat facts {};
  ASSERT_EQ(stat("/proc/self/ns/pid", &facts), 0);
  EXPECT_EQ(OwnPidNamespace(), facts.st_ino);
}

TEST(PidNamespace, ChildrenAreOrdinaryOnesAtFirst) {
  EXPECT_TRUE(StayChildrenInOurPidNamespace());
}

// The first child of a new namespace is its init: it must be the program's own.
TEST(PidNamespace, TheFirstChildOfANewOneIsLeftToTheProgram) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWPID) != 0 &&
        unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0) {
      _exit(2);
    }
    if (StayChildrenInOurPidNamespace()) _exit(3);
    if (PerfEvent::Try(PerfEvent::Delivery::kSignal) !=
        PerfObstacle::kNoProcess) {
      _exit(4);
    }
    const pid_t init = fork();
    if (init == 0) _exit(getpid() == 1 ? 0 : 5);
    int status = -1;
    if (init < 0 || waitpid(init, &status, 0) != init) _exit(6);
    _exit(WEXITSTATUS(status));
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "exit status " << WEXITSTATUS(status);
}

}  // namespace
}  // namespace unspool::collectors
