// What a spool's reader shows of it: copies of checked words, and slices of the
// file.

#ifndef UNSPOOL_COLLECTORS_SPOOL_SPOOL_VIEW_H_
#define UNSPOOL_COLLECTORS_SPOOL_SPOOL_VIEW_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "collectors/spool/atomic_access.h"
#include "collectors/spool/spool_format.h"
#include "unwind/frame.h"
#include "unwind/module.h"
#include "unwind/stack_audit.h"

namespace unspool::collectors {

// Text in the spool; not NUL-terminated, any bytes.
using TextView = std::span<const char>;

// A name as the kernel gives it to tasks; always ends in NUL.
using NameArray = std::array<char, sizeof(ThreadRecord::name)>;

// By unwind::AuditFinding.
using AuditArray = std::array<uint64_t, unwind::kAuditFindingCount>;

using LossArray = std::array<LossCounter, kLossSlots>;  // by LossCause

// One program in one process. Facts are those of ImageRecord.
struct ImageView {
  uint32_t index = 0;  // in the order in which images opened the spool
  int32_t pid = 0;
  int32_t parent_pid = 0;
  uint32_t pid_namespace = 0;  // where they count; 0: unknown
  uint64_t start_realtime_ns = 0;
  uint64_t start_monotonic_ns = 0;
  uint64_t period_ns = 0;
  SampleClock clock = SampleClock::kCpu;  // what a reader knows, or kCpu
  NameArray comm{};
  uint64_t end_monotonic_ns = 0;  // 0: it did not say
  uint64_t end_cpu_ns = 0;        // 0: it did not say
  TextView engine;
  TextView executable;
  TextView command_line;  // arguments, each ended by NUL
  TextView hostname;
  LossArray losses{};  // of threads that have no record

  // Its comm, else its executable's name as the kernel cuts it (proc(5),
  // /proc/PID/comm). Lives as long as this.
  TextView Name() const;
};

struct ModuleView {
  unwind::ModuleId id = unwind::kNoModule;
  uint16_t flags = 0;  // ModuleFlags
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t bias = 0;
  TextView path;
  std::span<const uint8_t> build_id;  // at most unwind::BuildId::kMaxSize bytes
  uint8_t segment_count = 0;
  std::array<unwind::Segment, unwind::Module::kMaxSegments> segments{};
};

struct ThreadView {
  int32_t tid = 0;
  NameArray name{};
  uint64_t unsampled_ns = 0;  // CPU time that no sample stands for
  LossArray losses{};
  uint64_t chunk_offset = 0;
};

// One frame of a stack.
struct NodeView {
  uint32_t parent = 0;  // the caller; < kFirstNode: a RootNode()
  unwind::ModuleId module = unwind::kNoModule;
  bool exact = false;
  bool guessed = false;
  uint64_t offset = 0;  // Frame::pc minus the module's bias; pc if no module

  void SetFrame(uint32_t module_and_flags, uint64_t frame_offset) {
    module = module_and_flags & kNodeModuleMask;
    if (module == kNodeNoModule) module = unwind::kNoModule;
    exact = (module_and_flags & kNodeExact) != 0;
    guessed = (module_and_flags & kNodeGuessed) != 0;
    offset = frame_offset;
  }
};

// Nodes with consecutive ids and indexes. None where the file is damaged.
struct NodeChunkView {
  uint32_t first_id = 0;
  uint64_t first_index = 0;
  std::span<const StackNode> nodes;

  bool Has(uint32_t id) const { return id - first_id < nodes.size(); }
  uint64_t IndexOf(uint32_t id) const { return first_index + (id - first_id); }

  // The caller's node or a root, of a node that is here; 0: it is incomplete,
  // or its parent is neither a root nor a smaller node id. So following parents
  // always ends.
  uint32_t ParentOf(uint32_t id) const {
    const uint32_t parent = LoadAcquire(nodes[id - first_id].parent);
    return parent < id ? parent : 0;
  }
  // False: it is not here, or has no parent.
  bool Find(uint32_t id, NodeView* node) const {
    if (!Has(id)) return false;
    const StackNode& record = nodes[id - first_id];
    node->parent = ParentOf(id);
    node->SetFrame(LoadRelaxed(record.module_and_flags),
                   LoadRelaxed(record.offset));
    return node->parent != 0;
  }
};

struct CounterView {
  SampleKind kind = SampleKind::kCpu;
  uint32_t stack = 0;  // node id; may name a node that is not there
  uint32_t label_set = 0;
  uint64_t count = 0;
  uint64_t weight = 0;
  uint64_t offset = 0;  // of its slot in the file
};

// An image that ended and was condensed.
struct ArchivedView {
  ImageView facts;  // its texts are empty, but for comm
  uint32_t thread_count = 0;
  std::span<const uint8_t> threads;
};

// A counter of such an image. Its stack is the leaf, if there is one, and the
// path from `counter.stack` on.
struct ArchivedCounter {
  CounterView counter;
  bool has_leaf = false;
  NodeView leaf;
};

// Those of a thread, of which there are as many as can be decoded.
class ArchivedCounters {
 public:
  ArchivedCounters(std::span<const uint8_t> bytes, uint32_t count,
                   uint64_t period_ns)
      : bytes_(bytes), left_(count), period_ns_(period_ns) {}

  // False: there are no more.
  [[nodiscard]] bool Next(ArchivedCounter* counter);

 private:
  void SetLeaf(uint64_t bits, ArchivedCounter* counter) const;

  std::span<const uint8_t> bytes_;
  uint32_t left_;
  uint64_t period_ns_;
  uint32_t stack_ = 0;
  uint64_t offset_ = 0;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_SPOOL_VIEW_H_
