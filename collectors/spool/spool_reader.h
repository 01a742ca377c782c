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

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectors/spool/atomic_access.h"
#include "collectors/spool/mapped_array.h"
#include "collectors/spool/spool_format.h"
#include "collectors/spool/spool_status.h"
#include "collectors/spool/spool_view.h"

namespace unspool::collectors {

class SpoolReader {
 public:
  SpoolReader() = default;
  SpoolReader(const SpoolReader&) = delete;
  SpoolReader& operator=(const SpoolReader&) = delete;

  // Looks through `bytes`, the file from its start, 8-byte aligned (mmap and
  // malloc are), which must outlive the reader. May be called once. `unused`
  // are pages, ascending, that are not looked at: holes would become pages.
  // kNotASpool, kWrongVersion, kCorrupt (no readable image, or misaligned),
  // kNoMemory. Not async-signal-safe: allocates.
  [[nodiscard]] SpoolStatus Open(std::span<const uint8_t> bytes,
                                 std::span<const PageRun> unused = {});

  // Of the calls below none allocates, and `image` is an index into images().

  // By ImageView::index, ascending; at least one after Open(). Not those that
  // were archived.
  size_t image_count() const { return image_count_; }
  ImageView image(size_t image) const;

  // What has the modules and the nodes of all archived images, as an image does
  // that is none itself; kNoImage: there are none.
  static constexpr size_t kNoImage = ~size_t{0};
  size_t archive() const {
    return image_count_ < images_.size() ? image_count_ : kNoImage;
  }
  // `visit(const ArchivedView&)` for every archived image.
  template <typename Visitor>
  void ForEachArchived(Visitor visit) const;
  // `visit(const ThreadView&, ArchivedCounters)` for every thread of one.
  template <typename Visitor>
  static void ForEachArchivedThread(const ArchivedView& image, Visitor visit);
  // `visit(const ImageView&)` for every image, archived or not.
  template <typename Visitor>
  void ForEachImage(Visitor visit) const;

  // `visit(PageRun)` for all that an image has of the file.
  template <typename Visitor>
  void ForEachChunk(size_t image, Visitor visit) const;

  // Of images that are not among these: they found no room for their record.
  LossCounter lost() const;

  // How many stacks were walked twice, by what was found.
  AuditArray audits() const;

  // CLOCK_MONOTONIC when something recorded last, a bit late; 0: never.
  uint64_t seen_monotonic_ns() const;

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
  // A counter that was visited, as it is now; `offset` is CounterView's.
  CounterView CounterAt(uint64_t offset) const;
  // Has the processor fetch what CounterAt() is going to be asked for.
  void PrefetchCounter(uint64_t offset) const {
    __builtin_prefetch(&At<CounterSlot>(offset));
  }

  // How many nodes the image's chunks have room for. Over all images together
  // fewer than the file has bytes.
  uint64_t node_count(size_t image) const;
  // A node of archived images, of which callers have smaller ids, too. False:
  // it is not there.
  bool FindArchivedNode(uint32_t id, NodeView* node) const;
  // Nodes that lie together. A node's index is its number among those that the
  // image's chunks have room for: ids can have gaps, indexes are dense.
  size_t node_chunk_count(size_t image) const {
    return images_[image].nodes.size();
  }
  NodeChunkView node_chunk(size_t image, size_t chunk) const;
  // The one that has the node with this id, if any has.
  NodeChunkView NodeChunkOf(size_t image, uint32_t id) const;
  // Has the processor fetch a node and its callers, of which those that came up
  // with it lie in front of it.
  void PrefetchNode(size_t image, uint32_t id) const;

 private:
  struct Chunk {
    uint32_t image = 0;
    ChunkType type = ChunkType::kFree;
    uint32_t pages = 0;
    uint64_t offset = 0;
    uint64_t owner = 0;
  };
  using ChunkSpan = std::span<const Chunk>;
  struct Image {
    const Chunk* record;
    ChunkSpan modules;
    ChunkSpan nodes;            // by number, each number once
    ChunkSpan threads;          // by offset
    ChunkSpan counters;         // by owner
    ChunkSpan archives;         // by owner
    ChunkSpan archived_nodes;   // by number
    ChunkSpan archived_frames;  // by number
    ChunkSpan all;
  };

  bool ReadChunk(uint64_t page, uint64_t page_count, Chunk* chunk) const;
  bool CollectChunks(uint64_t page_count, std::span<const PageRun> unused);
  bool CollectImages();
  bool DropArchived();
  // As ReadModule, of an archived image.
  uint64_t ReadArchived(uint64_t offset, uint64_t room,
                        ArchivedView* image) const;
  // nullptr: it is not there.
  template <typename Record>
  const Record* FindRecord(ChunkSpan chunks, uint64_t index) const;
  // From the front of *bytes. False: there is none.
  static bool TakeArchivedThread(std::span<const uint8_t>* bytes,
                                 ThreadView* thread, uint32_t* counter_count,
                                 std::span<const uint8_t>* counters);

