// Follows a spool's nodes to their roots: stacks as pprof's samples have them.
//
// What a stack shares of its outer frames with the one that was read before is
// neither looked up nor encoded again. So a recording costs what it has nodes,
// not frames, if its stacks come in their NodeOrder.

#ifndef UNSPOOL_EXPORTERS_RAW_STACK_WALKER_H_
#define UNSPOOL_EXPORTERS_RAW_STACK_WALKER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectors/spool/mapped_array.h"
#include "collectors/spool/spool_reader.h"
#include "exporters/raw/image_modules.h"
#include "exporters/raw/profile_tables.h"
#include "unwind/frame.h"

namespace unspool::exporters::raw {

// Longer paths are cut, as if the walk had found no more room: a hostile spool
// can have a path of millions of nodes, and as many counters that name its end.
inline constexpr size_t kMaxStackDepth = 65'536;  // of what agents record

// The stacks of one image, or those of the archive. Not async-signal-safe:
// allocates.
class StackWalker {
 public:
  StackWalker(const collectors::SpoolReader& reader, size_t image,
              ImageModules& modules, ProfileTables& tables)
      : reader_(reader),
        image_(image),
        is_archive_(image == reader.archive()),
        modules_(modules),
        tables_(tables) {}

  // Must be called first. False: no memory.
  [[nodiscard]] bool Prepare();

  struct Stack {
    // The locations' ids, leaf first, as a packed field has them; outermost
    // that of "[truncated: …]" if it did not reach the root. Until the next
    // Read().
    std::span<const char> locations;
    unwind::WalkEnd end = unwind::WalkEnd::kRoot;
    bool has_guessed = false;
  };
  // The stack whose leaf is `node`. False: a node of it is missing.
  [[nodiscard]] bool Read(uint32_t node, Stack* stack);
  // The same, of `leaf`, which is no node, and its caller's stack.
  [[nodiscard]] bool Read(const collectors::NodeView& leaf, Stack* stack);

  // That of a later Read().
  void Prefetch(uint32_t node) const { reader_.PrefetchNode(image_, node); }

 private:
  struct Frame {
    uint32_t node;      // of the outermost one: a RootNode()
    uint32_t location;  // 0: a root that was reached
    bool is_guessed;
  };
  // A frame of the stack that was read last, with what is outside of it.
  struct Shared {
    uint32_t node;
    uint32_t encoded_size;
    bool has_guessed;
  };

  bool FindNewFrames(uint32_t node);
  bool AddNewFrame(uint32_t* node);
  void AddRoot(uint32_t root);
  void EncodeNewFrames();
  void Prepend(uint32_t location);

  const collectors::SpoolReader& reader_;
  const size_t image_;
  const bool is_archive_;
  ImageModules& modules_;
  ProfileTables& tables_;
  collectors::NodeChunkView chunk_;  // of the node that was looked at last
  collectors::MappedArray<Frame> new_frames_;  // innermost first
  size_t new_count_ = 0;
  collectors::MappedArray<Shared> path_;  // outermost first, nodes ascend
  size_t shared_ = 0;                     // of it with the next stack
  size_t depth_ = 0;
  bool is_cut_ = false;  // so that there is more of it than path_ says
  collectors::MappedArray<char> encoded_;  // of path_, at the end
  size_t encoded_size_ = 0;
};

}  // namespace unspool::exporters::raw

#endif  // UNSPOOL_EXPORTERS_RAW_STACK_WALKER_H_
