// Finds the caller of code that no unwind data covers by following the code
// itself, from the PC to a return: what it does to SP on the way says where the
// return address is, and what it pops, which registers it had saved.
//
// Of a branch one side will do, as functions return with the same SP on all
// ways: first on, past all branches; if that does not end (a loop that is left
// by a branch), again with the last forward branch taken, then the one before.
// Values are followed as far as they matter: constants added, moves, and loads
// from and stores to the stack. Calls are taken to keep what the ABI says.
//
// What is found is a guess, to be checked: the code may be data.

#ifndef UNSPOOL_UNWIND_RETURN_SEARCH_H_
#define UNSPOOL_UNWIND_RETURN_SEARCH_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "unwind/code_reader.h"
#include "unwind/dwarf_expression.h"
#include "unwind/instruction.h"
#include "unwind/unwind_rule.h"

namespace unspool::unwind {

// What is known of the code that is being followed: too much for the stack of a
// handler.
template <class Arch>
struct FollowedCode {
  // A register's value, or a word's that was stored on the way.
  struct Value {
    static constexpr uint8_t kNoBase = 0xff;

    uint64_t value = 0;
    uint64_t slot = 0;       // it was loaded from there; 0: it was not
    uint8_t base = kNoBase;  // it is that register's at the start, plus what
                             // was added; nothing if that is unknown
    bool is_known = false;
  };

  struct Store {
    uint64_t address;
    Value value;
  };

  // Between two jumps.
  struct Piece {
    uint64_t begin;
    uint64_t end;
  };

  std::array<Value, Arch::kRa> values;  // of the registers before the PC
  std::array<Store, 16> stores;
  std::array<Piece, 16> pieces;
};

// One search. All members are async-signal-safe if Memory's and Cfi's are.
template <class Arch, MemoryReader Memory, class Cfi>
class ReturnSearch {
 public:
  using Registers = typename Arch::Registers;

  // Works in `state`, whatever is in it.
  ReturnSearch(Memory& memory, Cfi& cfi, FollowedCode<Arch>& state)
      : memory_(memory),
        code_(memory),
        cfi_(cfi),
        values_(state.values),
        stores_(state.stores),
        pieces_(state.pieces) {}

  // Gives the caller's registers for code that is about to execute at `pc` with
  // the registers `now`; of those that the function has saved, the caller's
  // values. False: no way to a return was found within `*steps` instructions,
  // from which those that were followed are subtracted. Changes what `cfi`
  // answered last.
  bool Find(uint64_t pc, const Registers& now, unsigned* steps,
            Registers* caller) {
    start_ = &now;
    steps_left_ = *steps;
    const bool found = FindByRuns(pc, now);
    *steps = steps_left_;
    return found && Finish(caller);
  }

  // Where code could not be read, another search may find a way.
  bool has_failed_reads() const { return code_.failed_reads() != 0; }

  // What was found as a rule, if it depends on SP or FP alone.
  std::optional<UnwindRule<Arch>> rule() const {
    const Value& sp = values_[Arch::kSp];
    if (!found_ || sp.base == Value::kNoBase) return std::nullopt;
    std::array<uint64_t, Arch::kCalleeSaved.size()> slots{};
    for (size_t i = 0; i < slots.size(); ++i) {
      const uint8_t reg = Arch::kCalleeSaved[i];
      const Value& value = values_[reg];
      if (IsKept(reg)) continue;
      if (value.slot == 0) return std::nullopt;
      slots[i] = (cfa_ - value.slot) / Arch::kWordSize;
      if (slots[i] == 0 || value.slot % Arch::kWordSize != 0) {
        return std::nullopt;
      }
    }
    return UnwindRule<Arch>::Guess(sp.base, cfa_ - start_->Get(sp.base), slots);
  }

 private:
  using Value = typename FollowedCode<Arch>::Value;

  static constexpr unsigned kMaxRuns = 6;
  // A jump to another page may cost a system call: it counts as so many.
  static constexpr unsigned kJumpSteps = 16;

