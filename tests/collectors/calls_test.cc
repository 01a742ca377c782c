#include "collectors/arch/calls.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "collectors/try_lock.h"
#include "unwind/arch/arch.h"
#include "unwind/self_unwinder.h"
#include "unwind/walk_scratch.h"

namespace unspool::collectors {
namespace {

constinit unwind::SelfUnwinder unwinder;

struct Seen {
  uint64_t stack = 0;
  std::vector<uint64_t> pcs;
  unwind::WalkEnd end = unwind::WalkEnd::kLoop;
  uint64_t return_address = 0;  // of the caller of unspool_call_on_stack()
};

void LookAround(void* argument) {
  auto* seen = static_cast<Seen*>(argument);
  seen->stack = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  static unwind::Frame frames[64];
  static unwind::WalkScratch scratch;
  const unwind::WalkResult walk =
      unwinder.Walk(unwind::Registers::Here(), {}, scratch, frames);
  seen->end = walk.end;
  for (uint32_t i = 0; i < walk.depth; ++i) seen->pcs.push_back(frames[i].pc);
}

__attribute__((noinline)) void CallOnStack(Seen* seen, void* stack_top) {
  seen->return_address =
      reinterpret_cast<uint64_t>(__builtin_return_address(0));
  unspool_call_on_stack(&LookAround, seen, stack_top);
  asm volatile("");  // no tail call
}

// From a stack above the caller's as well as from one below it.
TEST(CallOnStack, RunsThereAndWalksReachTheCaller) {
  ASSERT_EQ(unwinder.Init(), unwind::SelfUnwinder::InitStatus::kOk);
  constexpr size_t kSize = 256 << 10;
  auto* memory =
      static_cast<char*>(mmap(nullptr, 3 * kSize, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  char* const tops[] = {memory + kSize, memory + 3 * kSize};
  struct Outer {
    Seen* seen;
    void* top;
  };
  for (int i = 0; i < 2; ++i) {
    Seen seen;
    // From the one to the other.
    Outer outer = {&seen, tops[i]};
    unspool_call_on_stack(
        [](void* argument) {
          const auto* o = static_cast<Outer*>(argument);
          CallOnStack(o->seen, o->top);
        },
        &outer, tops[1 - i]);
    const auto top = reinterpret_cast<uint64_t>(tops[i]);
    EXPECT_LT(top - seen.stack, kSize) << i;
    EXPECT_EQ(seen.end, unwind::WalkEnd::kRoot) << i;
    bool has_caller = false;
    for (const uint64_t pc : seen.pcs) has_caller |= pc == seen.return_address;
    EXPECT_TRUE(has_caller) << i;
  }
  munmap(memory, 3 * kSize);
}

TEST(CallInChild, RunsInAnotherProcessWithThisMemory) {
  pid_t seen = 0;
  int64_t child = 0;
  {
    const SignalBlock block;
    child = unspool_call_in_child(
        CLONE_VM | CLONE_VFORK,
        [](void* argument) {
          *static_cast<pid_t*>(argument) =
              static_cast<pid_t>(unwind::RawSyscall(SYS_getpid));
        },
        &seen);
    EXPECT_EQ(waitpid(static_cast<pid_t>(child), nullptr, __WALL), child);
  }
  EXPECT_GT(child, 0);
  EXPECT_EQ(seen, child);
  EXPECT_NE(seen, getpid());
}

}  // namespace
}  // namespace unspool::collectors
