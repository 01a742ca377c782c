// Plain steps by known rules, one after another: most frames of most walks.
//
// StepPlain() for all that it may meet, this for what it nearly always meets:
// return addresses in one module, a known FP, and words that plain loads may
// read. Where anything else comes, the run ends in front of it. What a step
// costs then is little more than its loads, which wait for each other no longer
// than an addition takes as long as links lead to the rules (rule_cache.h).

#ifndef UNSPOOL_UNWIND_PLAIN_RUN_H_
#define UNSPOOL_UNWIND_PLAIN_RUN_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/arch/arch.h"
#include "unwind/frame.h"
#include "unwind/module.h"
#include "unwind/plain_step.h"
#include "unwind/rule_cache.h"
#include "unwind/self_memory.h"
#include "unwind/unwind_rule.h"

namespace unspool::unwind {

static_assert(UnwindRule<NativeArch>::kFreeBits == RuleCache::kLinkBits);

// From `*position`, a return address with a known FP, as far as `frames` and
// `code`, the range of `module`, reach. Gives how many frames of them it wrote.
// Async-signal-safe.
[[gnu::always_inline]] inline size_t RunPlain(
    const SelfMemory& memory, RuleCache::Trail* rules, ModuleId module,
    AddressRange code, Position* position, std::span<Frame> frames) {
  using Arch = NativeArch;
  const uint64_t low = position->sp;
  const uint64_t room = memory.plain_words_from(low);
  const uint64_t salt = RuleCache::Salt(module);
  RuleCache::Trail trail = *rules;
  // Field by field: copies of what was just written so stall the processor for
  // longer than steps take.
  uint64_t pc = position->pc;
  uint64_t sp = low;
  uint64_t fp = position->fp;
  const uint64_t first_pc = code.address + 1;
  Frame* frame = frames.data();
  Frame* const end = frame + frames.size();
  for (; frame != end; ++frame) {
    if (pc - first_pc >= code.size) break;
    const uint64_t lookup_pc = LookupPc(pc, /*exact=*/false);
    const auto rule = UnwindRule<Arch>::FromWord(trail.Next(lookup_pc, salt));
    if (!rule.is_plain()) break;
    const uint64_t cfa = (rule.uses_fp() ? fp : sp) + rule.cfa_offset();
    // Of one that keeps FP this is the word at the CFA.
    const uint64_t fp_place = cfa - rule.fp_slot() * Arch::kWordSize;
    if (cfa <= sp || cfa - low >= room || fp_place < low ||
        cfa % Arch::kSpAlignment != 0) {
      break;
    }
    frame->pc = pc;
    frame->module = module;
    frame->exact = false;
    frame->guessed = false;
    frame->step = Frame::kPlain;
    frame->fp_rule = rule.fp_rule();
    frame->sp = sp;
    frame->fp = fp;
    const uint64_t saved_fp = SelfMemory::LoadPlain(fp_place);
    pc = SelfMemory::LoadPlain(cfa + static_cast<uint64_t>(Arch::kRaOffset));
    sp = cfa;
    if (rule.fp_slot() != 0) fp = saved_fp;
  }
  position->pc = pc;
  position->sp = sp;
  position->fp = fp;
  *rules = trail;
  return static_cast<size_t>(frame - frames.data());
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_PLAIN_RUN_H_
