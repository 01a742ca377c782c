// A fault at each memory read: whichever one fails, the walk gives frames that
// are right as far as they go, and says that they are not all.

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <memory>
#include <thread>
#include <vector>

#include "tests/unwind/odd_frames.h"
#include "tests/unwind/recorded_stack.h"
#include "tests/unwind/self_walk.h"
#include "unwind/cfi_finder.h"
#include "unwind/module_setup.h"
#include "unwind/row_step.h"
#include "unwind/walk.h"

namespace unspool::unwind {
namespace {

constexpr size_t kMaxFrames = 256;

const ModuleSnapshot& OwnModules() {
  static const ModuleSnapshot* const modules = [] {
    auto* snapshot = new ModuleSnapshot;
    if (!TakeModuleSnapshot(nullptr, snapshot)) std::abort();
    return snapshot;
  }();
  return *modules;
}

// CfiAnswers of this process's modules, with any memory.
class OwnCfi {
 public:
  using Answer = CfiAnswer<NativeArch>;

  Answer Find(uint64_t pc, bool exact) {
    const ModuleId id = OwnModules().Find(LookupPc(pc, exact));
    loaded_ = OwnModules().Get(id);
    if (loaded_ == nullptr) return {};
    MappedSource source(*loaded_);
    Answer answer = FindCfi(source, *loaded_, pc, exact, &state_);
    answer.module = id;
    return answer;
  }
  StepStatus ApplyRow(const Registers& frame, FaultyMemory& memory,
                      Registers* caller) {
    MappedSource source(*loaded_);
    RowStep<NativeArch, FaultyMemory, MappedSource> step(frame, memory, source,
                                                         state_.bias);
    return step.Apply(state_.machine.row(), state_.cie.ra_register, caller);
  }
  void Learn(uint64_t, UnwindRule<NativeArch>) {}
  static KnownRule<NativeArch> FindKnown(uint64_t) { return {}; }
  static UnwindRule<NativeArch> FindUsual(uint64_t) { return {}; }
  template <class Memory>
  static size_t StepOn(Memory&, Position*, std::span<Frame>) {
    return 0;
  }
  static bool IsStill(uint64_t, ModuleId) { return true; }
  bool IsCode(uint64_t address) {
    const LoadedModule* loaded = OwnModules().Get(OwnModules().Find(address));
    return loaded != nullptr && loaded->IsCode(address);
  }
  uint64_t FindFunction(uint64_t lookup_pc) {
    state_.fde = {};
    Find(lookup_pc, /*exact=*/true);
    return state_.fde.Covers(lookup_pc) ? state_.fde.pc_begin : 0;
  }