  // Reads the record at `offset` of the file, of which `room` bytes are left in
  // its chunk. The record's size; 0: there is none here.
  uint64_t ReadModule(uint64_t offset, uint64_t room, ModuleView* module) const;
  static ThreadView ReadThread(const ThreadRecord& record);
  // The chunks that hold more counters of the thread whose chunk is at `owner`.
  static ChunkSpan CountersOf(const Image& image, uint64_t owner);
  TextView Text(const Chunk& chunk, const ChunkBytes& where) const;
  static LossArray Losses(const LossCounter* losses);
  static NameArray Name(const char* name);

  template <typename T>
  const T& At(uint64_t offset) const {
    return *reinterpret_cast<const T*>(bytes_.data() + offset);
  }
  static uint64_t EndOf(const Chunk& chunk) {
    return chunk.offset + chunk.pages * kSpoolPageSize;
  }

  std::span<const uint8_t> bytes_;
  MappedArray<Chunk> chunks_;  // by image, type, owner, offset
  MappedArray<Image> images_;  // and what archived ones share, if there are any
  size_t image_count_ = 0;     // without that
};

template <typename Visitor>
void SpoolReader::ForEachModule(size_t image, Visitor visit) const {
  for (const Chunk& chunk : images_[image].modules) {
    uint64_t offset = chunk.offset + sizeof(ChunkHeader);
    while (offset < EndOf(chunk)) {
      ModuleView module;
      const uint64_t size = ReadModule(offset, EndOf(chunk) - offset, &module);
      if (size != 0) visit(module);
      offset += size != 0 ? size : kModuleAlign;
    }
  }
}

template <typename Visitor>
void SpoolReader::ForEachThread(size_t image, Visitor visit) const {
  for (const Chunk& chunk : images_[image].threads) {
    ThreadView thread =
        ReadThread(At<ThreadRecord>(chunk.offset + sizeof(ChunkHeader)));
    thread.chunk_offset = chunk.offset;
    visit(thread);
  }
}

template <typename Visitor>
void SpoolReader::ForEachChunk(size_t image, Visitor visit) const {
  for (const Chunk& chunk : images_[image].all) {
    visit(PageRun{chunk.offset / kSpoolPageSize, chunk.pages});
  }
}

template <typename Visitor>
void SpoolReader::ForEachArchived(Visitor visit) const {
  if (archive() == kNoImage) return;
  for (const Chunk& chunk : images_[archive()].archives) {
    uint64_t offset = chunk.offset + sizeof(ChunkHeader);
    while (offset < EndOf(chunk)) {
      ArchivedView image;
      const uint64_t size = ReadArchived(offset, EndOf(chunk) - offset, &image);
      if (size != 0) visit(image);
      offset += size != 0 ? size : kArchiveAlign;
    }
  }
}

template <typename Visitor>
void SpoolReader::ForEachArchivedThread(const ArchivedView& image,
                                        Visitor visit) {
  std::span<const uint8_t> bytes = image.threads;
  for (uint32_t i = 0; i < image.thread_count; ++i) {
    ThreadView thread;
    uint32_t count = 0;
    std::span<const uint8_t> counters;
    if (!TakeArchivedThread(&bytes, &thread, &count, &counters)) return;
    visit(thread, ArchivedCounters(counters, count, image.facts.period_ns));
  }
}

template <typename Visitor>
void SpoolReader::ForEachImage(Visitor visit) const {
  for (size_t i = 0; i < image_count(); ++i) visit(image(i));
  ForEachArchived([&](const ArchivedView& image) { visit(image.facts); });
}

template <typename Visitor>
void SpoolReader::ForEachCounter(size_t image, const ThreadView& thread,
                                 Visitor visit) const {
  const auto visit_slots = [&](uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end; at += sizeof(CounterSlot)) {
      const CounterView counter = CounterAt(at);
      if (counter.stack != 0) visit(counter);
    }
  };
  const uint64_t owner = thread.chunk_offset;
  visit_slots(owner + kThreadSlotsOffset, owner + kSpoolPageSize);
  for (const Chunk& chunk : CountersOf(images_[image], owner)) {
    visit_slots(chunk.offset + sizeof(ChunkHeader), EndOf(chunk));
  }
}

inline CounterView SpoolReader::CounterAt(uint64_t offset) const {
  const auto& slot = At<CounterSlot>(offset);
  const uint32_t stack = LoadAcquire(slot.node);
  return {.kind = static_cast<SampleKind>(LoadRelaxed(slot.kind)),
          .stack = stack,
          .label_set = LoadRelaxed(slot.label_set),
          .count = LoadRelaxed(slot.count),
          .weight = LoadRelaxed(slot.weight),
          .offset = offset};
}

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_SPOOL_READER_H_
