// A thread's call stack by what its instructions did: each call adds a frame,
// each return takes one away. The truth that unwinders are held to; it knows
// nothing of CFI, frame pointers or symbols.
//
// A thread has one stack of its own, and more where it switches contexts. Where
// control goes elsewhere than a return would (longjmp, a landing exception, a
// context switch), the new SP says which frame it is in: the one whose return
// address lies next above. New contexts return to the word at their SP
// (makecontext(3)).
//
//   high   | ra of main     | <- frames()[0].slot
//          | ra of f        | <- frames()[1].slot
//   low    | locals of f    | <- SP

#ifndef UNSPOOL_TESTS_ORACLE_SHADOW_STACK_H_
#define UNSPOOL_TESTS_ORACLE_SHADOW_STACK_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/oracle/instruction.h"

namespace unspool::oracle {

struct Place {
  uint64_t pc = 0;
  uint64_t sp = 0;
};

struct ShadowFrame {
  uint64_t pc = 0;     // where it goes on
  uint64_t slot = 0;   // of the return address; of an interrupted frame, its SP
  bool exact = false;  // interrupted by a signal

  bool operator==(const ShadowFrame&) const = default;
};

class ShadowStack {
 public:
  // Reads a word of the thread's memory; 0 if it cannot.
  using ReadWord = std::function<uint64_t(uint64_t)>;

  // The callers of the code at PC, outermost first. Empty: it is in the
  // function that the thread began in.
  const std::vector<ShadowFrame>& frames() const { return frames_; }

  // The instruction at `before` was executed. True if control has left frames
  // without returning from them, or entered another stack.
  bool Step(Place before, Flow flow, Place after, const ReadWord& read);

  // A signal was delivered at `interrupted`; its handler begins at `handler`,
  // and will return to `trampoline`.
  void Interrupt(Place interrupted, Place handler, uint64_t trampoline);

  // rt_sigreturn(2) was executed. True as for Step().
  bool EndInterrupt(Place after, const ReadWord& read);

 private:
  // A frame further than this from SP is of another stack.
  static constexpr uint64_t kMaxFrameSize = 1 << 20;

  static bool IsNear(const ShadowFrame& frame, uint64_t sp) {
    return frame.slot >= sp && frame.slot - sp < kMaxFrameSize;
  }
  bool GoTo(uint64_t sp);
  bool Return(Place before, Place after, const ReadWord& read);

  std::vector<ShadowFrame> frames_;
  std::vector<std::vector<ShadowFrame>> other_stacks_;
};

}  // namespace unspool::oracle

#endif  // UNSPOOL_TESTS_ORACLE_SHADOW_STACK_H_
