// An order of an image's stacks in which neighbours share as many of their
// outer frames as stacks can: that of a walk over the tree of its nodes. A
// reader of the stacks then meets each node once, and a compressor finds each
// stack's outer frames right before it.

#ifndef UNSPOOL_EXPORTERS_RAW_NODE_ORDER_H_
#define UNSPOOL_EXPORTERS_RAW_NODE_ORDER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "collectors/spool/mapped_array.h"
#include "collectors/spool/spool_reader.h"

namespace unspool::exporters::raw {

// Not async-signal-safe: allocates.
class NodeOrder {
 public:
  // That of `image`, whose nodes cost four bytes and two looks each. False: no
  // memory.
  [[nodiscard]] bool Build(const collectors::SpoolReader& reader, size_t image);

  // By which stacks, each given by its leaf, are to be sorted. Those below one
  // node are next to each other, in each window of ids; two nodes may have one
  // key if one is above the other.
  uint64_t KeyOf(uint32_t node) const;
  // Has the processor fetch what KeyOf() is going to be asked for.
  void Prefetch(uint32_t node) const;

 private:
  void AddSizes(const collectors::NodeChunkView& chunk);
  void GiveRanks(const collectors::NodeChunkView& chunk);
  const uint32_t* FindRank(uint32_t node) const;
  uint32_t* PlaceOf(uint32_t node, const collectors::NodeChunkView& chunk);

  const collectors::SpoolReader* reader_ = nullptr;
  size_t image_ = 0;
  // By NodeView::index. First how many nodes are in and below a node. Then, as
  // the walk reaches it, the rank that the next one below it begins behind: in
  // the end that of the last.
  collectors::MappedArray<uint32_t> ranks_;
  std::array<uint32_t, collectors::kFirstNode> roots_{};  // the same
};

}  // namespace unspool::exporters::raw

#endif  // UNSPOOL_EXPORTERS_RAW_NODE_ORDER_H_
