#include "unwind/self_cfi.h"

#include "unwind/cfi_finder.h"
#include "unwind/row_step.h"

namespace unspool::unwind {

[[gnu::hot]] void SelfCfi::MoveTo(uint64_t pc) {
  // Callers are mostly in the module of their callees.
  if (IsIn(place_, pc)) return;
  place_.id = state_.modules.Find(pc);
  place_.module = state_.modules.Get(place_.id);
  if (place_.module == nullptr) {
    const auto found = state_.later_modules.Find(pc, scratch_);
    place_.module = found.module;
    place_.id = found.id;
  }
  if (place_.module == nullptr) {
    place_ = {};
    return;
  }
  place_.start = place_.module->module.start;
  place_.size = place_.module->module.end - place_.start;
}

[[gnu::hot]] SelfCfi::Place SelfCfi::FindPlace(uint64_t pc) {
  if (IsIn(place_, pc)) return place_;
  const Place before = place_;
  MoveTo(pc);
  const Place place = place_;
  place_ = before;
  return place;
}

SelfCfi::Answer SelfCfi::Find(uint64_t pc, bool exact) {
  const uint64_t lookup_pc = LookupPc(pc, exact);
  MoveTo(lookup_pc);
  if (place_.module == nullptr) return FindRegistered(pc, exact);
  Answer answer;
  const uint64_t word = state_.rules.Find(lookup_pc, place_.id);
  if (word != 0 && trusts_cache_) {
    ++scratch_.counters.rule_hits;
    answer.kind = Answer::Kind::kRule;
    answer.rule = UnwindRule<NativeArch>::FromWord(word);
  } else {
    ++scratch_.counters.rule_misses;
    answer = FindInModule(pc, exact);
    answer.is_new = true;
    if (word != 0 && Contradicts(answer, word)) ++scratch_.counters.wrong_rules;
    if (answer.kind == Answer::Kind::kRow) ++scratch_.counters.rows;
  }
  answer.module = place_.id;
  return answer;
}

[[gnu::hot]] UnwindRule<NativeArch> SelfCfi::FindUsual(uint64_t lookup_pc) {
  MoveTo(lookup_pc);
  if (place_.module == nullptr || IsLater(place_) || !trusts_cache_) return {};
  const auto rule = FindUsualRule(*place_.module, lookup_pc,
                                  scratch_.usual_cies, &scratch_.cfi);
  scratch_.counters.rule_misses += rule.word() != 0 ? 1 : 0;
  return rule;
}

// What could not be looked up, because a module went away, contradicts nothing;
// nor does unwind data that the code had contradicted.
bool SelfCfi::Contradicts(const Answer& answer, uint64_t cached_word) {
  if (UnwindRule<NativeArch>::FromWord(cached_word).is_guess()) return false;
  if (answer.kind == Answer::Kind::kRow) return true;
  return answer.kind == Answer::Kind::kRule &&
         answer.rule.word() != cached_word;
}

SelfCfi::Answer SelfCfi::FindInModule(uint64_t pc, bool exact) {
  if (!IsLater(place_)) {
    MappedSource source(*place_.module);
    return FindCfi(source, *place_.module, pc, exact, &scratch_.cfi);
  }
  CopiedSource source(*place_.module, scratch_.window);
  const Answer answer =
      FindCfi(source, *place_.module, pc, exact, &scratch_.cfi);
  if (IsStillThere()) return answer;
  ++scratch_.counters.gone_modules;
  return {};
}

// Not cached: code comes and goes without our being told, at the same places.
SelfCfi::Answer SelfCfi::FindRegistered(uint64_t pc, bool exact) {
  const uint64_t lookup_pc = LookupPc(pc, exact);
  Answer answer;
  frames_ = 0;
  if (!state_.jit_objects.Register(lookup_pc, registered_, scratch_)) {
    return answer;
  }
  frames_ = registered_.FindFrames(lookup_pc, &scratch_.registered);
  if (frames_ != 0) {
    place_ = {&scratch_.registered, kNoModule};
    answer = FindInModule(pc, exact);
  }
  answer.module = registered_.FindCode(lookup_pc);
  return answer;
}

// What was copied last may be believed.
bool SelfCfi::IsStillThere() {
  if (place_.module == &scratch_.registered) {
    return registered_.IsThere(frames_);
  }
  return state_.later_modules.IsStillThere(place_.id, scratch_);
}

StepStatus SelfCfi::ApplyRow(const Registers& frame, SelfMemory& memory,
                             Registers* caller) {
  const auto& cfi = scratch_.cfi;
  const auto& row = cfi.machine.row();
  if (!IsLater(place_)) {
    MappedSource source(*place_.module);
    RowStep<NativeArch, SelfMemory, MappedSource> step(frame, memory, source,
                                                       cfi.bias);
    return step.Apply(row, cfi.cie.ra_register, caller);
  }
  CopiedSource source(*place_.module, scratch_.window);
  RowStep<NativeArch, SelfMemory, CopiedSource> step(frame, memory, source,
                                                     cfi.bias);
  const StepStatus status = step.Apply(row, cfi.cie.ra_register, caller);
  if (IsStillThere()) return status;
  ++scratch_.counters.gone_modules;
  return StepStatus::kBadCfi;
}

uint64_t SelfCfi::FindFunction(uint64_t lookup_pc) {
  MoveTo(lookup_pc);
  if (place_.module == nullptr) return 0;
  scratch_.cfi.fde = {};
  FindInModule(lookup_pc, /*exact=*/true);
  const Fde& fde = scratch_.cfi.fde;
  return fde.Covers(lookup_pc) ? fde.pc_begin : 0;
}

// Code in no module may be other code at the next sample; what was guessed in a
// later module, because reading its unwind data failed this time.
[[gnu::hot]] void SelfCfi::Learn(uint64_t lookup_pc,
                                 UnwindRule<NativeArch> rule) {
  if (rule.word() == 0) return;
  const ModuleId id = FindPlace(lookup_pc).id;
  if (id < state_.modules.count() || (id != kNoModule && !rule.is_guess())) {
    state_.rules.Insert(lookup_pc, id, rule.word());
  }
}

bool SelfCfi::IsCode(uint64_t address) {
  const Place place = FindPlace(address);
  if (place.module == nullptr) {
    return registered_.FindCode(address) != kNoModule;
  }
  return place.module->IsCode(address);
}

}  // namespace unspool::unwind
