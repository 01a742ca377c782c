#include "collectors/try_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace unspool::collectors {
namespace {

TEST(TryLock, TryFailsWhileHeldAndDoesNotWait) {
  TryLock lock;
  ASSERT_TRUE(lock.Try());
  EXPECT_FALSE(lock.Try());
  lock.Unlock();
  EXPECT_TRUE(lock.Try());
  lock.Unlock();
}

TEST(TryLock, ExcludesOthersUnderContention) {
  TryLock lock;
  int counter = 0;  // not atomic: the lock is what is tested
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20'000; ++round) {
        QuietLock held(lock);
        ++counter;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 80'000);
}

TEST(TryLock, AWaiterIsWoken) {
  TryLock lock;
  lock.Lock();
  bool got_it = false;
  std::thread waiter([&] {
    lock.Lock();
    got_it = true;
    lock.Unlock();
  });
  usleep(20'000);  // long enough to sleep in the kernel, mostly
  lock.Unlock();
  waiter.join();
  EXPECT_TRUE(got_it);
}

TEST(QuietLock, BlocksSignalsWhileHeldAndRestoresTheMask) {
  sigset_t before;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR1);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  TryLock lock;
  {
    QuietLock held(lock);
    sigset_t inside;
    pthread_sigmask(SIG_BLOCK, nullptr, &inside);
    EXPECT_EQ(sigismember(&inside, SIGTERM), 1);
    EXPECT_EQ(sigismember(&held.previous_mask(), SIGUSR1), 1);
    EXPECT_EQ(sigismember(&held.previous_mask(), SIGTERM), 0);
  }
  sigset_t after;
  pthread_sigmask(SIG_BLOCK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGUSR1), 1);
  EXPECT_EQ(sigismember(&after, SIGTERM), 0);
}

}  // namespace
}  // namespace unspool::collectors
