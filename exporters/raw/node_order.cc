#include "exporters/raw/node_order.h"

#include <utility>

namespace unspool::exporters::raw {

using collectors::kFirstNode;
using collectors::NodeChunkView;
using collectors::SpoolReader;

namespace {

// Nodes, 16 MiB of them. One walk over all of a large recording would miss the
// TLB at each stack.
constexpr uint32_t kWindow = 1 << 20;

}  // namespace

// Ids fall towards the roots, so one pass from the end adds all sizes up, and
// one from the start gives every node a part of its caller's ranks.
bool NodeOrder::Build(const SpoolReader& reader, size_t image) {
  reader_ = &reader;
  image_ = image;
  roots_ = {};
  ranks_.Truncate(0);
  if (!ranks_.Resize(reader.node_count(image))) return false;
  const size_t count = reader.node_chunk_count(image);
  for (size_t i = count; i-- > 0;) AddSizes(reader.node_chunk(image, i));
  uint32_t begin = 0;
  for (uint32_t& root : roots_) begin += std::exchange(root, begin);
  for (size_t i = 0; i < count; ++i) GiveRanks(reader.node_chunk(image, i));
  return true;
}

// Most callers are the node before, one of the same stack that was new: their
// values are handed on without a detour through memory.
void NodeOrder::AddSizes(const NodeChunkView& chunk) {
  uint32_t handed_on = 0;
  for (size_t i = chunk.nodes.size(); i-- > 0;) {
    const uint32_t node = chunk.first_id + static_cast<uint32_t>(i);
    const uint32_t caller = chunk.ParentOf(node);
    uint32_t& size = ranks_[chunk.first_index + i];
    size += handed_on;
    handed_on = 0;
    if (caller == 0) continue;
    ++size;
    if (caller == node - 1 && i > 0) {
      handed_on = size;
    } else if (uint32_t* place = PlaceOf(caller, chunk); place != nullptr) {
      *place += size;
    }
  }
}

void NodeOrder::GiveRanks(const NodeChunkView& chunk) {
  uint32_t last = 0;
  for (size_t i = 0; i < chunk.nodes.size(); ++i) {
    const uint32_t node = chunk.first_id + static_cast<uint32_t>(i);
    const uint32_t caller = chunk.ParentOf(node);
    uint32_t& rank = ranks_[chunk.first_index + i];
    const uint32_t size = rank;
    if (caller == node - 1 && i > 0) {
      (&rank)[-1] = last + size;
    } else {
      uint32_t* place = PlaceOf(caller, chunk);
      last = 0;
      if (place == nullptr) continue;
      last = std::exchange(*place, *place + size);
    }
    rank = ++last;
  }
}

// Of a caller of one in `chunk`, which is mostly there, too. nullptr: none.
uint32_t* NodeOrder::PlaceOf(uint32_t node, const NodeChunkView& chunk) {
  if (node < kFirstNode) return node == 0 ? nullptr : &roots_[node];
  const NodeChunkView of_node =
      chunk.Has(node) ? chunk : reader_->NodeChunkOf(image_, node);
  return of_node.Has(node) ? &ranks_[of_node.IndexOf(node)] : nullptr;
}

// nullptr: a root, or not there.
const uint32_t* NodeOrder::FindRank(uint32_t node) const {
  const NodeChunkView chunk = reader_->NodeChunkOf(image_, node);
  return chunk.Has(node) ? &ranks_[chunk.IndexOf(node)] : nullptr;
}

uint64_t NodeOrder::KeyOf(uint32_t node) const {
  const uint32_t* rank = FindRank(node);
  return uint64_t{node / kWindow} * collectors::kMaxNodes +
         (rank != nullptr ? *rank : 0);
}

void NodeOrder::Prefetch(uint32_t node) const {
  __builtin_prefetch(FindRank(node));
}

}  // namespace unspool::exporters::raw
