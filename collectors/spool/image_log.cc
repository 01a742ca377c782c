// Writing the image's record: runs in the handler, once.

#include "collectors/spool/image_log.h"

#include <bit>
#include <cstring>

#include "collectors/spool/atomic_access.h"

namespace unspool::collectors {

namespace {

uint64_t* CommWords(ImageRecord* record) {
  return reinterpret_cast<uint64_t*>(record->comm);
}

}  // namespace

NameWords CutName(const char* text) {
  char bytes[sizeof(NameWords)] = {};
  for (size_t i = 0; i < sizeof(bytes) - 1 && text[i] != '\0'; ++i) {
    bytes[i] = text[i];
  }
  return std::bit_cast<NameWords>(bytes);
}

ImageRecord* ImageLog::FindOrAdd(ChunkAllocator& chunks) {
  ImageRecord* record = Find();
  if (record != nullptr) return record;
  size_t size = sizeof(ChunkHeader) + sizeof(ImageRecord);
  for (const Text& text : texts_) size += text.size();
  const uint32_t pages = (size + kSpoolPageSize - 1) / kSpoolPageSize;
  uint8_t* chunk = Fill(chunks, pages);
  if (chunk == nullptr) return Find();
  auto* ours = reinterpret_cast<ImageRecord*>(chunk + sizeof(ChunkHeader));
  // Another thread may have been faster: our pages stay a hole.
  if (!record_.compare_exchange_strong(record, ours,
                                       std::memory_order_acq_rel)) {
    return record;
  }
  chunks.Publish(chunk, ChunkType::kImage, pages, /*owner=*/0);
  return ours;
}

uint8_t* ImageLog::Fill(ChunkAllocator& chunks, uint32_t pages) {
  uint8_t* chunk = chunks.Allocate(pages);
  if (chunk == nullptr) return nullptr;
  auto* image = reinterpret_cast<ImageRecord*>(chunk + sizeof(ChunkHeader));
  image->pid = info_.pid;
  image->parent_pid = info_.parent_pid;
  image->pid_namespace = info_.pid_namespace;
  image->start_realtime_ns = info_.start_realtime_ns;
  image->start_monotonic_ns = info_.start_monotonic_ns;
  image->period_ns = info_.period_ns;
  image->clock = static_cast<uint32_t>(info_.clock);
  for (size_t i = 0; i < NameWords::kCount; ++i) {
    StoreRelaxed(CommWords(image)[i], LoadRelaxed(comm_.words[i]));
  }
  ChunkBytes* const places[kTexts] = {&image->engine, &image->executable,
                                      &image->command_line, &image->hostname};
  uint32_t offset = sizeof(ChunkHeader) + sizeof(ImageRecord);
  for (size_t i = 0; i < kTexts; ++i) {
    const auto size = static_cast<uint32_t>(texts_[i].size());
    if (size != 0) memcpy(chunk + offset, texts_[i].data(), size);
    *places[i] = {offset, size};
    offset += size;
  }
  return chunk;
}

void ImageLog::SetComm(const NameWords& name) {
  ImageRecord* record = Find();
  for (size_t i = 0; i < NameWords::kCount; ++i) {
    StoreRelaxed(comm_.words[i], name.words[i]);
    if (record != nullptr) StoreRelaxed(CommWords(record)[i], name.words[i]);
  }
}

}  // namespace unspool::collectors
