#include "unwind/self_memory.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <vector>

#include "unwind/module_snapshot.h"

namespace unspool::unwind {
namespace {

// Two readable pages, then one that is not.
class SelfMemoryTest : public testing::Test {
 protected:
  SelfMemoryTest() {
    void* memory = mmap(nullptr, 3 * kPageSize, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bytes_ = static_cast<uint8_t*>(memory);
    for (size_t i = 0; i < 2 * kPageSize; ++i) {
      bytes_[i] = static_cast<uint8_t>(i * 7);
    }
    mprotect(bytes_ + 2 * kPageSize, kPageSize, PROT_NONE);
    start_ = reinterpret_cast<uint64_t>(bytes_);
  }
  ~SelfMemoryTest() override { munmap(bytes_, 3 * kPageSize); }

  uint64_t Expected(size_t offset, size_t size) const {
    uint64_t value = 0;
    std::memcpy(&value, bytes_ + offset, size);
    return value;
  }

  std::unique_ptr<PageCopy> page_ = std::make_unique<PageCopy>();
  uint8_t* bytes_ = nullptr;
  uint64_t start_ = 0;
};

TEST_F(SelfMemoryTest, ReadsEverySizeAnywhere) {
  SelfMemory memory(0, 0, *page_);
  for (const size_t size : {1, 2, 4, 8}) {
    for (const size_t offset : {size_t{0}, size_t{3}, kPageSize - 3,
                                kPageSize - 8, 2 * kPageSize - 8}) {
      uint64_t value = 0;
      ASSERT_TRUE(memory.Read(start_ + offset, size, &value)) << offset;
      EXPECT_EQ(value, Expected(offset, size)) << offset << " " << size;
    }
  }
}

TEST_F(SelfMemoryTest, RefusesWhatIsNotReadable) {
  SelfMemory memory(0, 0, *page_);
  uint64_t value = 0;
  for (const uint64_t address :
       {start_ + 2 * kPageSize, start_ + 2 * kPageSize - 4, uint64_t{0},
        ~uint64_t{0}, ~uint64_t{3}, uint64_t{1} << 63}) {
    EXPECT_FALSE(memory.Read(address, 8, &value)) << address;
  }
  EXPECT_FALSE(memory.Read(start_, 16, &value));
  EXPECT_TRUE(memory.Read(start_, 8, &value));
}

TEST_F(SelfMemoryTest, PlainRangeIsReadAsItIs) {
  SelfMemory memory(start_, start_ + 64, *page_);
  uint64_t value = 0;
  ASSERT_TRUE(memory.Read(start_ + 8, 8, &value));
  EXPECT_EQ(value, Expected(8, 8));
  bytes_[8] ^= 1;
  ASSERT_TRUE(memory.Read(start_ + 8, 8, &value));
  EXPECT_EQ(value, Expected(8, 8));
  EXPECT_EQ(page_->size, 0u);
}

TEST_F(SelfMemoryTest, CodeOfPinnedModulesIsReadAsItIs) {
  // A module of three pages: data, code, and one that cannot be read.
  LoadedModule module;
  module.module.start = start_;
  module.module.end = start_ + 3 * kPageSize;
  module.module.segment_count = 2;
  module.module.segments[0] = {start_ + kPageSize, start_ + 2 * kPageSize, 0};
  module.module.segments[1] = {start_ + 2 * kPageSize, start_ + 3 * kPageSize,
                               0};
  module.load_count = 2;
  module.loads[0] = {start_, kPageSize};
  module.loads[1] = {start_ + kPageSize, kPageSize};
  const ModuleSnapshot modules({&module, 1}, {&module.module.start, 1});
  SelfMemory memory(0, 0, *page_, &modules);
  uint64_t value = 0;
  for (const size_t size : {1, 4, 8}) {
    for (const size_t offset : {kPageSize, 2 * kPageSize - size}) {
      ASSERT_TRUE(memory.Read(start_ + offset, size, &value));
      EXPECT_EQ(value, Expected(offset, size)) << offset << " " << size;
    }
  }
  EXPECT_EQ(page_->size, 0u);
  EXPECT_FALSE(memory.Read(start_ + 2 * kPageSize - 4, 8, &value));
  EXPECT_FALSE(memory.Read(start_ + 2 * kPageSize, 8, &value));
  ASSERT_TRUE(memory.Read(start_ + 8, 8, &value));
  EXPECT_EQ(value, Expected(8, 8));
  EXPECT_EQ(page_->size, kPageSize);
}

TEST_F(SelfMemoryTest, CopyDoesNotOutliveTheWalk) {
  uint64_t value = 0;
  {
    SelfMemory memory(0, 0, *page_);
    ASSERT_TRUE(memory.Read(start_, 8, &value));
  }
  bytes_[0] ^= 1;
  SelfMemory memory(0, 0, *page_);
  ASSERT_TRUE(memory.Read(start_, 8, &value));
  EXPECT_EQ(value, Expected(0, 8));
}

TEST_F(SelfMemoryTest, CopyEndsAtTheFirstUnreadablePage) {
  std::vector<uint8_t> out(3 * kPageSize);
  EXPECT_EQ(CopyFromSelf(start_ + 100, out), 2 * kPageSize - 100);
  EXPECT_EQ(std::memcmp(out.data(), bytes_ + 100, 2 * kPageSize - 100), 0);
  EXPECT_EQ(CopyFromSelf(start_ + 2 * kPageSize, out), 0u);
  EXPECT_EQ(CopyFromSelf(~uint64_t{0} - 10, out), 0u);
}

TEST_F(SelfMemoryTest, KeepsErrno) {
  uint8_t byte = 0;
  errno = 1234;
  EXPECT_EQ(CopyFromSelf(1, {&byte, 1}), 0u);
  EXPECT_EQ(errno, 1234);
}

}  // namespace
}  // namespace unspool::unwind
