#include "collectors/wall_thread.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>

namespace unspool::collectors {
namespace {

TEST(ShareWait, NothingIsLostAndNothingIsGivenTwice) {
  const struct {
    const char* name;
    int64_t owed_ns;
    uint64_t run_delay_ns;
    bool has_before;
    bool has_after;
    uint64_t runnable_ns;
    uint64_t before_ns;
    uint64_t after_ns;
    int64_t left_ns;
  } rows[] = {
      {"same wait", 100, 0, true, false, 0, 100, 0, 0},
      {"first wait", 100, 0, false, true, 0, 0, 100, 0},
      {"another wait", 101, 0, true, true, 0, 50, 51, 0},
      {"no wait was seen", 100, 0, false, false, 0, 0, 0, 100},
      {"had no CPU for a part", 100, 30, false, true, 30, 0, 70, 0},
      {"had no CPU for a part, no wait", 100, 30, false, false, 30, 0, 0, 70},
      {"had no CPU for longer than is owed", 100, 170, true, true, 100, 0, 0,
       0},
      {"nothing owed", 0, 30, true, true, 0, 0, 0, 0},
      {"clocks apart", -5, 30, true, true, 0, 0, 0, -5},
  };
  for (const auto& row : rows) {
    const WaitShares shares =
        ShareWait(row.owed_ns, row.run_delay_ns, row.has_before, row.has_after);
    EXPECT_EQ(shares.runnable_ns, row.runnable_ns) << row.name;
    EXPECT_EQ(shares.before_ns, row.before_ns) << row.name;
    EXPECT_EQ(shares.after_ns, row.after_ns) << row.name;
    EXPECT_EQ(shares.owed_ns, row.left_ns) << row.name;
  }
}

class WallThreadTableTest : public testing::Test {
 protected:
  std::set<int32_t> All() {
    std::set<int32_t> tids;
    table_->ForEach([&](const WallThread& thread) { tids.insert(thread.tid); });
    return tids;
  }
  std::unique_ptr<WallThreadTable> table_ = std::make_unique<WallThreadTable>();
};

TEST_F(WallThreadTableTest, FindsWhatWasAdded) {
  for (int32_t tid = 1; tid <= 200; ++tid) {
    WallThread* thread = table_->Add(tid);
    ASSERT_NE(thread, nullptr);
    thread->seen_ns = static_cast<uint64_t>(tid) * 10;
  }
  EXPECT_EQ(table_->used(), 200u);
  for (const int32_t tid : {1, 64, 65, 200, 3}) {
    ASSERT_NE(table_->Find(tid), nullptr);
    EXPECT_EQ(table_->Find(tid)->seen_ns, static_cast<uint64_t>(tid) * 10);
  }
  EXPECT_EQ(table_->Find(201), nullptr);
}

TEST_F(WallThreadTableTest, AnEntryIsUsedAgainAndThenIsAsNew) {
  for (int32_t tid = 1; tid <= 3; ++tid) table_->Add(tid);
  WallThread* released = table_->Find(2);
  released->owed_ns = 77;
  released->log.tid = 2;
  table_->Release(*released);
  EXPECT_EQ(table_->Find(2), nullptr);
  EXPECT_EQ(All(), (std::set<int32_t>{1, 3}));
  WallThread* added = table_->Add(4);
  EXPECT_EQ(added, released);
  EXPECT_EQ(added->owed_ns, 0);
  EXPECT_EQ(added->log.tid, 0);
  EXPECT_EQ(All(), (std::set<int32_t>{1, 3, 4}));
}

TEST_F(WallThreadTableTest, HasAnEnd) {
  for (uint32_t i = 0; i < WallThreadTable::kMaxThreads; ++i) {
    ASSERT_NE(table_->Add(static_cast<int32_t>(i) + 1), nullptr);
  }
  EXPECT_EQ(table_->Add(1 << 20), nullptr);
  table_->Clear();
  EXPECT_EQ(table_->used(), 0u);
  EXPECT_TRUE(All().empty());
  EXPECT_NE(table_->Add(1 << 20), nullptr);
}

}  // namespace
}  // namespace unspool::collectors
