// What a walk gives back: frames, leaf first, and how the walk ended.
//
// Addresses come in two kinds (DWARF 5 §6.4.4): the PC of an interrupted
// instruction is exact; a return address points behind its call, so whatever is
// looked up for it is looked up at one byte less. LookupPc is the only place
// that knows.

#ifndef UNSPOOL_UNWIND_FRAME_H_
#define UNSPOOL_UNWIND_FRAME_H_

#include <cstddef>
#include <cstdint>

namespace unspool::unwind {

// Index of a Module in its ModuleMap; ids are never reused in a process.
using ModuleId = uint32_t;
inline constexpr ModuleId kNoModule = 0xffffffff;

struct Frame {
  uint64_t pc = 0;  // exact: the PC. Otherwise: the return address.
  ModuleId module = kNoModule;
  bool exact = false;    // leaf, or interrupted by a signal
  bool guessed = false;  // found without CFI (frame pointer, leaf heuristics)
  // How the step to the caller depends on memory; for StackMemo.
  static constexpr uint8_t kPlain = 1;     // by `fp_rule` and `step` alone
  static constexpr uint8_t kNeedsFp = 2;   // a CFA before FP is restored does
  static constexpr uint8_t kFpCounts = 4;  // the caller's FP: it needs it
  // The CFA is the word fp_slot() words below FP, the caller's FP the word at
  // it.
  static constexpr uint8_t kRealigned = 8;
  uint8_t step = 0;
  static constexpr uint8_t kUsesFp = 128;  // the CFA is relative to FP
  uint8_t fp_rule = 0;                     // kUsesFp and fp_slot()
  uint64_t sp = 0;
  uint64_t fp = 0;

  // k: FP is saved k words below the CFA; 0: kept
  constexpr uint8_t fp_slot() const { return fp_rule & (kUsesFp - 1); }
  constexpr bool uses_fp() const { return (fp_rule & kUsesFp) != 0; }
};
static_assert(sizeof(Frame) == 32);

// The address to look up CFI, symbols and lines with. Async-signal-safe.
constexpr uint64_t LookupPc(uint64_t pc, bool exact) {
  return exact ? pc : pc - 1;
}
constexpr uint64_t LookupPc(const Frame& frame) {
  return LookupPc(frame.pc, frame.exact);
}

// How a walk ended. Root, room and failure stay distinct everywhere; the names
// are those of the "[truncated: …]" pseudo-frames.
enum class WalkEnd : uint8_t {
  kRoot = 0,   // a program's or loader's entry, a thread or context start
  kDepth = 1,  // no room for more frames
  kNoCfi = 2,  // no unwind data for this PC, and nothing believable to guess
  kBadMemory = 3,   // a stack slot could not be read
  kLoop = 4,        // SP did not move up
  kBadCfi = 5,      // unwind data that is malformed or beyond the step limits
  kNoRegister = 6,  // the caller depends on a register that is not known
};
inline constexpr size_t kWalkEndCount = 7;

struct WalkResult {
  uint32_t depth = 0;  // frames, ≥ 1 if there was room for one
  WalkEnd end = WalkEnd::kRoot;
  uint64_t failed_pc = 0;  // the PC whose caller was not found; 0 for kRoot
  uint32_t same = 0;       // outer frames as in the last walk (StackMemo)
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_FRAME_H_
