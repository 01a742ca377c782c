// What the reader does with images that were condensed.

#include <algorithm>

#include "collectors/spool/spool_reader.h"

namespace unspool::collectors {

namespace {

SampleClock ClockOf(uint32_t clock) {
  return clock == static_cast<uint32_t>(SampleClock::kWall) ? SampleClock::kWall
                                                            : SampleClock::kCpu;
}

}  // namespace

// Who condensed an image may have died before it gave back the image's own
// chunks.
bool SpoolReader::DropArchived() {
  MappedArray<uint32_t> archived;
  bool ok = true;
  ForEachArchived([&](const ArchivedView& image) {
    ok = ok && archived.Append(image.facts.index);
  });
  if (!ok) return false;
  std::sort(archived.begin(), archived.end());
  Image* const kept = std::remove_if(
      images_.begin(), images_.begin() + image_count_, [&](const Image& image) {
        return std::binary_search(archived.begin(), archived.end(),
                                  image.record->image);
      });
  const Image archive = images_[image_count_];
  *kept = archive;
  image_count_ = static_cast<size_t>(kept - images_.begin());
  images_.Truncate(image_count_ + 1);
  return true;
}

uint64_t SpoolReader::ReadArchived(uint64_t offset, uint64_t room,
                                   ArchivedView* image) const {
  const auto& record = At<ArchivedImage>(offset);
  if (room < sizeof(record) || LoadAcquire(record.magic) != kArchiveMagic) {
    return 0;
  }
  const uint64_t size = LoadRelaxed(record.size);
  if (size < sizeof(record) || size > room || size % kArchiveAlign != 0) {
    return 0;
  }
  ImageView& facts = image->facts;
  facts.index = LoadRelaxed(record.image);
  facts.pid = LoadRelaxed(record.pid);
  facts.pid_namespace = LoadRelaxed(record.pid_namespace);
  facts.start_realtime_ns = LoadRelaxed(record.start_realtime_ns);
  facts.start_monotonic_ns = LoadRelaxed(record.start_monotonic_ns);
  facts.period_ns = LoadRelaxed(record.period_ns);
  facts.clock = ClockOf(LoadRelaxed(record.clock));
  facts.comm = Name(record.comm);
  facts.end_monotonic_ns = LoadRelaxed(record.end_monotonic_ns);
  facts.end_cpu_ns = LoadRelaxed(record.end_cpu_ns);
  facts.losses = Losses(record.losses);
  image->thread_count = LoadRelaxed(record.threads);
  image->threads =
      bytes_.subspan(offset + sizeof(record), size - sizeof(record));
  return size;
}

// Numbers are dense: one process draws them and dies with its last one.
template <typename Record>
const Record* SpoolReader::FindRecord(ChunkSpan chunks, uint64_t index) const {
  const uint64_t number = index / RecordsPerChunk<Record>();
  if (number >= chunks.size() || chunks[number].owner != number ||
      chunks[number].pages != kNodeChunkPages) {
    return nullptr;
  }
  const auto* first = &At<Record>(chunks[number].offset + sizeof(ChunkHeader));
  return first + index % RecordsPerChunk<Record>();
}

bool SpoolReader::FindArchivedNode(uint32_t id, NodeView* node) const {
  if (id < kFirstNode || archive() == kNoImage) return false;
  const Image& image = images_[archive()];
  const auto* record =
      FindRecord<ArchivedNode>(image.archived_nodes, id - kFirstNode);
  if (record == nullptr) return false;
  node->parent = LoadAcquire(record->parent);
  if (node->parent == 0 || node->parent >= id) return false;
  const auto* frame = FindRecord<ArchivedFrame>(image.archived_frames,
                                                LoadRelaxed(record->frame));
  if (frame == nullptr) return false;
  node->SetFrame(LoadRelaxed(frame->module_and_flags),
                 LoadRelaxed(frame->offset));
  return true;
}

bool SpoolReader::TakeArchivedThread(std::span<const uint8_t>* bytes,
                                     ThreadView* thread,
                                     uint32_t* counter_count,
                                     std::span<const uint8_t>* counters) {
  if (bytes->size() < sizeof(ArchivedThread)) return false;
  const auto& record = *reinterpret_cast<const ArchivedThread*>(bytes->data());
  const uint64_t size = LoadRelaxed(record.counter_size);
  const auto rest = bytes->subspan(sizeof(record));
  const uint64_t padded = (size + kArchiveAlign - 1) & ~(kArchiveAlign - 1);
  if (padded > rest.size()) return false;
  *thread = ReadThread(record.record);
  *counter_count = LoadRelaxed(record.counters);
  *counters = rest.first(size);
  *bytes = rest.subspan(padded);
  return true;
}

}  // namespace unspool::collectors