  bool FindByRuns(uint64_t pc, const Registers& now) {
    for (unsigned run = 0; run < kMaxRuns && steps_left_ != 0; ++run) {
      // Its last forward branches are the ones to be taken in later runs.
      if (run == 1) branches_ = forward_branches_;
      if (run > branches_) break;
      taken_branch_ = branches_ - run;  // of run 0: none
      Begin(now);
      if (Follow(pc, /*takes_branch=*/run != 0)) return true;
    }
    return false;
  }

  void Begin(const Registers& now) {
    for (size_t i = 0; i < values_.size(); ++i) {
      values_[i] = {now.Get(i), 0, static_cast<uint8_t>(i), now.Has(i)};
    }
    store_count_ = 0;
    piece_count_ = 0;
    forward_branches_ = 0;
  }

  bool IsKept(uint8_t reg) const {
    const Value& value = values_[reg];
    return value.base == reg && value.value == start_->Get(reg);
  }

  uint64_t sp() const { return values_[Arch::kSp].value; }

  // To a return. False if there is none this way.
  bool Follow(uint64_t pc, bool takes_branch) {
    uint64_t begin = pc;  // of this piece
    for (; steps_left_ != 0; --steps_left_) {
      if (!values_[Arch::kSp].is_known) return false;
      const Instruction now = code_.ReadInstruction(pc);
      const uint64_t end = pc + now.size;
      uint64_t target = end + static_cast<uint64_t>(now.value);
      switch (now.kind) {
        case Instruction::Kind::kReturn:
        case Instruction::Kind::kJumpByMemory:
          // The latter is a stub, or a call in place of the return.
          return true;
        case Instruction::Kind::kBranch:
          pc = end;
          if (now.value <= 0 || ++forward_branches_ != taken_branch_ + 1 ||
              !takes_branch) {
            continue;
          }
          break;
        case Instruction::Kind::kJumpToRegister:
          if (!values_[now.reg].is_known) return false;
          target = values_[now.reg].value;
          pc = end;
          break;
        case Instruction::Kind::kJump:
          if (cfi_.FindFunction(target) == target) return true;  // called
          pc = end;
          break;
        case Instruction::Kind::kUnknown:
        case Instruction::Kind::kTrap:
          return false;
        default:
          if (!Execute(now)) return false;
          pc = end;
          continue;
      }
      if (!EndPiece(begin, pc) || WasSeen(target)) return false;
      pc = begin = target;
      steps_left_ = steps_left_ > kJumpSteps ? steps_left_ - kJumpSteps : 1;
    }
    return false;
  }

  // Code that was followed, from one jump's target to the next jump. False: no
  // room for more.
  bool EndPiece(uint64_t begin, uint64_t end) {
    if (piece_count_ == pieces_.size()) return false;
    pieces_[piece_count_++] = {begin, end};
    return true;
  }

  // To go there would be a loop.
  bool WasSeen(uint64_t pc) const {
    for (size_t i = 0; i < piece_count_; ++i) {
      if (pc >= pieces_[i].begin && pc < pieces_[i].end) return true;
    }
    return false;
  }

  // False: more stores than there is room for.
  bool Execute(const Instruction& now) {
    switch (now.kind) {
      case Instruction::Kind::kPush:
        MoveSp(-static_cast<int64_t>(Arch::kWordSize));
        return StoreAt(sp(), now.reg);
      case Instruction::Kind::kPop:
        if (now.reg != Instruction::kNoRegister) LoadFrom(sp(), now.reg);
        if (now.reg != Arch::kSp) MoveSp(Arch::kWordSize);
        return true;
      case Instruction::Kind::kAdd:
        Add(&values_[now.reg], now.value);
        return true;
      case Instruction::Kind::kAnd: {
        Value& value = values_[now.reg];
        value = {value.value & static_cast<uint64_t>(now.value), 0,
                 Value::kNoBase, value.is_known};
        return true;
      }
      case Instruction::Kind::kMove:
        values_[now.reg] = values_[now.base];
        return true;
      case Instruction::Kind::kAddress:
        values_[now.reg] = values_[now.base];
        Add(&values_[now.reg], now.value);
        return true;
      case Instruction::Kind::kLoad:
        Load(now);
        return true;
      case Instruction::Kind::kStore:
        return !values_[now.base].is_known ||
               StoreAt(
                   values_[now.base].value + static_cast<uint64_t>(now.value),
                   now.reg);
      case Instruction::Kind::kLeave:
        values_[Arch::kSp] = values_[Arch::kFp];
        LoadFrom(sp(), Arch::kFp);
        MoveSp(Arch::kWordSize);
        return true;
      case Instruction::Kind::kCall:
        Forget(~(Arch::kCalleeSavedMask | 1u << Arch::kSp));
        return true;
      default:
        Forget(now.writes);
        return true;
    }
  }

