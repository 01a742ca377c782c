#include "tests/oracle/shadow_stack.h"

#include <utility>

namespace unspool::oracle {

bool ShadowStack::Step(Place before, Flow flow, Place after,
                       const ReadWord& read) {
  switch (flow) {
    case Flow::kCall: {
      const bool has_left = GoTo(before.sp);
      frames_.push_back({read(after.sp), after.sp});
      return has_left;
    }
    case Flow::kReturn:
      return Return(before, after, read);
    case Flow::kIndirectJump:
      return GoTo(before.sp);
    case Flow::kOther:
    case Flow::kSystemCall:
      return false;
  }
  return false;
}

bool ShadowStack::Return(Place before, Place after, const ReadWord& read) {
  const bool was_empty = frames_.empty();
  bool has_left = GoTo(before.sp);
  if (!frames_.empty() && frames_.back().slot == before.sp) {
    has_left |= frames_.back().pc != after.pc;
    frames_.pop_back();
    return has_left;
  }
  // Not by its own call: the address was put there, to be jumped to.
  if (!was_empty && frames_.empty()) {
    frames_.push_back({read(after.sp), after.sp});
  }
  return has_left;
}

// Makes frames_ what it is for code at `sp`. False if it was that already.
bool ShadowStack::GoTo(uint64_t sp) {
  if (frames_.empty() && other_stacks_.empty()) return false;
  if (!frames_.empty() && IsNear(frames_.back(), sp)) return false;
  std::vector<ShadowFrame>* nearest = nullptr;
  size_t depth = 0;
  const auto search = [&](std::vector<ShadowFrame>& stack) {
    for (size_t i = 0; i < stack.size(); ++i) {
      // Interrupted frames are gone if control leaves their handler.
      if (stack[i].exact || !IsNear(stack[i], sp)) continue;
      if (nearest != nullptr && (*nearest)[depth - 1].slot <= stack[i].slot) {
        continue;
      }
      nearest = &stack;
      depth = i + 1;
    }
  };
  search(frames_);
  for (auto& stack : other_stacks_) search(stack);
  if (nearest == &frames_) {
    frames_.resize(depth);
    return true;
  }
  if (nearest != nullptr) {
    nearest->resize(depth);
    std::swap(frames_, *nearest);
    return true;
  }
  if (frames_.empty()) return false;
  other_stacks_.push_back(std::exchange(frames_, {}));
  return true;
}

void ShadowStack::Interrupt(Place interrupted, Place handler,
                            uint64_t trampoline) {
  frames_.push_back({interrupted.pc, interrupted.sp, /*exact=*/true});
  frames_.push_back({trampoline, handler.sp});
}

bool ShadowStack::EndInterrupt(Place after, const ReadWord& read) {
  if (!frames_.empty() && frames_.back().exact) {
    const ShadowFrame interrupted = frames_.back();
    frames_.pop_back();
    if (interrupted.pc == after.pc && interrupted.slot == after.sp) {
      return false;
    }
  }
  // The handler has changed where to go on.
  return Step(after, Flow::kIndirectJump, after, read);
}

}  // namespace unspool::oracle
