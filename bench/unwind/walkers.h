// Ways to walk the calling thread's stack, all with one signature.

#ifndef UNSPOOL_BENCH_UNWIND_WALKERS_H_
#define UNSPOOL_BENCH_UNWIND_WALKERS_H_

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/self_unwinder.h"

namespace unspool::bench {

// Writes PCs of the calling thread's stack, leaf first, and gives their number.
// Begins at `context`, which is as a signal handler gets it, or at itself: from
// the caller's caller on all give the same return addresses.
using WalkFunction = size_t (*)(const ucontext_t& context,
                                std::span<uint64_t> pcs);

struct Walker {
  const char* name;
  WalkFunction walk;
  // Makes it ready, or ends the program with a message. Once, before any walk.
  void (*init)();
  bool takes_context;     // begins at `context`
  bool by_frame_pointer;  // skips the function that a signal interrupted
};

extern const Walker kUnspool;
extern const Walker kFramePointer;  // the least that a walk can do
// libunwind: what gives its PCs fastest, and what a handler can use.
extern const Walker kUnwBacktrace;
extern const Walker kUnwStep;
extern const Walker kLibgcc;  // _Unwind_Backtrace
extern const Walker kGlibc;   // backtrace()
extern const Walker kAbseil;  // GetStackTrace()
extern const Walker kLibdw;

extern const std::array<const Walker*, 8> kWalkers;

// Where it returns to: in the calling function, behind a call.
uint64_t BehindCall();

// Registers of the calling function in `context`, as far as functions preserve
// them; the PC may be taken for a return address.
[[gnu::always_inline]] inline void CaptureContext(ucontext_t& context) {
  const unwind::Registers here = unwind::Registers::Here();
  greg_t* const to = context.uc_mcontext.gregs;
  for (const auto& [from, index] :
       std::array<std::array<int, 2>, 7>{{{3, REG_RBX},
                                          {6, REG_RBP},
                                          {7, REG_RSP},
                                          {12, REG_R12},
                                          {13, REG_R13},
                                          {14, REG_R14},
                                          {15, REG_R15}}}) {
    to[index] = static_cast<greg_t>(here.Get(static_cast<size_t>(from)));
  }
  to[REG_RIP] = static_cast<greg_t>(BehindCall());
}

// Notes the calling thread's stack bounds for our walker. Once per thread.
void InitThread();

// What our walker uses, for who goes on from there.
unwind::SelfUnwinder& self_unwinder();

// One line on stderr and status 1.
[[noreturn]] void Fail(const char* what);

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_UNWIND_WALKERS_H_
