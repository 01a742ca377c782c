// The caller of a frame that no unwind data covers: what the code itself does
// until it returns (return_search.h), the word at SP, or a frame pointer, if
// the return address that they lead to is believable. And of one about which
// unwind data is wrong (near_return.h).

#ifndef UNSPOOL_UNWIND_CALLER_GUESS_H_
#define UNSPOOL_UNWIND_CALLER_GUESS_H_

#include <cstddef>
#include <cstdint>

#include "unwind/call_site.h"
#include "unwind/code_reader.h"
#include "unwind/dwarf_expression.h"
#include "unwind/frame.h"
#include "unwind/return_search.h"
#include "unwind/unwind_rule.h"

namespace unspool::unwind {

// For one walk. All members are async-signal-safe if Memory's and Cfi's are.
template <class Arch, MemoryReader Memory, class Cfi>
class CallerGuess {
 public:
  using Registers = typename Arch::Registers;

  CallerGuess(Memory& memory, Cfi& cfi, FollowedCode<Arch>& followed)
      : memory_(memory), code_(memory), cfi_(cfi), followed_(followed) {}

  // Gives the caller's registers of `frame`, which has the registers `now`.
  // False: there is nothing to believe. `is_hopeless`: its code was followed
  // before, and led nowhere (UnwindRule::NoWay()). Changes what `cfi` answered
  // last, and tells it what was learnt.
  bool Find(const Frame& frame, const Registers& now, bool is_hopeless,
            Registers* up) {
    // Code that was made at run time mostly has frame pointers, and what is
    // learnt of it may be wrong at the next sample.
    const bool prefers_fp = frame.module == kNoModule && !frame.exact;
    if (prefers_fp && FindByFramePointer(frame, now, up)) return true;
    if (!is_hopeless && FindByCode(frame, now, up)) return true;
    if (frame.exact) {
      const unsigned failed_reads = code_.failed_reads();
      if (FindByStackTop(frame, now, up)) return true;
      // The return address may be where nothing could be read, or of a call to
      // a function that jumped here. Then FP is the caller's, and following it
      // would skip the caller.
      if (code_.failed_reads() != failed_reads || HasReturnAddress(now)) {
        return false;
      }
    }
    // What cannot be executed has not set up a frame: FP is its caller's.
    return code_.IsReadable(LookupPc(frame)) &&
           FindByFramePointer(frame, now, up);
  }

  // `frame` was interrupted, and has the registers `now`; `rule`, a step that
  // is new, gives *up. If it is about to return, and its code says that the
  // return address is elsewhere: true, and *up is the code's, a guess.
  // What it says of other registers is relative to the CFA, and stands. Tells
  // `cfi` which rule holds.
  [[gnu::noinline]] bool Overrules(const Frame& frame,
                                   const UnwindRule<Arch>& rule,
                                   const Registers& now, Registers* up) {
    const auto place = code_.FindNearReturn(frame.pc);
    const int64_t offset = place ? place->offset - Arch::kRaOffset : 0;
    if (!place || !now.Has(place->base) ||
        now.Get(place->base) + static_cast<uint64_t>(offset) == up->sp()) {
      cfi_.Learn(LookupPc(frame), rule);
      return false;
    }
    Registers caller;
    const auto right = rule.WithCfa(place->base, offset);
    if (!right || right->Apply(now, memory_, &caller) != StepStatus::kOk ||
        !code_.FollowsCall(caller.pc())) {
      return false;
    }
    *up = caller;
    cfi_.Learn(LookupPc(frame), *right);
    return true;
  }

 private:
  // How far behind its target a direct call's function may reach.
  static constexpr uint64_t kMaxFunctionSize = 1 << 20;
  static constexpr uint64_t kMaxFrameSize = 1 << 20;
  // Instructions that a walk may look at to find callers.
  static constexpr unsigned kMaxCodeSteps = 2000;
  // Code that was made at run time is in no module; to take a word for its
  // address more must speak for it.
  enum class MayBe : uint8_t { kInModules, kOutsideOfModules };

