#include "collectors/task_list.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace unspool::collectors {
namespace {

// A thread that waits until the test is done with it.
class Waiter {
 public:
  explicit Waiter(const char* name = "waiter", bool blocks_signal = false)
      : thread_([=, this] {
          pthread_setname_np(pthread_self(), name);
          if (blocks_signal) {
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, SIGPROF);
            pthread_sigmask(SIG_BLOCK, &set, nullptr);
          }
          tid_ = gettid();
          while (!done_) usleep(1000);
        }) {
    while (tid_ == 0) usleep(1000);
  }
  ~Waiter() {
    done_ = true;
    thread_.join();
  }
  int32_t tid() const { return tid_; }

 private:
  std::atomic<int32_t> tid_{0};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

std::vector<int32_t> AllTasks() {
  std::vector<int32_t> tids;
  TaskList list;
  while (const int32_t tid = list.Next()) tids.push_back(tid);
  std::sort(tids.begin(), tids.end());
  return tids;
}

TEST(TaskList, GivesEachThreadOnce) {
  // More than one buffer of entries.
  std::vector<std::unique_ptr<Waiter>> waiters;
  for (int i = 0; i < 100; ++i) waiters.push_back(std::make_unique<Waiter>());
  const std::vector<int32_t> tids = AllTasks();
  EXPECT_EQ(std::adjacent_find(tids.begin(), tids.end()), tids.end());
  EXPECT_TRUE(std::binary_search(tids.begin(), tids.end(), gettid()));
  for (const auto& waiter : waiters) {
    EXPECT_TRUE(std::binary_search(tids.begin(), tids.end(), waiter->tid()));
  }
  EXPECT_EQ(CountTasks(), tids.size());
}

TEST(TaskList, LeavesNoDescriptorOpen) {
  const int before = dup(0);
  close(before);
  AllTasks();
  const int after = dup(0);
  close(after);
  EXPECT_EQ(before, after);
}

TEST(TaskName, IsThatOfTheThread) {
  const Waiter waiter("fifteen letters");
  TaskName name{};
  ASSERT_TRUE(ReadTaskName(waiter.tid(), name));
  EXPECT_STREQ(name.data(), "fifteen letters");
}

TEST(TaskName, OwnNameNeedsNoProc) {
  std::thread([] {
    pthread_setname_np(pthread_self(), "mine");
    TaskName name{};
    ReadOwnTaskName(name);
    EXPECT_STREQ(name.data(), "mine");
  }).join();
}

TEST(TaskName, OfNobodyLeavesTheBufferAlone) {
  TaskName name{'a'};
  EXPECT_FALSE(ReadTaskName(0x3fffffff, name));
  EXPECT_STREQ(name.data(), "a");
}

TEST(SignalBlocked, IsToldByThreadAndSignal) {
  // A name that looks like the end of the name.
  const Waiter blocks(") R 1 2 3", true);
  const Waiter other("other");
  EXPECT_TRUE(IsSignalBlocked(blocks.tid(), SIGPROF));
  EXPECT_FALSE(IsSignalBlocked(blocks.tid(), SIGVTALRM));
  EXPECT_FALSE(IsSignalBlocked(other.tid(), SIGPROF));
  EXPECT_FALSE(IsSignalBlocked(0x3fffffff, SIGPROF));
}

}  // namespace
}  // namespace unspool::collectors
