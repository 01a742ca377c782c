// Where in a function a walk begins.

#ifndef UNSPOOL_BENCH_UNWIND_INTERRUPTION_H_
#define UNSPOOL_BENCH_UNWIND_INTERRUPTION_H_

#include <ucontext.h>

#include <array>
#include <cstdint>

#include "bench/unwind/layouts.h"

namespace unspool::bench {

enum class Point : uint8_t {
  kHere,  // in the calling function
  kLeaf,  // at the first instruction of one that it has called
  kStub,  // in the jump stub through which it calls one
};

// What such a call has put on the stack. Lies in the calling function's frame.
using CallSlots = std::array<uint64_t, 2>;

// Moves `context`, that of the calling function, to `point`.
inline void MoveTo(Point point, CallSlots& slots, ucontext_t& context) {
  if (point == Point::kHere) return;
  greg_t* const registers = context.uc_mcontext.gregs;
  slots[1] = static_cast<uint64_t>(registers[REG_RIP]);
  if (point == Point::kLeaf) {
    registers[REG_RSP] = reinterpret_cast<greg_t>(&slots[1]);
    registers[REG_RIP] =
        reinterpret_cast<greg_t>(unspool_bench_chain_functions[0]);
  } else {
    slots[0] = 0;  // what the stub pushes
    registers[REG_RSP] = reinterpret_cast<greg_t>(&slots[0]);
    registers[REG_RIP] = reinterpret_cast<greg_t>(unspool_bench_stub());
  }
}

}  // namespace unspool::bench

#endif  // UNSPOOL_BENCH_UNWIND_INTERRUPTION_H_
