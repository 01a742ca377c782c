// Follows a spool's node to the root: a sample's location ids, leaf first.

#ifndef UNSPOOL_EXPORTERS_RAW_STACK_WALKER_H_
#define UNSPOOL_EXPORTERS_RAW_STACK_WALKER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectors/spool/mapped_array.h"
#include "collectors/spool/spool_reader.h"
#include "exporters/raw/image_modules.h"
#include "unwind/frame.h"

namespace unspool::exporters::raw {

// Longer paths are cut, as if the walk had found no more room: a hostile spool
// can have a path of millions of nodes, and as many counters that name its end.
inline constexpr size_t kMaxStackDepth = 65'536;  // of what agents record

// The stacks of one image. Not async-signal-safe: allocates.
class StackWalker {
 public:
  StackWalker(const collectors::SpoolReader& reader, size_t image,
              ImageModules& modules)
      : reader_(reader), image_(image), modules_(modules) {}

  // Must be called first. False: no memory.
  [[nodiscard]] bool Prepare() {
    return locations_.Resize(reader_.node_count(image_)) &&
           stack_.Resize(kMaxStackDepth + 1);
  }

  struct Stack {
    // Valid until the next Read().
    std::span<const uint64_t> locations;
    unwind::WalkEnd end = unwind::WalkEnd::kRoot;
    bool has_guessed = false;
  };
  // The stack whose leaf is `node`. False: a node of it is missing.
  [[nodiscard]] bool Read(uint32_t node, Stack* stack);

  // The locations of the stack that was read last, and `location` behind them.
  std::span<const uint64_t> AppendOutermost(uint32_t location) {
    stack_[depth_] = location;
    return stack_.view().first(depth_ + 1);
  }

 private:
  const collectors::SpoolReader& reader_;
  const size_t image_;
  ImageModules& modules_;
  collectors::MappedArray<uint32_t> locations_;  // by NodeView::index; 0: open
  collectors::MappedArray<uint64_t> stack_;
  size_t depth_ = 0;  // of the stack that was read last
};

}  // namespace unspool::exporters::raw

#endif  // UNSPOOL_EXPORTERS_RAW_STACK_WALKER_H_
