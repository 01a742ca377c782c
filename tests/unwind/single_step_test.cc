// The right stack at every instruction: real code of libc, the loader and
// libgcc, run one instruction at a time by the processor's trap flag, is walked
// after each. Every walk must reach the root over the frames below the code
// that is stepped through.

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "tests/unwind/odd_frames.h"
#include "tests/unwind/self_walk.h"

namespace unspool::unwind {
namespace {

constexpr size_t kMaxFrames = 256;
constexpr size_t kMaxKept = 4;

// What SIGTRAP's handler works with and finds.
struct Steps {
  StackBounds bounds;
  std::vector<uint64_t> below;  // return addresses, outermost last
  uint64_t count = 0;
  uint64_t wrong = 0;
  // With PC and SP alone: walks that reached the root, and those that gave a
  // frame which all registers do not give.
  uint64_t poor_rooted = 0;
  uint64_t poor_wrong = 0;
  std::vector<Walked> kept;  // the first wrong ones

  std::string Text() const {
    std::string text = std::to_string(wrong + poor_wrong) + " of " +
                       std::to_string(count) + " stacks are wrong\n";
    for (const Walked& walked : kept) text += walked.Text();
    return text;
  }
};

Steps* steps = nullptr;
WalkScratch scratch;
Frame frames[kMaxFrames];
Frame poor_frames[kMaxFrames];

bool IsRight(const WalkResult& result) {
  const size_t below = steps->below.size();
  if (result.end != WalkEnd::kRoot || result.depth < below) return false;
  for (size_t i = 0; i < result.depth; ++i) {
    if (frames[i].guessed) return false;
  }
  for (size_t i = 0; i < below; ++i) {
    if (frames[result.depth - below + i].pc != steps->below[i]) return false;
  }
  return true;
}

// As of a thread that waits in a page fault at this instruction.
void WalkWithPcAndSp(Registers registers, const WalkResult& rich) {
  registers.Keep(1 << NativeArch::kSp | 1 << NativeArch::kRa);
  const WalkResult poor =
      TestUnwinder().Walk(registers, steps->bounds, scratch, poor_frames);
  steps->poor_rooted += poor.end == WalkEnd::kRoot;
  bool is_right = poor.depth <= rich.depth;
  for (size_t i = 0; is_right && i < poor.depth; ++i) {
    is_right = poor_frames[i].pc == frames[i].pc;
  }
  if (is_right) return;
  ++steps->poor_wrong;
  if (steps->kept.size() < kMaxKept) {
    steps->kept.push_back({poor, {poor_frames, poor_frames + poor.depth}});
    steps->kept.push_back({rich, {frames, frames + rich.depth}});
  }
}

void OnStep(int, siginfo_t*, void* context) {
  const auto registers =
      Registers::FromUcontext(*static_cast<ucontext_t*>(context));
  const WalkResult result =
      TestUnwinder().Walk(registers, steps->bounds, scratch, frames);
  ++steps->count;
  if (IsRight(result)) return WalkWithPcAndSp(registers, result);
  ++steps->wrong;
  if (steps->kept.size() < kMaxKept) {
    steps->kept.push_back({result, {frames, frames + result.depth}});
  }
}

// Runs `body` step by step.
template <class Body>
__attribute__((noinline)) Steps StepThrough(Body&& body) {
  Steps result;
  result.bounds = OwnStack();
  result.kept.reserve(kMaxKept);
  const Walked here = WalkFrom(Registers::Here());
  for (size_t i = 1; i < here.frames.size(); ++i) {
    result.below.push_back(here.frames[i].pc);
  }
  steps = &result;
  struct sigaction action = {};
  struct sigaction before = {};
  action.sa_sigaction = OnStep;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, &before);
  set_trap_flag();
  body();
  clear_trap_flag();
  sigaction(SIGTRAP, &before, nullptr);
  return result;
}

// With all registers; with PC and SP alone a few may end early.
void ExpectAllRight(const Steps& result) {
  EXPECT_EQ(result.wrong, 0u) << result.Text();
  EXPECT_EQ(result.poor_wrong, 0u) << result.Text();
  EXPECT_GT(result.poor_rooted, result.count / 2);
}

int Compare(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

TEST(SingleStep, SortAndFormat) {
  const Steps result = StepThrough([] {
    int numbers[] = {5, 3, 9, 1, 7, 2, 8};
    qsort(numbers, std::size(numbers), sizeof(int), Compare);
    char text[64];
    std::snprintf(text, sizeof(text), "%d %s %.3f", numbers[0], "text", 1.5);
    std::free(std::malloc(100'000));
  });
  EXPECT_GT(result.count, 3000u);
  ExpectAllRight(result);
}

// The return address is in rdx while the registers are being loaded.
TEST(SingleStep, LongJump) {
  const Steps result = StepThrough([] {
    jmp_buf buffer;
    const int jumps = setjmp(buffer);
    if (jumps < 3) longjmp(buffer, jumps + 1);
  });
  EXPECT_GT(result.count, 100u);
  ExpectAllRight(result);
}

// The return address is in rdi, in the child as well.
TEST(SingleStep, VFork) {
  const Steps result = StepThrough([] {
    const pid_t child = vfork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
  });
  EXPECT_GT(result.count, 30u);
  ExpectAllRight(result);
}

// The first call goes through the PLT's resolver, whose CFA is on rbx.
TEST(SingleStep, LazyBinding) {
  const Steps result = StepThrough([] {
    volatile long sum = 0;
    sum = sum + a64l("unspool") + atol("12") + strtol("77", nullptr, 8);
  });
  EXPECT_GT(result.count, 1000u);
  ExpectAllRight(result);
}

TEST(SingleStep, Vdso) {
  const Steps result = StepThrough([] {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    clock_gettime(CLOCK_MONOTONIC, &now);
  });
  EXPECT_GT(result.count, 30u);
  ExpectAllRight(result);
}

// After `pop rbp`, at the last two instructions, GCC's CFI still looks for the
// caller's rbp where rbp points. That matters if the caller's CFA is on rbp.
TEST(SingleStep, RealignedStack) {
  realigned_callback = [] {};
  const Steps result = StepThrough(call_realigned);
  EXPECT_GT(result.count, 20u);
  EXPECT_LE(result.wrong, 2u) << result.Text();
}

// Modules appear and disappear under the walks.
TEST(SingleStep, LoadAndUnload) {
  const std::string path = std::string(LATER_LIBRARIES) + "/liblater_0.so";
  const Steps result = StepThrough([&] {
    void* handle = dlopen(path.c_str(), RTLD_NOW);
    using Call = int (*)(int (*)(void*), void*);
    const auto call = reinterpret_cast<Call>(dlsym(handle, "later_call"));
    call([](void*) { return 1; }, nullptr);
    dlclose(handle);
  });
  EXPECT_GT(result.count, 5000u);
  ExpectAllRight(result);
}

// Where libgcc has put a landing pad's registers into frames that it is about
// to leave, formally right CFI gives wrong callers: a few dozen instructions.
TEST(SingleStep, Throw) {
  const Steps result = StepThrough([] {
    for (int i = 0; i < 3; ++i) {
      try {
        throw i;
      } catch (int) {
      }
    }
  });
  EXPECT_GT(result.count, 5000u);
  EXPECT_LE(result.wrong * 100, result.count) << result.Text();
}

}  // namespace
}  // namespace unspool::unwind