 private:
  const LoadedModule* loaded_ = nullptr;
  CfiFinderState<NativeArch> state_;
};

struct FaultyWalk {
  Walked walked;
  size_t reads = 0;
};

FaultyWalk WalkRecorded(const RecordedStack& stack, const Faults& faults) {
  const auto page = std::make_unique<PageCopy>();
  const auto cfi = std::make_unique<OwnCfi>();
  FaultyMemory memory(stack, faults, *page);
  WalkState<NativeArch> state;
  Walker<NativeArch, FaultyMemory, OwnCfi> walker(memory, *cfi, state);
  std::vector<Frame> frames(kMaxFrames);
  const WalkResult result = walker.Walk(stack.registers, frames);
  frames.resize(result.depth);
  return {{result, frames}, memory.reads()};
}

// The frames are the first ones of `whole`; if some are missing, the end says
// so and where.
void ExpectRightAsFarAsItGoes(const Walked& part, const Walked& whole) {
  ASSERT_GE(part.frames.size(), 1u);
  ASSERT_LE(part.frames.size(), whole.frames.size()) << part.Text();
  for (size_t i = 0; i < part.frames.size(); ++i) {
    ASSERT_EQ(part.frames[i].pc, whole.frames[i].pc) << part.Text();
    ASSERT_EQ(part.frames[i].exact, whole.frames[i].exact) << part.Text();
  }
  if (part.Reached(WalkEnd::kRoot)) {
    EXPECT_EQ(part.frames.size(), whole.frames.size());
  } else {
    EXPECT_EQ(part.result.failed_pc, part.frames.back().pc) << part.Text();
  }
}

// For every read of a walk of this stack: it alone fails, and it is the first
// of those that fail.
void ExpectEveryFaultIsSurvived(const RecordedStack& stack) {
  const FaultyWalk whole = WalkRecorded(stack, {});
  ASSERT_TRUE(whole.walked.Reached(WalkEnd::kRoot)) << whole.walked.Text();
  ASSERT_GT(whole.walked.frames.size(), 3u);
  ASSERT_GT(whole.reads, whole.walked.frames.size());
  size_t cut = 0;
  for (size_t n = 0; n < whole.reads; ++n) {
    for (const bool all_later : {false, true}) {
      const FaultyWalk walk = WalkRecorded(stack, {n, all_later});
      SCOPED_TRACE(n);
      ExpectRightAsFarAsItGoes(walk.walked, whole.walked);
      cut += !walk.walked.Reached(WalkEnd::kRoot);
    }
  }
  EXPECT_GT(cut, whole.walked.frames.size());
}

__attribute__((noinline)) int Recurse(int depth, void (*body)()) {
  volatile char local[200] = {};
  if (depth == 0) {
    body();
    return local[0];
  }
  return Recurse(depth - 1, body) + local[depth % 200];
}

void Trap() { __asm__ volatile("ud2"); }

struct TrapsInDestructor {
  ~TrapsInDestructor() { Trap(); }
};

void TrapWhileUnwinding() {
  try {
    TrapsInDestructor traps;
    throw 1;
  } catch (int) {
  }
}

int traps_left = 0;
int CompareAndTrap(const void* a, const void* b) {
  if (traps_left-- == 1) Trap();
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

void TrapInSort() {
  int numbers[] = {3, 1, 2, 9, 7};
  traps_left = 1;
  qsort(numbers, 5, sizeof(int), CompareAndTrap);
}

void TrapInSignalHandler() {
  signal(SIGUSR1, [](int) { Trap(); });
  raise(SIGUSR1);
  signal(SIGUSR1, SIG_DFL);
}

void TrapBelowRealigned() {
  realigned_callback = Trap;
  call_realigned();
}

struct Body {
  const char* name;
  void (*run)();
};
const Body kBodies[] = {
    {"recursion", [] { Recurse(40, Trap); }},
    {"unwinding", [] { Recurse(3, TrapWhileUnwinding); }},
    {"library callback", [] { Recurse(3, TrapInSort); }},
    {"signal frame", [] { Recurse(3, TrapInSignalHandler); }},
    {"expressions", [] { Recurse(3, TrapBelowRealigned); }},
    {"saved registers", [] { call_with_registers(Trap); }},
    {"leaf without CFI", [] { Recurse(3, no_cfi_leaf); }},
    {"frame without CFI", [] { Recurse(3, no_cfi_frame); }},
};

TEST(MemoryFault, EveryReadOfAWalkMayFail) {
  for (const Body& body : kBodies) {
    SCOPED_TRACE(body.name);
    ExpectEveryFaultIsSurvived(RecordAtTrap(body.run));
  }
}

// As the kernel tells of a thread that waits: nothing but PC and SP. Functions
// here are unoptimized, so that nearly all need FP. A walk may end early for
// that, and never leads elsewhere.
TEST(MemoryFault, OtherRegistersMayBeUnknown) {
  for (const Body& body : kBodies) {
    SCOPED_TRACE(body.name);
    RecordedStack stack = RecordAtTrap(body.run);
    const FaultyWalk whole = WalkRecorded(stack, {});
    stack.registers.Keep(1 << NativeArch::kSp | 1 << NativeArch::kRa);
    const FaultyWalk poor = WalkRecorded(stack, {});
    ExpectRightAsFarAsItGoes(poor.walked, whole.walked);
    for (size_t n = 0; n < poor.reads; ++n) {
      for (const bool all_later : {false, true}) {
        SCOPED_TRACE(n);
        ExpectRightAsFarAsItGoes(WalkRecorded(stack, {n, all_later}).walked,
                                 whole.walked);
      }
    }
  }
}

// A page of the stack that is walked goes away: what SelfMemory and the
// SelfUnwinder do with it.
class UnreadablePages {
 public:
  static constexpr size_t kMaxPages = 64;

  void Run() {
    start_ = mmap(nullptr, kMaxPages * kPageSize, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, start_, kMaxPages * kPageSize);
    pthread_t thread;
    current_ = this;
    pthread_create(&thread, &attributes, &UnreadablePages::InThread, nullptr);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    munmap(start_, kMaxPages * kPageSize);
  }

  Walked Whole() const { return whole_.Get(); }
  size_t count() const { return count_; }
  Walked Without(size_t page) const { return without_[page].Get(); }

 private:
  static void* InThread(void*) {
    static std::array<char, 256 * 1024> handler_stack;
    const stack_t alternate = {.ss_sp = handler_stack.data(),
                               .ss_flags = 0,
                               .ss_size = handler_stack.size()};
    // AddressSanitizer unmaps what is set at the thread's end.
    stack_t previous;
    sigaltstack(&alternate, &previous);
    struct sigaction action = {};
    action.sa_sigaction = OnTrap;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGILL, &action, nullptr);
    Recurse(400, Trap);
    signal(SIGILL, SIG_DFL);
    sigaltstack(&previous, nullptr);
    return nullptr;
  }

  // The topmost page is glibc's: it holds this thread's control block.
  static void OnTrap(int, siginfo_t*, void* context_pointer) {
    auto* context = static_cast<ucontext_t*>(context_pointer);
    const auto registers = Registers::FromUcontext(*context);
    UnreadablePages& self = *current_;
    self.whole_.From(registers);
    const uint64_t end =
        reinterpret_cast<uint64_t>(self.start_) + (kMaxPages - 1) * kPageSize;
    for (uint64_t page = registers.sp() & ~(kPageSize - 1); page < end;
         page += kPageSize) {
      mprotect(reinterpret_cast<void*>(page), kPageSize, PROT_NONE);
      self.without_[self.count_++].From(registers);
      mprotect(reinterpret_cast<void*>(page), kPageSize,
               PROT_READ | PROT_WRITE);
    }
    context->uc_mcontext.gregs[REG_RIP] += 2;
  }

  static inline UnreadablePages* current_ = nullptr;
  void* start_ = nullptr;
  QuietWalk whole_;
  size_t count_ = 0;
  std::array<QuietWalk, kMaxPages> without_;
};

TEST(MemoryFault, EveryPageOfAStackMayBeGone) {
  TestUnwinder();
  const auto pages = std::make_unique<UnreadablePages>();
  pages->Run();
  const Walked whole = pages->Whole();
  ASSERT_TRUE(whole.Reached(WalkEnd::kRoot)) << whole.Text();
  EXPECT_GT(whole.frames.size(), 400u);
  ASSERT_GT(pages->count(), 20u);
  for (size_t i = 0; i < pages->count(); ++i) {
    SCOPED_TRACE(i);
    const Walked walked = pages->Without(i);
    EXPECT_TRUE(walked.Reached(WalkEnd::kBadMemory)) << walked.Text();
    ExpectRightAsFarAsItGoes(walked, whole);
  }
}

}  // namespace
}  // namespace unspool::unwind
