// Every word of a spool is checked here before it is used.

#include "collectors/spool/spool_reader.h"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace unspool::collectors {

SpoolStatus SpoolReader::Open(std::span<const uint8_t> bytes,
                              std::span<const PageRun> unused) {
  if (bytes.size() < sizeof(SpoolHeader)) return SpoolStatus::kNotASpool;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(SpoolHeader) != 0) {
    return SpoolStatus::kCorrupt;
  }
  bytes_ = bytes;
  const auto& header = At<SpoolHeader>(0);
  if (header.magic != kSpoolMagic) return SpoolStatus::kNotASpool;
  if (header.version != kSpoolVersion ||
      header.header_size != sizeof(SpoolHeader)) {
    return SpoolStatus::kWrongVersion;
  }
  const uint64_t page_count = std::min<uint64_t>(
      bytes.size() / kSpoolPageSize, LoadAcquire(header.next_free_page));
  if (!CollectChunks(page_count, unused) || !CollectImages()) {
    return SpoolStatus::kNoMemory;
  }
  return image_count_ == 0 ? SpoolStatus::kCorrupt : SpoolStatus::kOk;
}

bool SpoolReader::CollectChunks(uint64_t page_count,
                                std::span<const PageRun> unused) {
  uint64_t page = kFirstChunkPage;
  while (page < page_count) {
    while (!unused.empty() && unused[0].end() <= page) {
      unused = unused.subspan(1);
    }
    if (!unused.empty() && unused[0].first <= page) {
      page = unused[0].end();
      continue;
    }
    Chunk chunk;
    if (!ReadChunk(page, page_count, &chunk)) {
      ++page;  // a hole
      continue;
    }
    if (!chunks_.Append(chunk)) return false;
    page += chunk.pages;
  }
  std::sort(chunks_.begin(), chunks_.end(), [](const Chunk& a, const Chunk& b) {
    return std::tie(a.image, a.type, a.owner, a.offset) <
           std::tie(b.image, b.type, b.owner, b.offset);
  });
  return true;
}

bool SpoolReader::ReadChunk(uint64_t page, uint64_t page_count,
                            Chunk* chunk) const {
  const uint64_t offset = page * kSpoolPageSize;
  const auto& header = At<ChunkHeader>(offset);
  if (LoadAcquire(header.magic) != kChunkMagic) return false;
  *chunk = {.image = LoadRelaxed(header.image),
            .type = static_cast<ChunkType>(LoadRelaxed(header.type)),
            .pages = LoadRelaxed(header.pages),
            .offset = offset,
            .owner = LoadRelaxed(header.owner)};
  return LoadRelaxed(header.offset) == offset && chunk->pages > 0 &&
         chunk->pages <= page_count - page;
}

bool SpoolReader::CollectImages() {
  const Chunk* const end = chunks_.end();
  Image archive{};
  for (const Chunk* begin = chunks_.begin(); begin != end;) {
    const Chunk* image_end = std::find_if(begin, end, [&](const Chunk& chunk) {
      return chunk.image != begin->image;
    });
    const auto of_type = [&](ChunkType type) {
      const auto [first, last] = std::equal_range(
          begin, image_end, Chunk{.type = type},
          [](const Chunk& a, const Chunk& b) { return a.type < b.type; });
      return ChunkSpan(first, last);
    };
    const ChunkSpan records = of_type(ChunkType::kImage);
    const Image image{.record = records.data(),
                      .modules = of_type(ChunkType::kModules),
                      .nodes = of_type(ChunkType::kNodes),
                      .threads = of_type(ChunkType::kThread),
                      .counters = of_type(ChunkType::kCounters),
                      .archives = of_type(ChunkType::kArchive),
                      .archived_nodes = of_type(ChunkType::kArchivedNodes),
                      .archived_frames = of_type(ChunkType::kArchivedFrames),
                      .all = ChunkSpan(begin, image_end)};
    // Chunks of an image that did not get to write its own belong to nobody, or
    // to those that ended.
    if (!records.empty()) {
      if (!images_.Append(image)) return false;
    } else if (archive.archives.empty()) {
      archive = image;
    }
    begin = image_end;
  }
  image_count_ = images_.size();
  if (archive.archives.empty()) return true;
  return images_.Append(archive) && DropArchived();
}