  // The way to a return is a better witness than what is called: code like this
  // is often jumped to by what was called. Not inlined: its stack would be
  // every walk's.
  [[gnu::noinline]] bool FindByCode(const Frame& frame, const Registers& now,
                                    Registers* up) {
    const bool is_whole = code_steps_left_ == kMaxCodeSteps;
    ReturnSearch<Arch, Memory, Cfi> search(memory_, cfi_, followed_);
    if (!search.Find(frame.pc, now, &code_steps_left_, up)) {
      // Not to be tried in vain again, if it was tried with all that we have.
      if (is_whole && !search.has_failed_reads()) {
        cfi_.Learn(LookupPc(frame), UnwindRule<Arch>::NoWay());
      }
      return false;
    }
    // What is there this time may be where a context begins.
    if (!code_.FollowsCall(up->pc())) {
      return false;
    }
    if (const auto rule = search.rule()) cfi_.Learn(LookupPc(frame), *rule);
    return true;
  }

  // A leaf that has pushed nothing, a function's first instruction, and what a
  // call through a bad pointer ended at, have their return address at SP.
  bool FindByStackTop(const Frame& frame, const Registers& now, Registers* up) {
    uint64_t ra = 0;
    if (now.sp() % Arch::kWordSize != 0 ||
        !code_.Read(now.sp(), Arch::kWordSize, &ra) ||
        !IsCallerOf(frame, ra, MayBe::kInModules)) {
      return false;
    }
    *up = now;
    up->Keep(Arch::kCalleeSavedMask);
    up->Set(Arch::kRa, ra);
    up->Set(Arch::kSp, now.sp() + Arch::kWordSize);
    return true;
  }

  // Is the word at SP behind a call, of whatever function?
  bool HasReturnAddress(const Registers& now) {
    uint64_t ra = 0;
    return code_.Read(now.sp(), Arch::kWordSize, &ra) && cfi_.IsCode(ra - 1) &&
           code_.FollowsCall(ra);
  }

  // FP points to the caller's FP, above which is the return address. What else
  // the function has saved is not known.
  bool FindByFramePointer(const Frame& frame, const Registers& now,
                          Registers* up) {
    const uint64_t fp = now.fp();
    uint64_t caller_fp = 0;
    uint64_t ra = 0;
    if (!now.Has(Arch::kFp) || fp < now.sp() || fp % Arch::kWordSize != 0 ||
        !code_.Read(fp, Arch::kWordSize, &caller_fp) ||
        !code_.Read(fp + Arch::kWordSize, Arch::kWordSize, &ra)) {
      return false;
    }
    const bool is_chain = caller_fp > fp && caller_fp - fp < kMaxFrameSize &&
                          caller_fp % Arch::kWordSize == 0;
    if (!IsCallerOf(frame, ra,
                    is_chain ? MayBe::kOutsideOfModules : MayBe::kInModules)) {
      return false;
    }
    *up = Registers();
    up->Set(Arch::kFp, caller_fp);
    up->Set(Arch::kRa, ra);
    up->Set(Arch::kSp, fp + 2 * Arch::kWordSize);
    return true;
  }

  // Could `ra` be where `frame` returns to? It must follow a call. A direct one
  // must aim at this function, at a stub that jumps to such code, or, where the
  // frame pointers speak for it, at other code without unwind data, which may
  // have jumped here: what has unwind data is another function, as this one has
  // none.
  bool IsCallerOf(const Frame& frame, uint64_t ra, MayBe place) {
    if (place == MayBe::kInModules && !cfi_.IsCode(ra - 1)) return false;
    const CallSite call = code_.FindCallBefore(ra);
    if (call.kind != CallSite::Kind::kDirect) {
      return call.kind == CallSite::Kind::kIndirect;
    }
    if (code_.IsJumpStub(call.target)) {
      const uint64_t function = code_.FollowStub(call.target);
      return function == 0 || cfi_.FindFunction(function) != function;
    }
    return (place == MayBe::kOutsideOfModules ||
            LookupPc(frame) - call.target < kMaxFunctionSize) &&
           cfi_.FindFunction(call.target) == 0;
  }

  Memory& memory_;
  CodeReader<Arch, Memory> code_;
  Cfi& cfi_;
  FollowedCode<Arch>& followed_;
  unsigned code_steps_left_ = kMaxCodeSteps;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_CALLER_GUESS_H_
