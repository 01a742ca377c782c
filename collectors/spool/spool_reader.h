// Reads a spool that somebody else wrote, or still writes: everything in it is
// hostile. Bounded, libc only (the agent uses it too, to write a profile at
// exit).
//
// Open() goes over the chunks once and sorts them by image; every view after
// that is a slice. Memory is proportional to the number of chunks. What does
// not make sense (a length, an offset, an id) is skipped alone: the rest is
// read. Each word of the file is loaded once, checked, and used from the copy,
// so a writer at work on the same bytes is no danger.

#ifndef UNSPOOL_COLLECTORS_SPOOL_SPOOL_READER_H_
#define UNSPOOL_COLLECTORS_SPOOL_SPOOL_READER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "collectors/spool/atomic_access.h"
#include "collectors/spool/malloc_array.h"
#include "collectors/spool/spool_format.h"
#include "collectors/spool/spool_status.h"
#include "unwind/frame.h"
#include "unwind/module.h"

namespace unspool::collectors {

// Text in the spool; not NUL-terminated, any bytes.
using TextView = std::span<const char>;

using LossArray = std::array<LossCounter, kLossSlots>;  // by LossCause

// One program in one process. Facts are those of ImageRecord.
struct ImageView {
  uint32_t index = 0;  // in the order in which images opened the spool
  int32_t pid = 0;
  int32_t parent_pid = 0;
  uint64_t start_realtime_ns = 0;
  uint64_t start_monotonic_ns = 0;
  uint64_t period_ns = 0;
  uint64_t end_monotonic_ns = 0;  // 0: it did not say
  uint64_t end_cpu_ns = 0;        // 0: it did not say
  TextView engine;
  TextView executable;
  TextView command_line;  // arguments, each ended by NUL
  TextView hostname;
  LossArray losses{};  // of threads that have no record
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
  std::array<char, sizeof(ThreadRecord::name)> name{};  // always ends in NUL
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
};

struct CounterView {
  SampleKind kind = SampleKind::kCpu;
  uint32_t stack = 0;  // node id; may name a node that is not there
  uint32_t label_set = 0;
  uint64_t count = 0;
  uint64_t weight = 0;
};

class SpoolReader {
 public:
  SpoolReader() = default;
  SpoolReader(const SpoolReader&) = delete;
  SpoolReader& operator=(const SpoolReader&) = delete;

  // Looks through `bytes`, the file from its start, 8-byte aligned (mmap and
  // malloc are), which must outlive the reader. May be called once.
  // kNotASpool, kWrongVersion, kCorrupt (no readable image, or misaligned),
  // kNoMemory. Not async-signal-safe: allocates.
  [[nodiscard]] SpoolStatus Open(std::span<const uint8_t> bytes);

  // Of the calls below none allocates, and `image` is an index into images().

  // By ImageView::index, ascending; at least one after Open().
  size_t image_count() const { return images_.size(); }
  ImageView image(size_t image) const;

  // `visit(const ModuleView&)` for every module, `visit(const ThreadView&)` for
  // every thread, in the order of the file. Ids and tids may repeat.
  template <typename Visitor>
  void ForEachModule(size_t image, Visitor visit) const;
  template <typename Visitor>
  void ForEachThread(size_t image, Visitor visit) const;

  // `visit(const CounterView&)` for every counter of a thread of this image.
  template <typename Visitor>
  void ForEachCounter(size_t image, const ThreadView& thread,
                      Visitor visit) const;

  // All node ids of the image are below this; ≥ kFirstNode. Proportional to the
  // file's size.
  uint32_t node_limit(size_t image) const;
  // False: there is no such node, or it is incomplete, or its parent is neither
  // a root nor a smaller node id. So following parents always ends.
  bool FindNode(size_t image, uint32_t id, NodeView* node) const;

 private:
  struct Chunk {
    uint32_t image;
    ChunkType type;
    uint32_t pages;
    uint64_t offset;
    uint64_t owner;
  };
  struct Image {
    uint64_t record_chunk;  // index into chunks_
    uint64_t chunks_begin;  // the image's slice of chunks_
    uint64_t chunks_end;
    uint64_t nodes_begin;  // the image's slice of node_chunks_
    uint32_t node_chunk_count;
  };

  bool ReadChunk(uint64_t page, uint64_t page_count, Chunk* chunk) const;
  SpoolStatus CollectChunks(uint64_t page_count);
  SpoolStatus CollectImages();
  SpoolStatus CollectNodeChunks(Image& image);
  std::span<const Chunk> ChunksOf(const Image& image, ChunkType type) const;

  static constexpr uint64_t kNoRecord = ~uint64_t{0};
  // Reads the record at `offset` in the chunk; the size of what to skip, 0 at
  // the end. `module->id` stays kNoModule if there is none.
  uint64_t ReadModule(const Chunk& chunk, uint64_t offset,
                      ModuleView* module) const;
  ThreadView ReadThread(const Chunk& chunk) const;
  TextView Text(const Chunk& chunk, const ChunkBytes& where) const;
  std::span<const CounterSlot> SlotsOf(const Chunk& chunk) const;
  static bool ReadCounter(const CounterSlot& slot, CounterView* counter);

  template <typename T>
  const T& At(uint64_t offset) const {
    return *reinterpret_cast<const T*>(bytes_.data() + offset);
  }

  std::span<const uint8_t> bytes_;
  MallocArray<Chunk> chunks_;  // by image, type, owner, offset
  MallocArray<Image> images_;
  MallocArray<uint64_t> node_chunks_;  // offset by chunk number; 0: missing
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_SPOOL_READER_H_
