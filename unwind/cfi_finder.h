// Finds the row for a PC in the unwind sources of one module, and says what it
// means for a walk.

#ifndef UNSPOOL_UNWIND_CFI_FINDER_H_
#define UNSPOOL_UNWIND_CFI_FINDER_H_

#include <cstdint>

#include "unwind/byte_source.h"
#include "unwind/cfi_answer.h"
#include "unwind/cfi_lookup.h"
#include "unwind/cfi_machine.h"
#include "unwind/elf_module.h"
#include "unwind/unwind_rule.h"

namespace unspool::unwind {

// What the last search found; memory that it works in. Not for a handler's
// stack (3 KiB).
template <class Arch>
struct CfiFinderState {
  CfiMachine<Arch> machine;
  Cie cie;
  Fde fde;
  uint64_t bias = 0;  // of the row's section
};

// Only programs and the loader have an entry: of other libraries, linkers have
// set e_entry to whatever comes first.
inline bool HasEntry(const Module& module) {
  return module.entry != 0 && (module.is_main || module.is_libc_or_loader);
}

// Does a row without a caller end a stack as it should? At the entry of a
// program or the loader, and where libc starts threads and contexts.
// Async-signal-safe.
inline bool IsRootFunction(const Module& module, const Fde& fde) {
  return module.is_libc_or_loader ||
         (HasEntry(module) && fde.Covers(module.entry));
}

// Does an FDE cover `pc`? Fills state->fde and cie. Async-signal-safe.
template <class Arch, ByteSource Source>
bool HasFde(Source& source, const LoadedModule& loaded, uint64_t pc,
            CfiFinderState<Arch>* state) {
  for (const UnwindSource& unwind_source : loaded.source_list()) {
    if (FindFde(source, unwind_source, pc, &state->cie, &state->fde) ==
        FdeLookup::kFound) {
      return true;
    }
  }
  return false;
}

// The same where no FDE covers `lookup_pc`. The loader's _start has none; it is
// recognized by its distance from e_entry. Where e_entry has one, what follows
// it is other code (crtstuff's, which has none). Async-signal-safe.
template <class Arch, ByteSource Source>
bool IsEntryWithoutCfi(Source& source, const LoadedModule& loaded,
                       uint64_t lookup_pc, CfiFinderState<Arch>* state) {
  constexpr uint64_t kMaxEntrySize = 128;
  const Module& module = loaded.module;
  return HasEntry(module) && lookup_pc - module.entry < kMaxEntrySize &&
         !HasFde(source, loaded, module.entry, state);
}

// Only functions that are left by __builtin_eh_return() save the registers in
// which a landing pad finds the exception. They keep their CFA on FP until they
// leave. Async-signal-safe.
template <class Arch>
Landing LandingOf(const CfiRow<Arch>& row) {
  for (const size_t number : Arch::kLandingRegisters) {
    if (row.registers[number].kind != RuleKind::kOffset) return Landing::kNone;
  }
  const bool is_on_fp = row.cfa.kind == CfaRule::Kind::kRegisterOffset &&
                        row.cfa.register_or_size == Arch::kFp;
  return is_on_fp ? Landing::kPossible : Landing::kDone;
}

// What the row found in `state` means. Async-signal-safe.
template <class Arch, ByteSource Source>
CfiAnswer<Arch> AnswerForRow(Source& source, const LoadedModule& loaded,
                             const CfiFinderState<Arch>& state) {
  using Kind = typename CfiAnswer<Arch>::Kind;
  const auto& row = state.machine.row();
  const uint64_t ra = state.cie.ra_register;
  CfiAnswer<Arch> answer;
  answer.kind = Kind::kRow;
  answer.is_signal_frame = state.cie.is_signal_frame;
  answer.landing = LandingOf(row);
  if (ra < Arch::kRegisterCount &&
      row.registers[ra].kind == RuleKind::kUndefined) {
    answer.kind = Kind::kRule;
    answer.rule = IsRootFunction(loaded.module, state.fde)
                      ? UnwindRule<Arch>::Root()
                      : UnwindRule<Arch>::NoCaller();
    return answer;
  }
  if (answer.is_signal_frame) return answer;
  auto rule = UnwindRule<Arch>::Compile(row, ra);
  if (!rule) {
    rule = UnwindRule<Arch>::CompileRealigned(row, ra, [&](AddressRange code) {
      return source.Window(code.address, code.size);
    });
  }
  if (rule) {
    answer.kind = Kind::kRule;
    answer.rule = *rule;
  }
  return answer;
}

// makecontext(3) makes the first function of a context return to the first
// instruction of __start_context, which no call does.
template <class Arch, ByteSource Source>
bool IsContextStart(Source& source, const LoadedModule& loaded, uint64_t pc,
                    CfiFinderState<Arch>* state) {
  return loaded.module.is_libc_or_loader && HasFde(source, loaded, pc, state) &&
         state->fde.pc_begin == pc && !state->cie.is_signal_frame;
}

// Answers for the frame {pc, exact} in `loaded`; fills `state`. For kRow the
// row is state->machine.row(), its expressions are read through `source`.
// Async-signal-safe.
template <class Arch, ByteSource Source>
CfiAnswer<Arch> FindCfi(Source& source, const LoadedModule& loaded, uint64_t pc,
                        bool exact, CfiFinderState<Arch>* state) {
  using Kind = typename CfiAnswer<Arch>::Kind;
  const uint64_t lookup_pc = LookupPc(pc, exact);
  CfiAnswer<Arch> answer;
  for (const UnwindSource& unwind_source : loaded.source_list()) {
    Cie& cie = state->cie;
    Fde& fde = state->fde;
    const FdeLookup lookup =
        FindFde(source, unwind_source, lookup_pc, &cie, &fde);
    if (lookup == FdeLookup::kNone) continue;
    answer.kind = Kind::kBad;
    if (lookup == FdeLookup::kBad ||
        !state->machine.FindRow(source, unwind_source.section, cie, fde,
                                lookup_pc)) {
      continue;
    }
    state->bias = unwind_source.section.bias;
    return AnswerForRow(source, loaded, *state);
  }
  if (answer.kind != Kind::kNone) return answer;
  const bool is_context_start =
      !exact && IsContextStart(source, loaded, pc, state);
  if (is_context_start || IsEntryWithoutCfi(source, loaded, lookup_pc, state)) {
    answer.kind = Kind::kRule;
    answer.rule = is_context_start ? UnwindRule<Arch>::ContextRoot()
                                   : UnwindRule<Arch>::Root();
  }
  return answer;
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_CFI_FINDER_H_
