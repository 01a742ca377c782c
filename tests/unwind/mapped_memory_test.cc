#include "unwind/mapped_memory.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "unwind/self_memory.h"

namespace unspool::unwind {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

uint64_t Address(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

TEST(MappedMemory, IsZeroedAndWritable) {
  auto* memory = static_cast<char*>(MapZeroed(3 * kPageSize));
  ASSERT_NE(memory, nullptr);
  EXPECT_EQ(memory[0], 0);
  EXPECT_EQ(memory[3 * kPageSize - 1], 0);
  memset(memory, 1, 3 * kPageSize);
  munmap(memory, 3 * kPageSize);
}

// What the program maps stays between its libraries, with nothing of ours near.
TEST(MappedMemory, LiesTogetherFarBelowTheProgram) {
  Dl_info libc;
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&dlopen), &libc), 0);
  const void* first = MapZeroed(kPageSize);
  const void* second = MapZeroed(5 * kPageSize + 1);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(Address(first) - Address(second), 6 * kPageSize);
  EXPECT_GT(Address(libc.dli_fbase) - Address(first), 32 * kGiB);
  EXPECT_LT(Address(libc.dli_fbase) - Address(first), 256 * kGiB);
}

TEST(MappedMemory, NoMemoryIsNullptr) {
  EXPECT_EQ(MapZeroed(size_t{1} << 62), nullptr);
}

// However often something large is mapped and unmapped.
TEST(MappedMemory, StaysWithinABoundedRange) {
  for (int i = 0; i < 1000; ++i) {
    void* memory = MapZeroed(kGiB);
    ASSERT_NE(memory, nullptr);
    munmap(memory, kGiB);
  }
  Dl_info libc;
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&dlopen), &libc), 0);
  const void* next = NextOwnAddress(kPageSize);
  EXPECT_LT(Address(libc.dli_fbase) - Address(next), 256 * kGiB);
}

}  // namespace
}  // namespace unspool::unwind