  void MoveSp(int64_t offset) { Add(&values_[Arch::kSp], offset); }

  static void Add(Value* value, int64_t offset) {
    if (!value->is_known) *value = {};
    value->value += static_cast<uint64_t>(offset);
    value->slot = 0;
  }

  void Forget(uint32_t registers) {
    for (size_t i = 0; i < values_.size(); ++i) {
      if ((registers >> i & 1) != 0) values_[i] = {};
    }
  }

  void Load(const Instruction& now) {
    const Value& base = values_[now.base];
    if (!base.is_known) {
      values_[now.reg] = {};
      return;
    }
    LoadFrom(base.value + static_cast<uint64_t>(now.value), now.reg);
  }

  // The value that the word has when the code gets there: what it stored on the
  // way, or what is there now.
  void LoadFrom(uint64_t address, uint8_t reg) {
    for (size_t i = 0; i < store_count_; ++i) {
      if (stores_[i].address == address) {
        values_[reg] = stores_[i].value;
        return;
      }
    }
    Value value;
    value.slot = address;
    // Other memory than the stack's the code may change, and nobody saves
    // registers there.
    if (address - start_->sp() >= kMaxStackBytes ||
        !memory_.Read(address, Arch::kWordSize, &value.value)) {
      values_[reg] = {};
      return;
    }
    value.is_known = true;
    values_[reg] = value;
  }

  bool StoreAt(uint64_t address, uint8_t reg) {
    if (address - start_->sp() + kMaxStackBytes >= 2 * kMaxStackBytes) {
      return true;  // not on the stack
    }
    const Value value =
        reg == Instruction::kNoRegister ? Value{} : values_[reg];
    size_t i = 0;
    while (i < store_count_ && stores_[i].address != address) ++i;
    if (i == stores_.size()) return false;
    stores_[i] = {address, value};
    if (i == store_count_) ++store_count_;
    return true;
  }

  bool Finish(Registers* caller) {
    const uint64_t ra_slot = sp();
    cfa_ = ra_slot + Arch::kWordSize;
    uint64_t ra = 0;
    if (cfa_ <= start_->sp() || ra_slot % Arch::kWordSize != 0 ||
        IsStored(ra_slot) || !code_.Read(ra_slot, Arch::kWordSize, &ra)) {
      return false;
    }
    MoveSp(Arch::kWordSize);
    *caller = Registers();
    for (const uint8_t reg : Arch::kCalleeSaved) {
      const Value& value = values_[reg];
      if (value.is_known) caller->Set(reg, value.value);
    }
    caller->Set(Arch::kRa, ra);
    caller->Set(Arch::kSp, cfa_);
    found_ = true;
    return true;
  }

  // Pushed on the way: a return that is a jump.
  bool IsStored(uint64_t address) const {
    for (size_t i = 0; i < store_count_; ++i) {
      if (stores_[i].address == address) return true;
    }
    return false;
  }

  static constexpr uint64_t kMaxStackBytes = 1 << 20;

  Memory& memory_;
  CodeReader<Arch, Memory> code_;
  Cfi& cfi_;
  const Registers* start_ = nullptr;
  decltype(FollowedCode<Arch>::values)& values_;
  decltype(FollowedCode<Arch>::stores)& stores_;
  size_t store_count_ = 0;
  decltype(FollowedCode<Arch>::pieces)& pieces_;
  size_t piece_count_ = 0;
  unsigned steps_left_ = 0;
  unsigned forward_branches_ = 0;  // met in this run
  unsigned branches_ = 0;          // met in the first
  unsigned taken_branch_ = 0;
  uint64_t cfa_ = 0;
  bool found_ = false;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_RETURN_SEARCH_H_
