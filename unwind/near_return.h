// Where the return address is, by the code itself, if a return is near: what
// moves SP until then says it, whatever unwind data says.
//
// Compilers write unwind data wrong in few places, nearly all of them in
// epilogues: where clang moves an instruction that adds to SP in front of the
// branch between two of them, the note of it stays behind. No value of SP and
// no return address tells that.
//
// Unlike ReturnSearch it needs no more than a few bytes of code, no memory, and
// gives up on whatever could make it wrong. Where it differs from unwind data
// it still may be: of code that pushes an address to return to, and says so.

#ifndef UNSPOOL_UNWIND_NEAR_RETURN_H_
#define UNSPOOL_UNWIND_NEAR_RETURN_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "unwind/instruction.h"

namespace unspool::unwind {

// A word at `base` + `offset`.
struct StackPlace {
  uint8_t base = 0;  // SP or FP
  int64_t offset = 0;

  bool operator==(const StackPlace&) const = default;
};

// One search. All members are async-signal-safe.
template <class Arch>
class NearReturn {
 public:
  // A return that begins further behind the PC is not near.
  static constexpr size_t kMaxDistance = 32;
  // What Find() wants to see from the PC on.
  static constexpr size_t kWindow = kMaxDistance + Arch::kWordSize;

  explicit NearReturn(std::span<const uint8_t> code) : code_(code) {}

  // The place of the return address of code that is about to execute the first
  // byte of what the constructor was given. nullopt: no return is near, or the
  // way there does what is not followed.
  std::optional<StackPlace> Find() {
    if (!Arch::Code::MayReturn(code_, kMaxDistance)) return std::nullopt;
    // Of a branch both sides lead to one place, as far as they can be followed.
    std::optional<StackPlace> found;
    while (way_count_ != 0) {
      way_ = ways_[--way_count_];
      if (!Follow()) continue;
      if (found && *found != way_.place) return std::nullopt;
      found = way_.place;
    }
    return has_more_ways_ ? std::nullopt : found;
  }

 private:
  using Kind = Instruction::Kind;

  static constexpr unsigned kMaxInstructions = 16;  // of one way
  static constexpr size_t kMaxWays = 4;             // still to be followed

  struct Way {
    size_t at = 0;                      // the next instruction
    StackPlace place = {Arch::kSp, 0};  // where SP points to
    bool has_fp = true;                 // FP is what it was
  };

  // To a return, over branches. False if there is none, or not this way.
  bool Follow() {
    for (unsigned i = 0; i < kMaxInstructions && way_.at < code_.size(); ++i) {
      const Instruction now = Arch::Code::Decode(code_.subspan(way_.at));
      way_.at += now.size;
      switch (now.kind) {
        case Kind::kReturn:
          // What was pushed on the way is no return address.
          return way_.place.base != Arch::kSp || way_.place.offset >= 0;
        case Kind::kJumpByMemory:
          // A call in place of the return, if an epilogue precedes it.
          return way_.place.base != Arch::kSp || way_.place.offset > 0;
        case Kind::kBranch:
          if (now.value > 0) AddWay(static_cast<size_t>(now.value));
          break;
        case Kind::kJump:
          if (now.value <= 0) return false;
          way_.at += static_cast<size_t>(now.value);
          break;
        default:
          if (!Execute(now)) return false;
          break;
      }
    }
    return false;
  }

  // The other side of a branch, `distance` further on.
  void AddWay(size_t distance) {
    has_more_ways_ = has_more_ways_ || way_count_ == kMaxWays;
    if (has_more_ways_) return;
    Way& way = ways_[way_count_++];
    way = way_;
    way.at += distance;
  }

  // False: what it does to SP is not followed, or it may not go on.
  bool Execute(const Instruction& now) {
    constexpr int64_t kWord = Arch::kWordSize;
    switch (now.kind) {
      case Kind::kPush:
        way_.place.offset -= kWord;
        return true;
      case Kind::kPop:
        way_.place.offset += kWord;
        return now.reg != Instruction::kNoRegister && Overwrite(now.reg);
      case Kind::kAdd:
        if (now.reg != Arch::kSp) return Overwrite(now.reg);
        way_.place.offset += now.value;
        return true;
      case Kind::kMove:
      case Kind::kAddress:
        return now.reg == Arch::kSp ? Point(now.base, now.value)
                                    : Overwrite(now.reg);
      case Kind::kLeave:
        if (!Point(Arch::kFp, kWord)) return false;
        return Overwrite(Arch::kFp);
      case Kind::kAnd:
      case Kind::kLoad:
        return Overwrite(now.reg);
      case Kind::kStore:
        // Perhaps over the return address: a return that is a jump.
        return now.base != Arch::kSp && now.base != Arch::kFp;
      case Kind::kOther:
        if ((now.writes >> Arch::kFp & 1) != 0) way_.has_fp = false;
        return now.size != 0;
      default:
        return false;
    }
  }

  // SP = base + offset. False: `base` is not known.
  bool Point(uint8_t base, int64_t offset) {
    if (base == Arch::kSp) {
      way_.place.offset += offset;
      return true;
    }
    way_.place = {Arch::kFp, offset};
    return base == Arch::kFp && way_.has_fp;
  }

  // `reg` gets a value that is not followed. False: then SP is not known.
  bool Overwrite(uint8_t reg) {
    if (reg == Arch::kFp) way_.has_fp = false;
    return reg != Arch::kSp;
  }

  std::span<const uint8_t> code_;
  Way way_;
  std::array<Way, kMaxWays> ways_;
  size_t way_count_ = 1;
  bool has_more_ways_ = false;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_NEAR_RETURN_H_