ImageView SpoolReader::image(size_t image) const {
  const Chunk& chunk = *images_[image].record;
  const auto& record = At<ImageRecord>(chunk.offset + sizeof(ChunkHeader));
  const bool is_wall =
      LoadRelaxed(record.clock) == static_cast<uint32_t>(SampleClock::kWall);
  return {.index = chunk.image,
          .pid = LoadRelaxed(record.pid),
          .parent_pid = LoadRelaxed(record.parent_pid),
          .pid_namespace = LoadRelaxed(record.pid_namespace),
          .start_realtime_ns = LoadRelaxed(record.start_realtime_ns),
          .start_monotonic_ns = LoadRelaxed(record.start_monotonic_ns),
          .period_ns = LoadRelaxed(record.period_ns),
          .clock = is_wall ? SampleClock::kWall : SampleClock::kCpu,
          .comm = Name(record.comm),
          .end_monotonic_ns = LoadRelaxed(record.end_monotonic_ns),
          .end_cpu_ns = LoadRelaxed(record.end_cpu_ns),
          .engine = Text(chunk, record.engine),
          .executable = Text(chunk, record.executable),
          .command_line = Text(chunk, record.command_line),
          .hostname = Text(chunk, record.hostname),
          .losses = Losses(record.losses)};
}

LossCounter SpoolReader::lost() const {
  const auto& control = At<SpoolControl>(kSpoolPageSize);
  return {LoadRelaxed(control.lost.count), LoadRelaxed(control.lost.weight)};
}

AuditArray SpoolReader::audits() const {
  const auto& control = At<SpoolControl>(kSpoolPageSize);
  AuditArray audits;
  for (size_t i = 0; i < audits.size(); ++i) {
    audits[i] = LoadRelaxed(control.audits[i]);
  }
  return audits;
}

uint64_t SpoolReader::seen_monotonic_ns() const {
  return LoadRelaxed(At<SpoolControl>(kSpoolPageSize).seen_monotonic_ns);
}

TextView SpoolReader::Text(const Chunk& chunk, const ChunkBytes& where) const {
  const uint64_t offset = LoadRelaxed(where.offset);
  const uint64_t size = LoadRelaxed(where.size);
  const uint64_t chunk_size = chunk.pages * kSpoolPageSize;
  if (offset > chunk_size || size > chunk_size - offset) return {};
  return {reinterpret_cast<const char*>(bytes_.data() + chunk.offset + offset),
          size};
}

NameArray SpoolReader::Name(const char* name) {
  NameArray copy{};
  for (size_t i = 0; i + 1 < copy.size(); ++i) copy[i] = LoadRelaxed(name[i]);
  return copy;
}

LossArray SpoolReader::Losses(const LossCounter* losses) {
  LossArray copy;
  for (size_t i = 0; i < kLossSlots; ++i) {
    copy[i] = {LoadRelaxed(losses[i].count), LoadRelaxed(losses[i].weight)};
  }
  return copy;
}

