#include "collectors/spool/spool_archive.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "collectors/spool/atomic_access.h"
#include "collectors/spool/varint.h"

namespace unspool::collectors {

namespace {

constexpr uint32_t kChunkPages = 16;
constexpr uint32_t kKeptPages = 128;
// Larger records get chunks of their own.
constexpr size_t kSharedSize = kChunkPages * kSpoolPageSize / 4;
// A node that no chunk can have: the stack is not there.
constexpr NodeId kNoNode = kMaxNodes;

void CopyLosses(const LossArray& losses, LossCounter* out) {
  std::copy(losses.begin(), losses.end(), out);
}

}  // namespace

SpoolArchive::~SpoolArchive() { chunks_.Reset(/*unmap=*/true); }

SpoolStatus SpoolArchive::Open(int fd) {
  const SpoolStatus status = chunks_.Map(fd, AtFork::kUnmap);
  if (status == SpoolStatus::kOk) chunks_.Keep(kKeptPages);
  return status;
}

bool SpoolArchive::Add(const SpoolReader& reader, size_t image) {
  const ImageView facts = reader.image(image);
  record_.Truncate(0);
  if (!modules_.Link(chunks_, reader, image) || !AddCallers(reader, image) ||
      !AppendImage(facts)) {
    return false;
  }
  uint32_t threads = 0;
  bool ok = true;
  reader.ForEachThread(image, [&](const ThreadView& thread) {
    ok = ok && AppendThread(reader, image, thread, facts.period_ns);
    ++threads;
  });
  if (!ok || record_.size() > ~uint32_t{0}) return false;
  auto* header = reinterpret_cast<ArchivedImage*>(record_.data());
  header->threads = threads;
  header->size = static_cast<uint32_t>(record_.size());
  return Publish();
}

// All that frames of recorded stacks were called by.
bool SpoolArchive::MarkCallers(const SpoolReader& reader, size_t image) {
  is_caller_.Truncate(0);
  if (!is_caller_.Resize(reader.node_count(image))) return false;
  const auto mark_caller_of = [&](const NodeChunkView& chunk, NodeId id) {
    NodeView node;
    if (!chunk.Find(id, &node) || node.parent < kFirstNode) return;
    const NodeChunkView callers =
        chunk.Has(node.parent) ? chunk : reader.NodeChunkOf(image, node.parent);
    if (callers.Has(node.parent)) is_caller_[callers.IndexOf(node.parent)] = 1;
  };
  reader.ForEachThread(image, [&](const ThreadView& thread) {
    reader.ForEachCounter(image, thread, [&](const CounterView& counter) {
      mark_caller_of(reader.NodeChunkOf(image, counter.stack), counter.stack);
    });
  });
  // Callers have smaller ids.
  for (size_t i = reader.node_chunk_count(image); i-- > 0;) {
    const NodeChunkView chunk = reader.node_chunk(image, i);
    for (size_t j = chunk.nodes.size(); j-- > 0;) {
      const NodeId id = chunk.first_id + static_cast<NodeId>(j);
      if (is_caller_[chunk.IndexOf(id)] != 0) mark_caller_of(chunk, id);
    }
  }
  return true;
}

// In the order of their ids: callers come before those that they call.
bool SpoolArchive::AddCallers(const SpoolReader& reader, size_t image) {
  node_links_.Truncate(0);
  if (!node_links_.Resize(reader.node_count(image)) ||
      !MarkCallers(reader, image)) {
    return false;
  }
  for (size_t i = 0; i < reader.node_chunk_count(image); ++i) {
    const NodeChunkView chunk = reader.node_chunk(image, i);
    for (size_t j = 0; j < chunk.nodes.size(); ++j) {
      const size_t index = chunk.first_index + j;
      NodeView node;
      if (is_caller_[index] == 0 ||
          !chunk.Find(chunk.first_id + static_cast<NodeId>(j), &node)) {
        continue;
      }
      if (!AddNode(reader, image, node, &node_links_[index])) return false;
    }
  }
  return true;
}

bool SpoolArchive::AddNode(const SpoolReader& reader, size_t image,
                           const NodeView& node, NodeId* added) {
  const NodeId caller = LinkOf(reader, image, node.parent);
  if (caller == 0) return true;
  const uint32_t frame = FindOrAddFrame(node.offset, modules_.BitsOf(node));
  if (frame == 0) return false;
  *added = FindOrAddNode(caller, frame - 1);
  return *added != 0;
}

NodeId SpoolArchive::FindOrAddNode(NodeId parent, uint32_t frame) {
  return node_index_.FindOrAdd(
      HashMix(HashMix(0, parent), frame),
      [&](uint32_t id) {
        const ArchivedNode& node = nodes_[id - kFirstNode];
        return node.parent == parent && node.frame == frame;
      },
      [&]() -> uint32_t {
        const NodeId id = kFirstNode + nodes_.size();
        ArchivedNode* node = id < kMaxNodes
                                 ? AppendTo(nodes_, ChunkType::kArchivedNodes)
                                 : nullptr;
        if (node == nullptr) return 0;
        node->frame = frame;
        StoreRelease(node->parent, parent);
        return id;
      });
}

// Its index + 1.
uint32_t SpoolArchive::FindOrAddFrame(uint64_t offset,
                                      uint32_t module_and_flags) {
  return frame_index_.FindOrAdd(
      HashMix(HashMix(0, offset), module_and_flags),
      [&](uint32_t number) {
        const ArchivedFrame& frame = frames_[number - 1];
        return frame.offset == offset &&
               frame.module_and_flags == module_and_flags;
      },
      [&]() -> uint32_t {
        ArchivedFrame* frame = AppendTo(frames_, ChunkType::kArchivedFrames);
        if (frame == nullptr) return 0;
        *frame = {offset, module_and_flags, 0};
        return frames_.size();
      });
}

template <typename Record>
Record* SpoolArchive::AppendTo(RecordLog<Record>& log, ChunkType type) {
  if (!log.has_room()) {
    uint8_t* chunk = chunks_.Allocate(kNodeChunkPages);
    // Without memory for this the chunk is lost, as all that would follow.
    if (chunk == nullptr || !log.AddChunk(chunk)) return nullptr;
    chunks_.Publish(chunk, type, kNodeChunkPages, log.chunk_count() - 1);
  }
  return log.Append();
}

// What a node of the image is here; roots are the same everywhere.
NodeId SpoolArchive::LinkOf(const SpoolReader& reader, size_t image,
                            NodeId node) const {
  if (node < kFirstNode) return node;
  const NodeChunkView chunk = reader.NodeChunkOf(image, node);
  return chunk.Has(node) ? node_links_[chunk.IndexOf(node)] : 0;
}

template <typename Record>
bool SpoolArchive::Append(const Record& record) {
  static_assert(sizeof(Record) % kArchiveAlign == 0);
  return record_.AppendAll(
      {reinterpret_cast<const uint8_t*>(&record), sizeof(record)});
}

bool SpoolArchive::AppendImage(const ImageView& image) {
  ArchivedImage record{};
  record.image = image.index;
  record.pid = image.pid;
  record.pid_namespace = image.pid_namespace;
  record.clock = static_cast<uint32_t>(image.clock);
  record.start_realtime_ns = image.start_realtime_ns;
  record.start_monotonic_ns = image.start_monotonic_ns;
  record.period_ns = image.period_ns;
  record.end_monotonic_ns = image.end_monotonic_ns;
  record.end_cpu_ns = image.end_cpu_ns;
  const TextView name = image.Name();  // its executable is not kept
  memcpy(record.comm, name.data(), name.size());
  CopyLosses(image.losses, record.losses);
  return Append(record);
}

bool SpoolArchive::AppendThread(const SpoolReader& reader, size_t image,
                                const ThreadView& thread, uint64_t period_ns) {
  counters_.Truncate(0);
  bool ok = true;
  reader.ForEachCounter(image, thread, [&](const CounterView& counter) {
    ok = ok && counters_.Append(Split(reader, image, counter));
  });
  std::sort(counters_.begin(), counters_.end());
  ArchivedThread record{};
  record.record.tid = thread.tid;
  memcpy(record.record.name, thread.name.data(), thread.name.size());
  record.record.unsampled_ns = thread.unsampled_ns;
  CopyLosses(thread.losses, record.record.losses);
  record.counters = static_cast<uint32_t>(counters_.size());
  const size_t start = record_.size();
  if (!ok || !Append(record) || !AppendCounters(period_ns)) return false;
  const size_t size = record_.size() - start - sizeof(record);
  reinterpret_cast<ArchivedThread*>(&record_[start])->counter_size =
      static_cast<uint32_t>(size);
  return record_.Resize((record_.size() + kArchiveAlign - 1) &
                        ~(kArchiveAlign - 1));
}

bool SpoolArchive::Counter::operator<(const Counter& other) const {
  return std::tie(caller, leaf, offset) <
         std::tie(other.caller, other.leaf, other.offset);
}

SpoolArchive::Counter SpoolArchive::Split(const SpoolReader& reader,
                                          size_t image,
                                          const CounterView& counter) const {
  Counter split{.caller = kNoNode,
                .leaf = 0,
                .offset = 0,
                .kind = counter.kind,
                .count = counter.count,
                .weight = counter.weight};
  NodeView leaf;
  if (counter.stack < kFirstNode) {
    split.caller = counter.stack;
  } else if (reader.NodeChunkOf(image, counter.stack)
                 .Find(counter.stack, &leaf)) {
    const NodeId caller = LinkOf(reader, image, leaf.parent);
    if (caller == 0) return split;
    split.caller = caller;
    split.leaf = LeafBits(modules_.BitsOf(leaf));
    split.offset = leaf.offset;
  }
  return split;
}

bool SpoolArchive::AppendCounters(uint64_t period_ns) {
  constexpr uint64_t kKindMask = (1u << kArchivedKindBits) - 1;
  NodeId last_caller = 0;
  uint64_t last_offset = 0;
  for (const Counter& counter : counters_.view()) {
    const uint64_t count_and_kind =
        counter.count << kArchivedKindBits |
        (static_cast<uint64_t>(counter.kind) & kKindMask);
    const bool is_single = count_and_kind == kArchivedSingle;
    uint8_t bytes[5 * kMaxVarintSize];
    uint8_t* end = EncodeVarint(counter.caller - last_caller, bytes);
    end = EncodeVarint(counter.leaf << 1 | (is_single ? 1 : 0), end);
    end = EncodeVarint(ToZigzag(counter.offset - last_offset), end);
    if (!is_single) end = EncodeVarint(count_and_kind, end);
    end =
        EncodeVarint(ToZigzag(counter.weight - counter.count * period_ns), end);
    if (!record_.AppendAll({bytes, end})) return false;
    last_caller = counter.caller;
    last_offset = counter.offset;
  }
  return true;
}

// Room in a kArchive chunk. nullptr: there is none.
uint8_t* SpoolArchive::Reserve(size_t size) {
  if (chunk_ != nullptr && size <= kChunkPages * kSpoolPageSize - chunk_used_) {
    chunk_used_ += size;
    return chunk_ + chunk_used_ - size;
  }
  const bool is_shared = size <= kSharedSize;
  const uint64_t wanted =
      (sizeof(ChunkHeader) + size + kSpoolPageSize - 1) / kSpoolPageSize;
  const auto pages = is_shared ? kChunkPages : static_cast<uint32_t>(wanted);
  uint8_t* chunk = chunks_.Allocate(pages);
  if (chunk == nullptr) return nullptr;
  chunks_.Publish(chunk, ChunkType::kArchive, pages, chunk_count_++);
  if (is_shared) {
    chunk_ = chunk;
    chunk_used_ = sizeof(ChunkHeader) + size;
  }
  return chunk + sizeof(ChunkHeader);
}

bool SpoolArchive::Publish() {
  uint8_t* place = Reserve(record_.size());
  if (place == nullptr) return false;
  auto* record = reinterpret_cast<ArchivedImage*>(place);
  memcpy(place, record_.data(), record_.size());  // its magic is 0
  StoreRelease(record->magic, kArchiveMagic);
  return true;
}

}  // namespace unspool::collectors
