#include "collectors/spool/spool_view.h"

#include <algorithm>
#include <cstring>

#include "collectors/spool/varint.h"

namespace unspool::collectors {

TextView ImageView::Name() const {
  if (comm[0] != '\0') return {comm.data(), strlen(comm.data())};
  const auto slash = std::find(executable.rbegin(), executable.rend(), '/');
  const TextView name = executable.last(slash - executable.rbegin());
  return name.first(std::min(name.size(), comm.size() - 1));
}

bool ArchivedCounters::Next(ArchivedCounter* next) {
  uint64_t distance = 0;
  uint64_t bits = 0;
  uint64_t offset = 0;
  if (left_ == 0 || !DecodeVarint(&bytes_, &distance) ||
      !DecodeVarint(&bytes_, &bits) || !DecodeVarint(&bytes_, &offset)) {
    return false;
  }
  --left_;
  stack_ += static_cast<uint32_t>(distance);
  offset_ += FromZigzag(offset);
  SetLeaf(bits >> 1, next);
  uint64_t count_and_kind = kArchivedSingle;
  uint64_t rest = 0;
  const bool is_single = (bits & 1) != 0;
  if ((!is_single && !DecodeVarint(&bytes_, &count_and_kind)) ||
      !DecodeVarint(&bytes_, &rest)) {
    return false;
  }
  const uint64_t kind = count_and_kind & ((1u << kArchivedKindBits) - 1);
  const uint64_t count = count_and_kind >> kArchivedKindBits;
  next->counter = {.kind = static_cast<SampleKind>(kind),
                   .stack = stack_,
                   .label_set = 0,
                   .count = count,
                   .weight = FromZigzag(rest) + count * period_ns_,
                   .offset = 0};
  return true;
}

void ArchivedCounters::SetLeaf(uint64_t bits, ArchivedCounter* next) const {
  next->has_leaf = bits != 0;
  if (bits == 0) return;
  --bits;
  const uint64_t number = bits >> 2;
  next->leaf = {.parent = stack_,
                .module = number == 0 || number > kMaxModules
                              ? unwind::kNoModule
                              : static_cast<unwind::ModuleId>(number - 1),
                .exact = (bits & 1) != 0,
                .guessed = (bits & 2) != 0,
                .offset = offset_};
}

}  // namespace unspool::collectors
