#include "collectors/stack_bounds.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>

#include <cstdlib>

namespace unspool::collectors {
namespace {

struct Range {
  uint64_t start = 0;
  uint64_t end = 0;
};

// The mapping around `address` that can be read and written.
Range MappingOf(uint64_t address) {
  FILE* maps = fopen("/proc/self/maps", "r");
  Range found;
  char line[512];
  while (fgets(line, sizeof(line), maps) != nullptr) {
    unsigned long start = 0;
    unsigned long end = 0;
    char access[5] = {};
    sscanf(line, "%lx-%lx %4s", &start, &end, access);
    if (start <= address && address < end && access[0] == 'r' &&
        access[1] == 'w') {
      found = {start, end};
    }
  }
  fclose(maps);
  return found;
}

uint64_t Here() {
  return reinterpret_cast<uint64_t>(__builtin_frame_address(0));
}

TEST(MainThreadStack, HoldsTheStackUpToItsTop) {
  const unwind::StackBounds bounds = MainThreadStack();
  const Range mapping = MappingOf(Here());
  EXPECT_LE(bounds.low, Here());
  EXPECT_LE(bounds.high, mapping.end);
  EXPECT_GT(bounds.high, Here());
  EXPECT_GT(bounds.high,
            reinterpret_cast<uint64_t>(getenv("PATH")) - (uint64_t{2} << 20));
}

struct Thread {
  StackRequest request;
  unwind::StackBounds bounds;
  Range mapping;
  uint64_t here = 0;
};

void* Look(void* argument) {
  auto* thread = static_cast<Thread*>(argument);
  thread->bounds = NewThreadStack(thread->request);
  thread->here = Here();
  thread->mapping = MappingOf(thread->here);
  return nullptr;
}

// Runs a thread with these attributes.
Thread LookInThread(const pthread_attr_t* attributes) {
  Thread thread;
  thread.request = RequestedStack(attributes);
  pthread_t handle;
  EXPECT_EQ(pthread_create(&handle, attributes, &Look, &thread), 0);
  pthread_join(handle, nullptr);
  return thread;
}

// Everything between the bounds can be read; nothing much is left out.
void ExpectRight(const Thread& thread, uint64_t size) {
  EXPECT_LE(thread.bounds.low, thread.here);
  EXPECT_GT(thread.bounds.high, thread.here);
  EXPECT_GE(thread.bounds.low, thread.mapping.start);
  EXPECT_LE(thread.bounds.high, thread.mapping.end);
  EXPECT_GT(thread.bounds.high - thread.bounds.low + 8192, size);
}

TEST(NewThreadStack, OfDefaultSize) {
  const Thread thread = LookInThread(nullptr);
  EXPECT_GT(thread.request.size, 0u);
  ExpectRight(thread, thread.request.size);
}

TEST(NewThreadStack, OfChosenSizeAndGuard) {
  for (const size_t size :
       {size_t{128} << 10, (size_t{128} << 10) + 4096 + 77, size_t{3} << 20}) {
    for (const size_t guard : {size_t{0}, size_t{4096}, size_t{65536}}) {
      pthread_attr_t attributes;
      pthread_attr_init(&attributes);
      pthread_attr_setstacksize(&attributes, size);
      pthread_attr_setguardsize(&attributes, guard);
      const Thread thread = LookInThread(&attributes);
      EXPECT_EQ(thread.request.low, 0u);
      ExpectRight(thread, size);
      pthread_attr_destroy(&attributes);
    }
  }
}

TEST(NewThreadStack, ThatTheProgramSupplied) {
  constexpr size_t kSize = 256 << 10;
  char* memory = static_cast<char*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, memory, kSize);
  const Thread thread = LookInThread(&attributes);
  EXPECT_EQ(thread.bounds.low, reinterpret_cast<uint64_t>(memory));
  EXPECT_LE(thread.bounds.high, reinterpret_cast<uint64_t>(memory) + kSize);
  ExpectRight(thread, kSize);
  pthread_attr_destroy(&attributes);
  munmap(memory, kSize);
}

}  // namespace
}  // namespace unspool::collectors
