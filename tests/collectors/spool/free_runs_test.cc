// Pages that serve again (SpoolControl::free_runs).

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <thread>
#include <vector>

#include "collectors/spool/chunk_allocator.h"
#include "tests/collectors/spool/test_spool.h"

namespace unspool::collectors {
namespace {

class FreeRuns : public ::testing::Test {
 protected:
  static constexpr uint64_t kTaken = 100;

  void SetUp() override {
    ASSERT_EQ(chunks_.Map(spool_.fd(), AtFork::kUnmap), SpoolStatus::kOk);
    // So that there is something to give back.
    ASSERT_NE(chunks_.Allocate(kTaken), nullptr);
  }
  void TearDown() override { chunks_.Reset(/*unmap=*/true); }

  void Offer(size_t slot, PageRun run) {
    chunks_.control()->free_runs[slot] = run.word();
  }
  PageRun Left(size_t slot) const {
    return PageRun::FromWord(chunks_.control()->free_runs[slot]);
  }
  uint64_t PageOf(const uint8_t* chunk) const {
    return chunks_.OffsetOf(chunk) / kSpoolPageSize;
  }

  TestSpool spool_;
  ChunkAllocator chunks_;
};

TEST_F(FreeRuns, AreTakenFromTheirFront) {
  Offer(3, {10, 20});
  EXPECT_EQ(PageOf(chunks_.Allocate(16)), 10u);
  EXPECT_EQ(Left(3).first, 26u);
  EXPECT_EQ(Left(3).pages, 4u);
  EXPECT_EQ(PageOf(chunks_.Allocate(4)), 26u);
  EXPECT_EQ(Left(3).word(), 0u);
  EXPECT_EQ(PageOf(chunks_.Allocate(1)), kFirstChunkPage + kTaken);
}

TEST_F(FreeRuns, ThatAreTooShortAreLeft) {
  Offer(0, {10, 3});
  Offer(1, {20, 4});
  EXPECT_EQ(PageOf(chunks_.Allocate(4)), 20u);
  EXPECT_EQ(PageOf(chunks_.Allocate(5)), kFirstChunkPage + kTaken);
  EXPECT_EQ(Left(0).pages, 3u);
}

TEST_F(FreeRuns, TheShortestThatIsLongEnoughIsTaken) {
  Offer(0, {10, 30});
  Offer(1, {50, 6});
  Offer(2, {60, 5});
  EXPECT_EQ(PageOf(chunks_.Allocate(5)), 60u);
  EXPECT_EQ(PageOf(chunks_.Allocate(5)), 50u);
  EXPECT_EQ(PageOf(chunks_.Allocate(16)), 10u);
}

// The words are in the file, where every process may store.
TEST_F(FreeRuns, ThatMakeNoSenseAreNoPages) {
  Offer(0, {0, 8});
  Offer(1, {1, 8});
  Offer(2, {kTestCapacity / kSpoolPageSize - 4, 8});
  Offer(3, {(uint64_t{1} << 40) - 1, PageRun::kMostPages});
  EXPECT_EQ(PageOf(chunks_.Allocate(8)), kFirstChunkPage + kTaken);
}

// Where nothing may be populated any more, pages that were given back are
// memory that is not there.
TEST_F(FreeRuns, AreNotTakenAfterGrowthHasStopped) {
  Offer(0, {10, 8});
  chunks_.StopGrowing(16);
  EXPECT_EQ(PageOf(chunks_.Allocate(1)), kFirstChunkPage + kTaken);
  EXPECT_EQ(Left(0).pages, 8u);
}

// Threads of two images, while a keeper gives pages back: none is anybody
// else's.
TEST_F(FreeRuns, EveryPageHasOneOwner) {
  constexpr uint32_t kPages = 3;
  constexpr int kThreads = 4;
  constexpr int kRounds = 2000;
  ChunkAllocator other;
  ASSERT_EQ(other.Map(spool_.fd(), AtFork::kUnmap), SpoolStatus::kOk);
  std::vector<std::atomic<int>> owners(kTestCapacity / kSpoolPageSize);
  std::atomic<int> twice = 0;
  std::atomic<uint64_t> returned[kThreads] = {};
  std::atomic<int> running = kThreads;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      ChunkAllocator& chunks = i % 2 == 0 ? chunks_ : other;
      for (int round = 0; round < kRounds; ++round) {
        uint8_t* chunk = chunks.Allocate(kPages);
        if (chunk == nullptr) continue;
        const uint64_t page = chunks.OffsetOf(chunk) / kSpoolPageSize;
        for (uint64_t j = 0; j < kPages; ++j) {
          if (owners[page + j].fetch_add(1) != 0) ++twice;
        }
        for (uint64_t j = 0; j < kPages; ++j) owners[page + j].fetch_sub(1);
        while (returned[i].load() != 0) std::this_thread::yield();
        returned[i].store(page);
      }
      --running;
    });
  }
  uint64_t again = 0;
  while (running.load() > 0) {
    for (auto& word : returned) {
      const uint64_t page = word.load();
      if (page == 0) continue;
      // Into a slot that is empty; where there is none, it waits.
      for (uint64_t& slot : chunks_.control()->free_runs) {
        uint64_t none = 0;
        if (!std::atomic_ref<uint64_t>(slot).compare_exchange_strong(
                none, PageRun{page, kPages}.word())) {
          continue;
        }
        ++again;
        break;
      }
      word.store(0);
    }
  }
  for (std::thread& thread : threads) thread.join();
  other.Reset(/*unmap=*/true);
  EXPECT_EQ(twice.load(), 0);
  EXPECT_GT(again, uint64_t{kRounds});
}

}  // namespace
}  // namespace unspool::collectors
