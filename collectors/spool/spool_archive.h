// Condenses images that ended. A program that runs other programs again and
// again (make) leaves the same stacks in each: here they become nodes of one
// tree, and what a process had of its own becomes a few bytes a stack.

#ifndef UNSPOOL_COLLECTORS_SPOOL_SPOOL_ARCHIVE_H_
#define UNSPOOL_COLLECTORS_SPOOL_SPOOL_ARCHIVE_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectors/spool/archive_modules.h"
#include "collectors/spool/chunk_allocator.h"
#include "collectors/spool/id_index.h"
#include "collectors/spool/mapped_array.h"
#include "collectors/spool/spool_format.h"
#include "collectors/spool/spool_reader.h"
#include "collectors/spool/spool_status.h"

namespace unspool::collectors {

// Records that are numbered from 0, in chunks of their own. One writer. Not
// async-signal-safe: allocates.
template <typename Record>
class RecordLog {
 public:
  static constexpr uint32_t kPerChunk = RecordsPerChunk<Record>();

  uint32_t size() const { return size_; }
  Record& operator[](uint32_t index) {
    return firsts_[index / kPerChunk][index % kPerChunk];
  }
  uint32_t chunk_count() const { return firsts_.size(); }
  // There must be room before a record is appended.
  bool has_room() const { return size_ < firsts_.size() * kPerChunk; }
  // False: no memory.
  [[nodiscard]] bool AddChunk(uint8_t* chunk) {
    return firsts_.Append(
        reinterpret_cast<Record*>(chunk + sizeof(ChunkHeader)));
  }
  Record* Append() { return &(*this)[size_++]; }

 private:
  MappedArray<Record*> firsts_;  // of each chunk
  uint32_t size_ = 0;
};

// One for a spool, of whoever keeps it. Not async-signal-safe: allocates.
class SpoolArchive {
 public:
  SpoolArchive() = default;
  SpoolArchive(const SpoolArchive&) = delete;
  SpoolArchive& operator=(const SpoolArchive&) = delete;
  ~SpoolArchive();

  // Maps the spool behind `fd`, to which it adds an image that is none. Takes
  // some pages for when there are no others, so that a full spool can become
  // less full.
  [[nodiscard]] SpoolStatus Open(int fd);
  bool is_open() const { return chunks_.is_mapped(); }

  // Condenses an image of `reader`, which must have ended: nobody may write to
  // it. From then on its own chunks do not count, and may be taken away. False:
  // no room or no memory, and everything is as before.
  [[nodiscard]] bool Add(const SpoolReader& reader, size_t image);

 private:
  // What becomes an ArchivedCounter.
  struct Counter {
    NodeId caller;
    uint64_t leaf;  // LeafBits(), or 0
    uint64_t offset;
    SampleKind kind;
    uint64_t count;
    uint64_t weight;
    bool operator<(const Counter& other) const;
  };
  bool AddCallers(const SpoolReader& reader, size_t image);
  bool MarkCallers(const SpoolReader& reader, size_t image);
  bool AddNode(const SpoolReader& reader, size_t image, const NodeView& node,
               NodeId* added);
  // 0: no room or no memory.
  NodeId FindOrAddNode(NodeId parent, uint32_t frame);
  uint32_t FindOrAddFrame(uint64_t offset, uint32_t module_and_flags);
  NodeId LinkOf(const SpoolReader& reader, size_t image, NodeId node) const;
  bool AppendImage(const ImageView& image);
  bool AppendThread(const SpoolReader& reader, size_t image,
                    const ThreadView& thread, uint64_t period_ns);
  Counter Split(const SpoolReader& reader, size_t image,
                const CounterView& counter) const;
  bool AppendCounters(uint64_t period_ns);
  template <typename Record>
  bool Append(const Record& record);
  uint8_t* Reserve(size_t size);
  // A record more, of zeros. nullptr: no room or no memory.
  template <typename Record>
  Record* AppendTo(RecordLog<Record>& log, ChunkType type);
  bool Publish();

  ChunkAllocator chunks_;
  RecordLog<ArchivedNode> nodes_;
  IdIndex node_index_;  // their ids
  RecordLog<ArchivedFrame> frames_;
  IdIndex frame_index_;  // index + 1
  ArchiveModules modules_;
  uint8_t* chunk_ = nullptr;  // the kArchive chunk that has room
  size_t chunk_used_ = 0;
  uint64_t chunk_count_ = 0;

  // Scratch, of one Add().
  MappedArray<NodeId> node_links_;  // by index; 0: it is not here
  MappedArray<uint8_t> is_caller_;  // by index
  MappedArray<Counter> counters_;
  MappedArray<uint8_t> record_;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_SPOOL_ARCHIVE_H_
