#include "collectors/thread_table.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace unspool::collectors {
namespace {

TEST(ThreadTable, FindsStatesByIndexAndByThreadId) {
  ThreadTable table;
  ThreadState* one = table.Acquire(101);
  ThreadState* two = table.Acquire(202);
  ASSERT_NE(one, nullptr);
  ASSERT_NE(two, nullptr);
  EXPECT_EQ(table.used(), 2u);
  EXPECT_EQ(table.FindByTid(101), one);
  EXPECT_EQ(table.FindByTid(202), two);
  EXPECT_EQ(table.FindByTid(303), nullptr);
  EXPECT_EQ(table.FindByIndex(one->index), one);
  EXPECT_EQ(table.FindByIndex(two->index), two);
  EXPECT_EQ(table.FindByIndex(2), nullptr);
  EXPECT_EQ(table.FindByIndex(ThreadTable::kMaxThreads), nullptr);
  EXPECT_EQ(table.FindByIndex(UINT32_MAX), nullptr);
}

TEST(ThreadTable, HandsReleasedStatesOutAgainAsNew) {
  ThreadTable table;
  ThreadState* state = table.Acquire(101);
  state->samples = 5;
  state->name = {'x'};
  state->stack = {1, 2};
  const uint32_t index = state->index;
  table.Release(*state);
  EXPECT_EQ(table.FindByTid(101), nullptr);
  EXPECT_EQ(table.FindByIndex(index), state);  // a late tick may still look

  ASSERT_EQ(table.Acquire(202), state);
  EXPECT_EQ(state->index, index);
  EXPECT_EQ(state->samples, 0u);
  EXPECT_EQ(state->name, TaskName{});
  EXPECT_EQ(state->stack.high, 0u);
  EXPECT_EQ(table.tid(*state), 202);
}

TEST(ThreadTable, VisitsThreadsThatRunAndMayReleaseThem) {
  ThreadTable table;
  for (const int32_t tid : {101, 202, 303}) table.Acquire(tid);
  table.Acquire(ThreadTable::kStarting);
  std::set<int32_t> seen;
  table.ForEach([&](ThreadState& state) {
    seen.insert(table.tid(state));
    table.Release(state);
  });
  EXPECT_EQ(seen, (std::set<int32_t>{101, 202, 303}));
  EXPECT_EQ(table.used(), 1u);
}

TEST(ThreadTable, IsFullAtItsLimit) {
  ThreadTable table;
  for (uint32_t i = 0; i < ThreadTable::kMaxThreads; ++i) {
    ASSERT_NE(table.Acquire(1 + static_cast<int32_t>(i)), nullptr) << i;
  }
  EXPECT_EQ(table.Acquire(1 << 20), nullptr);
  table.Release(*table.FindByIndex(7));
  EXPECT_NE(table.Acquire(1 << 20), nullptr);
}

TEST(ThreadTable, IsAllFreeAfterFork) {
  ThreadTable table;
  ThreadState* state = table.Acquire(101);
  table.Acquire(ThreadTable::kStarting);
  table.KeepAfterFork(nullptr);
  EXPECT_EQ(table.used(), 0u);
  EXPECT_EQ(table.FindByTid(101), nullptr);
  EXPECT_EQ(table.FindByIndex(state->index), state);
}

TEST(ThreadTable, OfThreadsOnlyTheOneThatForkedIsKeptWithItsStack) {
  ThreadTable table;
  table.Acquire(101)->stack = {0x1000, 0x2000};
  ThreadState* own = table.Acquire(102);
  own->stack = {0x3000, 0x4000};
  own->samples = 7;
  table.Acquire(103);
  EXPECT_EQ(table.FindByStack(0x4000), own);
  EXPECT_EQ(table.FindByStack(0x5000), nullptr);
  table.KeepAfterFork(own);
  table.set_tid(*own, 200);
  EXPECT_EQ(table.used(), 1u);
  EXPECT_EQ(table.FindByTid(200), own);
  EXPECT_EQ(table.FindByTid(103), nullptr);
  EXPECT_EQ(own->stack.high, 0x4000u);
  EXPECT_EQ(own->samples, 0u);
  // What the others had is not given to a new thread.
  ThreadState* next = table.Acquire(201);
  EXPECT_NE(next, nullptr);
  EXPECT_EQ(next->index, 3u);
}

TEST(ThreadTable, NeverGivesAStateToTwoAtATime) {
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kHeld = 3;
  ThreadTable table;
  table.Release(*table.Acquire(101));
  std::array<std::atomic<bool>, kThreads * kHeld> is_held{};
  std::atomic<int> faults{0};
  const auto run = [&] {
    std::array<ThreadState*, kHeld> held{};
    for (int round = 0; round < 20'000; ++round) {
      for (ThreadState*& state : held) {
        state = table.Acquire(ThreadTable::kStarting);
        if (is_held.at(state->index).exchange(true)) ++faults;
      }
      for (ThreadState* state : held) {
        if (!is_held.at(state->index).exchange(false)) ++faults;
        table.Release(*state);
      }
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) threads.emplace_back(run);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, 0);
  EXPECT_EQ(table.used(), 0u);
}

// How many pages of the object are backed by memory (mincore(2)).
template <typename T>
long TouchedPages(const T& object) {
  const auto address = reinterpret_cast<uintptr_t>(&object);
  const uintptr_t begin = address & ~uintptr_t{4095};
  std::vector<unsigned char> pages((address + sizeof(T) - begin + 4095) / 4096);
  EXPECT_EQ(mincore(reinterpret_cast<void*>(begin), address + sizeof(T) - begin,
                    pages.data()),
            0);
  return std::count_if(pages.begin(), pages.end(),
                       [](unsigned char page) { return (page & 1) != 0; });
}

TEST(ThreadTable, ANewThreadTouchesOnePageOfItsState) {
  ThreadTable table;
  const ThreadState* state = table.Acquire(1);
  ASSERT_NE(state, nullptr);
  EXPECT_GT(sizeof(ThreadState), 4u * 4096);
  EXPECT_EQ(TouchedPages(*state), 1);
}

}  // namespace
}  // namespace unspool::collectors
