#include "exporters/raw/node_order.h"

#include <utility>

namespace unspool::exporters::raw {

using collectors::kFirstNode;
using collectors::NodeChunkView;
using collectors::SpoolReader;

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

void NodeOrder::AddSizes(const NodeChunkView& chunk) {
  for (size_t i = chunk.nodes.size(); i-- > 0;) {
    uint32_t* caller = PlaceOf(chunk.ParentOf(i), chunk);
    if (caller != nullptr) *caller += ++ranks_[chunk.first_index + i];
  }
}

void NodeOrder::GiveRanks(const NodeChunkView& chunk) {
  for (size_t i = 0; i < chunk.nodes.size(); ++i) {
    uint32_t* caller = PlaceOf(chunk.ParentOf(i), chunk);
    if (caller == nullptr) continue;
    uint32_t& rank = ranks_[chunk.first_index + i];
    rank = std::exchange(*caller, *caller + rank) + 1;
  }
}

// Of a caller of one in `chunk`, which is mostly there, too. nullptr: none.
uint32_t* NodeOrder::PlaceOf(uint32_t node, const NodeChunkView& chunk) {
  if (node >= chunk.first_id) {
    return &ranks_[chunk.first_index + (node - chunk.first_id)];
  }
  if (node < kFirstNode) return node == 0 ? nullptr : &roots_[node];
  const auto index = reader_->NodeIndex(image_, node);
  return index ? &ranks_[*index] : nullptr;
}

uint32_t NodeOrder::RankOf(uint32_t node) const {
  if (node < kFirstNode) return 0;
  const auto index = reader_->NodeIndex(image_, node);
  return index ? ranks_[*index] : 0;
}

}  // namespace unspool::exporters::raw
