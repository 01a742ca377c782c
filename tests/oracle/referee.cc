#include "tests/oracle/referee.h"

namespace unspool::oracle {
namespace {

bool IsRight(Verdict verdict) {
  return verdict == Verdict::kRight || verdict == Verdict::kGuessed;
}

}  // namespace

void Referee::AfterStep(const Thread& thread, bool has_left) {
  std::vector<Doubt>& doubts = doubts_[thread.tid];
  if (doubts.empty()) return;
  const bool is_elsewhere = has_left || thread.last_flow == Flow::kCall ||
                            thread.last_flow == Flow::kReturn;
  if (is_elsewhere) Settle(doubts, has_left ? &thread : nullptr);
}

void Referee::Add(const Thread& thread, Stack stack) {
  Doubt doubt = {std::move(stack), thread.Truth()};
  if (IsRight(Judge(doubt.stack, doubt.truth))) {
    tally_.Add(doubt.stack, doubt.truth, names_);
  } else {
    doubts_[thread.tid].push_back(std::move(doubt));
  }
}

// `landed`: where control has gone on; nullptr if it did so as it should.
void Referee::Settle(std::vector<Doubt>& doubts, const Thread* landed) {
  for (const Doubt& doubt : doubts) {
    std::vector<uint64_t> truth = doubt.truth;
    if (landed != nullptr) {
      truth = landed->Truth();
      truth.insert(truth.begin(), doubt.truth.front());
      // Verdicts are ordered, the best first.
      if (Judge(doubt.stack, truth) >= Judge(doubt.stack, doubt.truth)) {
        truth = doubt.truth;
      }
    }
    tally_.Add(doubt.stack, truth, names_);
  }
  doubts.clear();
}

void Referee::Finish() {
  for (auto& [tid, doubts] : doubts_) Settle(doubts, nullptr);
}

}  // namespace unspool::oracle
