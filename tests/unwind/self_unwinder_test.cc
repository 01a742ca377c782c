// Walks of this process's own stacks: ordinary ones against glibc's
// backtrace(), and the odd ones that unwinders get wrong.

#include "unwind/self_unwinder.h"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <thread>
#include <vector>

#include "tests/unwind/odd_frames.h"
#include "tests/unwind/self_walk.h"

namespace unspool::unwind {
namespace {

// Both walks of one stack, as they are behind the frame of the function that
// took them.
struct Compared {
  Walked ours;
  std::vector<uint64_t> glibc;
};

__attribute__((noinline)) void Compare(Compared* out) {
  out->ours = WalkFrom(Registers::Here(), OwnStack());
  void* addresses[4096];
  const int count = backtrace(addresses, 4096);
  for (int i = 1; i < count; ++i) {
    out->glibc.push_back(reinterpret_cast<uint64_t>(addresses[i]));
  }
  out->ours.frames.erase(out->ours.frames.begin());
}

void ExpectSame(const Compared& compared) {
  EXPECT_TRUE(compared.ours.Reached(WalkEnd::kRoot)) << compared.ours.Text();
  const size_t size = compared.ours.frames.size();
  // Sanitizers put a function of theirs in front of backtrace().
  ASSERT_LE(size, compared.glibc.size()) << compared.ours.Text();
  ASSERT_GE(size + 1, compared.glibc.size()) << compared.ours.Text();
  const size_t skip = compared.glibc.size() - size;
  for (size_t i = 0; i < size; ++i) {
    EXPECT_EQ(compared.ours.frames[i].pc, compared.glibc[i + skip]) << i;
    EXPECT_FALSE(compared.ours.frames[i].guessed) << i;
    EXPECT_NE(compared.ours.frames[i].module, kNoModule) << i;
  }
}

Compared* sorted = nullptr;
int CompareAndWalk(const void* a, const void* b) {
  if (sorted->glibc.empty()) Compare(sorted);
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

__attribute__((noinline)) int Recurse(int depth, Compared* out) {
  volatile char local[64] = {};
  local[depth % 64] = 1;
  if (depth == 0) {
    Compare(out);
    return local[0];
  }
  return Recurse(depth - 1, out) + local[depth % 64];
}

struct WalksInDestructor {
  explicit WalksInDestructor(Compared* to) : out(to) {}
  ~WalksInDestructor() { Compare(out); }
  Compared* out;
};
__attribute__((noinline)) void Throw(Compared* out) {
  WalksInDestructor walks(out);
  throw 1;
}

TEST(SelfUnwinder, AgreesWithGlibcOnOrdinaryStacks) {
  Compared plain, recursion, in_qsort, in_sort, in_thread, in_unwinding;
  Compare(&plain);
  Recurse(500, &recursion);

  std::vector<int> numbers = {3, 1, 2, 9, 7};
  sorted = &in_qsort;
  qsort(numbers.data(), numbers.size(), sizeof(int), CompareAndWalk);
  std::vector<int> more(100, 1);
  std::stable_sort(more.begin(), more.end(), [&](int a, int b) {
    if (in_sort.glibc.empty()) Compare(&in_sort);
    return a < b;
  });
  std::thread([&] { Recurse(3, &in_thread); }).join();
  try {
    Throw(&in_unwinding);
  } catch (int) {
  }
  for (const Compared* compared :
       {&plain, &recursion, &in_qsort, &in_sort, &in_thread, &in_unwinding}) {
    ExpectSame(*compared);
  }
  EXPECT_GT(recursion.glibc.size(), 500u);
}

TEST(SelfUnwinder, StackBoundsChangeNothing) {
  const Registers here = Registers::Here();
  const Walked with = WalkFrom(here, OwnStack());
  const Walked without = WalkFrom(here);
  ASSERT_EQ(with.frames.size(), without.frames.size());
  EXPECT_TRUE(without.Reached(WalkEnd::kRoot));
  for (size_t i = 0; i < with.frames.size(); ++i) {
    EXPECT_EQ(with.frames[i].pc, without.frames[i].pc);
  }
}

TEST(SelfUnwinder, RoomIsADistinctEnd) {
  WalkScratch scratch = {};
  Frame frames[2];
  const WalkResult result =
      TestUnwinder().Walk(Registers::Here(), OwnStack(), scratch, frames);
  EXPECT_EQ(result.depth, 2u);
  EXPECT_EQ(result.end, WalkEnd::kDepth);
  EXPECT_EQ(result.failed_pc, frames[1].pc);
}

TEST(SelfUnwinder, BeforeInitThereIsNothing) {
  SelfUnwinder fresh;
  WalkScratch scratch = {};
  Frame frames[2];
  const auto result = fresh.Walk(Registers::Here(), {}, scratch, frames);
  EXPECT_EQ(result.depth, 0u);
  EXPECT_EQ(result.end, WalkEnd::kNoCfi);
  EXPECT_EQ(fresh.module_count(), 0u);
  EXPECT_EQ(fresh.FindModule(0), nullptr);
}

TEST(SelfUnwinder, ContextsStartAtTheirFirstFunction) {
  static Walked walked;
  static ucontext_t back;
  const auto run = [] { walked = WalkFrom(Registers::Here()); };
  std::vector<char> stack(256 * 1024);
  ucontext_t context;
  ASSERT_EQ(getcontext(&context), 0);
  context.uc_stack = {
      .ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
  context.uc_link = &back;
  makecontext(&context, static_cast<void (*)()>(run), 0);
  ASSERT_EQ(swapcontext(&back, &context), 0);
  EXPECT_TRUE(walked.Reached(WalkEnd::kRoot)) << walked.Text();
  // The lambda, its conversion to a pointer, and __start_context.
  EXPECT_GE(walked.frames.size(), 2u);
  EXPECT_LE(walked.frames.size(), 4u) << walked.Text();
}

TEST(SelfUnwinder, CallAsLastInstructionOfItsFde) {
  const Walked walked = WalkAtTrap(last_call);
  EXPECT_TRUE(walked.Reached(WalkEnd::kRoot)) << walked.Text();
  EXPECT_EQ(walked.frames[0].pc, AddressOf(never_returns));
  EXPECT_EQ(walked.frames[1].pc, AddressOf(last_call_end));
  EXPECT_EQ(walked.Find(AddressOf(last_call), AddressOf(last_call_end)), 1);
}

TEST(SelfUnwinder, FirstInstructionBelongsToItsFunction) {
  const Walked walked = WalkAtTrap(first_instruction);
  EXPECT_TRUE(walked.Reached(WalkEnd::kRoot)) << walked.Text();
  EXPECT_EQ(walked.frames[0].pc, AddressOf(first_instruction));
  EXPECT_TRUE(walked.frames[0].exact);
  EXPECT_FALSE(walked.frames[1].exact);
}

TEST(SelfUnwinder, RootIsNotWhereverTheRaIsUndefined) {
  const Walked walked = WalkAtTrap(no_caller);
  EXPECT_TRUE(walked.Reached(WalkEnd::kNoCfi));
  EXPECT_EQ(walked.result.failed_pc, AddressOf(no_caller));
}

TEST(SelfUnwinder, CfaBelowTheStackPointerIsALoop) {
  const Walked walked = WalkAtTrap(cfa_below_sp);
  EXPECT_TRUE(walked.Reached(WalkEnd::kLoop)) << walked.Text();
}

TEST(SelfUnwinder, LeafWithoutCfiIsGuessed) {
  for (void (*function)() : {no_cfi_leaf, no_cfi_frame}) {
    const Walked walked = WalkAtTrap([function] { function(); });
    EXPECT_TRUE(walked.Reached(WalkEnd::kRoot)) << walked.Text();
    EXPECT_FALSE(walked.frames[0].guessed);
    EXPECT_TRUE(walked.frames[1].guessed);
    EXPECT_FALSE(walked.frames[2].guessed);
  }
}

TEST(SelfUnwinder, CallThroughABadPointerKeepsItsCaller) {
  // As if the registers were those of the instruction that was called.
  static Registers at_call;
  at_call = Registers::Here();
  at_call.Set(NativeArch::kRa, 0);
  const Walked walked = WalkFrom(at_call);
  EXPECT_EQ(walked.frames.size(), 1u);
  EXPECT_TRUE(walked.Reached(WalkEnd::kNoCfi)) << walked.Text();

  // A real one: the return address is on top.
  uint64_t stack[64] = {};
  const Walked inner = WalkAtTrap(first_instruction);
  stack[0] = inner.frames[1].pc;
  Registers wild;
  wild.Set(NativeArch::kSp, reinterpret_cast<uint64_t>(stack));
  wild.Set(NativeArch::kRa, 0xdead0000beef);
  const Walked guessed = WalkFrom(wild);
  ASSERT_GE(guessed.frames.size(), 2u);
  EXPECT_EQ(guessed.frames[1].pc, stack[0]);
  EXPECT_TRUE(guessed.frames[1].guessed);
}

// What no load may touch.
std::vector<uint64_t> WildAddresses() {
  const size_t kSize = 4096;
  void* none =
      mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* gone =
      mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(gone, kSize);
  return {0,
          1,
          8,
          0xdeadbeef,
          ~uint64_t{0},
          ~uint64_t{7},
          0x8000000000000000,
          0x0000800000000000,
          0x00007ffffffffff8,
          reinterpret_cast<uint64_t>(none) + 64,
          reinterpret_cast<uint64_t>(gone) + 64};
}

TEST(SelfUnwinder, WildCfaNeverFaults) {
  for (const uint64_t address : WildAddresses()) {
    const Walked walked = WalkAtTrap([&] { wild_cfa(address); }, OwnStack());
    ASSERT_EQ(walked.frames.size(), 1u) << walked.Text();
    EXPECT_NE(walked.result.end, WalkEnd::kRoot);
    EXPECT_EQ(walked.result.failed_pc, walked.frames[0].pc);
  }
}

TEST(SelfUnwinder, WildStackPointerNeverFaults) {
  for (const uint64_t sp : WildAddresses()) {
    for (const uint64_t fp : WildAddresses()) {
      Registers registers = Registers::Here();
      registers.Set(NativeArch::kSp, sp);
      registers.Set(NativeArch::kFp, fp);
      const Walked walked = WalkFrom(registers, OwnStack());
      EXPECT_GE(walked.frames.size(), 1u);
      EXPECT_NE(walked.result.end, WalkEnd::kRoot) << walked.Text();
    }
  }
}

TEST(SelfUnwinder, WildPcNeverFaults) {
  for (const uint64_t pc : WildAddresses()) {
    Registers registers = Registers::Here();
    registers.Set(NativeArch::kRa, pc);
    const Walked walked = WalkFrom(registers, OwnStack());
    ASSERT_GE(walked.frames.size(), 1u);
    EXPECT_EQ(walked.frames[0].pc, pc);
    EXPECT_EQ(walked.frames[0].module, kNoModule);
  }
}

TEST(SelfUnwinder, RealignedStacksAreWalked) {
  static Walked walked;
  realigned_callback = [] { walked = WalkFrom(Registers::Here(), OwnStack()); };
  call_realigned();
  EXPECT_TRUE(walked.Reached(WalkEnd::kRoot)) << walked.Text();
  EXPECT_GT(walked.frames.size(), 4u);
}

// SIGILL's handler walks, or lets SIGTRAP's do it. Both signals come from the
// instruction at hand, which sanitizers, too, deliver at once.
bool is_nested = false;
QuietWalk from_handler;
void OnInnerSignal(int) { from_handler.From(Registers::Here()); }
void OnOuterSignal(int signal, siginfo_t*, void* context) {
  if (is_nested) {
    // ThreadSanitizer blocks all signals in handlers.
    sigset_t trap;
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(SIG_UNBLOCK, &trap, nullptr);
    asm volatile("int3");
  } else {
    OnInnerSignal(signal);
  }
  static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += 2;
}

TEST(SelfUnwinder, SignalFramesAreCrossed) {
  std::vector<char> alternate(256 * 1024);
  const stack_t stack = {
      .ss_sp = alternate.data(), .ss_flags = 0, .ss_size = alternate.size()};
  TestUnwinder();
  for (const bool nested : {false, true}) {
    for (const int flags : {0, SA_ONSTACK}) {
      SCOPED_TRACE(std::to_string(nested) + " " + std::to_string(flags));
      stack_t before;
      ASSERT_EQ(sigaltstack(&stack, &before), 0);
      is_nested = nested;
      struct sigaction outer = {}, inner = {}, old_outer, old_inner;
      outer.sa_flags = flags | SA_SIGINFO;
      outer.sa_sigaction = OnOuterSignal;
      inner.sa_flags = flags;
      inner.sa_handler = OnInnerSignal;
      sigaction(SIGILL, &outer, &old_outer);
      sigaction(SIGTRAP, &inner, &old_inner);
      first_instruction();
      sigaction(SIGILL, &old_outer, nullptr);
      sigaction(SIGTRAP, &old_inner, nullptr);
      sigaltstack(&before, nullptr);

      const Walked walked = from_handler.Get();
      EXPECT_TRUE(walked.Reached(WalkEnd::kRoot)) << walked.Text();
      std::vector<uint64_t> exact;
      for (const Frame& frame : walked.frames) {
        if (frame.exact) exact.push_back(frame.pc);
      }
      ASSERT_EQ(exact.size(), nested ? 3u : 2u) << walked.Text();
      EXPECT_EQ(exact.back(), AddressOf(first_instruction));
    }
  }
}

TEST(SelfUnwinder, DescribesModules) {
  SelfUnwinder& unwinder = TestUnwinder();
  bool has_main = false, has_libc = false, has_vdso = false;
  for (ModuleId id = 0; id < unwinder.module_count(); ++id) {
    const Module* module = unwinder.FindModule(id);
    ASSERT_NE(module, nullptr);
    EXPECT_LT(module->start, module->end);
    EXPECT_TRUE(module->path[0] == '/' || module->is_vdso) << module->path;
    for (size_t i = 0; i < module->segment_count; ++i) {
      EXPECT_LE(module->start, module->segments[i].start);
      EXPECT_LE(module->segments[i].end, module->end);
      EXPECT_EQ(module->segments[i].file_offset % 4096, 0u);
    }
    if (module->is_vdso) has_vdso = true;
    if (module->is_libc_or_loader) has_libc = true;
    if (!module->is_main) continue;
    has_main = true;
    EXPECT_EQ(module->path, std::filesystem::read_symlink("/proc/self/exe"));
    EXPECT_TRUE(module->is_pinned);
    EXPECT_NE(module->entry, 0u);
    EXPECT_GE(module->segment_count, 1);
    EXPECT_EQ(module->build_id.size, 20);
  }
  EXPECT_TRUE(has_main && has_libc && has_vdso);
  EXPECT_EQ(unwinder.FindModule(unwinder.module_count()), nullptr);
  EXPECT_EQ(unwinder.FindModule(kNoModule), nullptr);
}

}  // namespace
}  // namespace unspool::unwind