uint64_t SpoolReader::ReadModule(uint64_t offset, uint64_t room,
                                 ModuleView* module) const {
  const auto& record = At<ModuleRecord>(offset);
  if (room < sizeof(record) || LoadAcquire(record.magic) != kModuleMagic) {
    return 0;
  }
  const uint64_t size = LoadRelaxed(record.size);
  module->id = LoadRelaxed(record.id);
  module->flags = LoadRelaxed(record.flags);
  module->start = LoadRelaxed(record.start);
  module->end = LoadRelaxed(record.end);
  module->bias = LoadRelaxed(record.bias);
  module->segment_count = LoadRelaxed(record.segment_count);
  const uint64_t build_id_size = LoadRelaxed(record.build_id_size);
  const uint64_t path_size = LoadRelaxed(record.path_size);
  const uint64_t segments_size = module->segment_count * sizeof(ModuleSegment);
  if (size > room || size % kModuleAlign != 0 || module->id >= kMaxModules ||
      module->segment_count > module->segments.size() ||
      build_id_size > unwind::BuildId::kMaxSize ||
      sizeof(record) + segments_size + build_id_size + path_size > size) {
    return 0;
  }
  offset += sizeof(record);
  for (uint8_t i = 0; i < module->segment_count; ++i) {
    const auto& segment = At<ModuleSegment>(offset + i * sizeof(ModuleSegment));
    module->segments[i] = {LoadRelaxed(segment.start), LoadRelaxed(segment.end),
                           LoadRelaxed(segment.file_offset)};
  }
  offset += segments_size;
  module->build_id = bytes_.subspan(offset, build_id_size);
  const auto* path = reinterpret_cast<const char*>(bytes_.data() + offset);
  module->path = {path + build_id_size, path_size};
  return size;
}

ThreadView SpoolReader::ReadThread(const ThreadRecord& record) {
  return {.tid = LoadRelaxed(record.tid),
          .name = Name(record.name),
          .unsampled_ns = LoadRelaxed(record.unsampled_ns),
          .losses = Losses(record.losses),
          .chunk_offset = 0};
}

SpoolReader::ChunkSpan SpoolReader::CountersOf(const Image& image,
                                               uint64_t owner) {
  const auto [first, last] = std::equal_range(
      image.counters.begin(), image.counters.end(), Chunk{.owner = owner},
      [](const Chunk& a, const Chunk& b) { return a.owner < b.owner; });
  return ChunkSpan(first, last);
}

uint64_t SpoolReader::node_count(size_t image) const {
  return images_[image].nodes.size() * uint64_t{NodesPerChunk(1)} +
         images_[image].archived_nodes.size() *
             uint64_t{RecordsPerChunk<ArchivedNode>()};
}

NodeChunkView SpoolReader::node_chunk(size_t image, size_t chunk) const {
  constexpr uint64_t kPerChunk = NodesPerChunk(1);
  const Chunk& record = images_[image].nodes[chunk];
  const uint64_t number = record.owner;
  const uint64_t before =
      number == 0 ? 0 : NodesPerChunk(0) + (number - 1) * kPerChunk;
  const uint64_t size = NodesPerChunk(number);
  if (number > kMaxNodes / kPerChunk ||
      before + size > kMaxNodes - kFirstNode ||
      record.pages != NodeChunkPages(number)) {
    return {};
  }
  return {.first_id = static_cast<uint32_t>(kFirstNode + before),
          .first_index = chunk * kPerChunk,
          .nodes = {&At<StackNode>(record.offset + sizeof(ChunkHeader)), size}};
}

NodeChunkView SpoolReader::NodeChunkOf(size_t image, uint32_t id) const {
  if (id < kFirstNode || id >= kMaxNodes) return {};
  const uint64_t number = PlaceOfNode(id).chunk;
  const ChunkSpan chunks = images_[image].nodes;
  // Numbers are dense unless a writer died between drawing one and using it.
  size_t i = number;
  if (i >= chunks.size() || chunks[i].owner != number) {
    i = std::lower_bound(
            chunks.begin(), chunks.end(), number,
            [](const Chunk& a, uint64_t b) { return a.owner < b; }) -
        chunks.begin();
    if (i == chunks.size() || chunks[i].owner != number) return {};
  }
  return node_chunk(image, i);
}

void SpoolReader::PrefetchNode(size_t image, uint32_t id) const {
  constexpr size_t kLine = 64;
  constexpr size_t kLines = 3;
  const NodeChunkView chunk = NodeChunkOf(image, id);
  if (!chunk.Has(id)) return;
  const auto* node =
      reinterpret_cast<const uint8_t*>(&chunk.nodes[id - chunk.first_id]);
  for (size_t i = 0; i < kLines; ++i) __builtin_prefetch(node - i * kLine);
}

}  // namespace unspool::collectors
