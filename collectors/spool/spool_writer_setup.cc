// Creating, opening and closing: what happens outside any handler.

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "collectors/spool/spool_writer.h"

namespace unspool::collectors {

namespace {

// Header, control page, one image, and something to record.
constexpr uint64_t kLeastPages = 8;
// A longer command line is cut.
constexpr size_t kMaxCommandLine = 8192;
constexpr size_t kMaxText = 4096;

SpoolStatus WriteAll(int fd, const void* data, size_t size, off_t offset) {
  const ssize_t written = pwrite(fd, data, size, offset);
  if (written == static_cast<ssize_t>(size)) return SpoolStatus::kOk;
  const bool is_full = written >= 0 || errno == ENOSPC || errno == EDQUOT;
  return is_full ? SpoolStatus::kNoMemory : SpoolStatus::kBadDescriptor;
}

// Past RLIMIT_FSIZE, ftruncate would end the process by SIGXFSZ.
uint64_t LimitCapacity(uint64_t capacity_bytes) {
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    capacity_bytes = std::min<uint64_t>(capacity_bytes, limit.rlim_cur);
  }
  return capacity_bytes / kSpoolPageSize;
}

// Strings behind the ImageRecord, one after the other.
class ImageText {
 public:
  ImageText(uint8_t* chunk, size_t offset) : chunk_(chunk), offset_(offset) {}

  ChunkBytes Append(std::span<const char> text) {
    const ChunkBytes where{static_cast<uint32_t>(offset_),
                           static_cast<uint32_t>(text.size())};
    if (!text.empty()) memcpy(chunk_ + offset_, text.data(), text.size());
    offset_ += text.size();
    return where;
  }

 private:
  uint8_t* chunk_;
  size_t offset_;
};

std::span<const char> CutText(const char* text) {
  return {text, strnlen(text, kMaxText)};
}

}  // namespace

SpoolStatus SpoolWriter::Create(int fd, uint64_t capacity_bytes) {
  const uint64_t pages = LimitCapacity(capacity_bytes);
  if (pages < kLeastPages) return SpoolStatus::kTooSmall;
  if (ftruncate(fd, pages * kSpoolPageSize) != 0) {
    return SpoolStatus::kBadDescriptor;
  }
  const SpoolControl control{.sampling = 1, .next_image = 0};
  SpoolStatus status = WriteAll(fd, &control, sizeof(control), kSpoolPageSize);
  if (status != SpoolStatus::kOk) return status;
  const SpoolHeader header{.magic = kSpoolMagic,
                           .version = kSpoolVersion,
                           .header_size = sizeof(SpoolHeader),
                           .capacity_pages = pages,
                           .next_free_page = kFirstChunkPage};
  status = WriteAll(fd, &header, sizeof(header), 0);
  // A reader that has it mapped must not be killed by a recorded program that
  // cuts it. Only memfds know seals; other files do without.
  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
  return status;
}

SpoolStatus SpoolWriter::Open(int fd, const ImageInfo& info) {
  SpoolStatus status = chunks_.Map(fd);
  if (status != SpoolStatus::kOk) return status;
  if (!stacks_.Map(chunks_.capacity_pages()) || !modules_.Map()) {
    status = SpoolStatus::kNoMemory;
  } else {
    status = WriteImage(info);
  }
  if (status != SpoolStatus::kOk) Reset(/*unmap=*/true);
  return status;
}

SpoolStatus SpoolWriter::WriteImage(const ImageInfo& info) {
  utsname host;
  if (uname(&host) != 0) host.nodename[0] = '\0';
  const std::span<const char> texts[] = {
      CutText(info.engine), CutText(info.executable),
      info.command_line.first(
          std::min(info.command_line.size(), kMaxCommandLine)),
      CutText(host.nodename)};
  size_t size = sizeof(ChunkHeader) + sizeof(ImageRecord);
  const size_t text_offset = size;
  for (const auto& text : texts) size += text.size();
  const uint32_t pages = (size + kSpoolPageSize - 1) / kSpoolPageSize;
  uint8_t* chunk = chunks_.Allocate(pages);
  if (chunk == nullptr) return SpoolStatus::kTooSmall;
  auto* image = reinterpret_cast<ImageRecord*>(chunk + sizeof(ChunkHeader));
  image->pid = info.pid;
  image->parent_pid = info.parent_pid;
  image->start_realtime_ns = info.start_realtime_ns;
  image->start_monotonic_ns = info.start_monotonic_ns;
  image->period_ns = info.period_ns;
  image->clock = static_cast<uint32_t>(info.clock);
  memcpy(image->comm, info.comm, sizeof(image->comm));
  ImageText text(chunk, text_offset);
  image->engine = text.Append(texts[0]);
  image->executable = text.Append(texts[1]);
  image->command_line = text.Append(texts[2]);
  image->hostname = text.Append(texts[3]);
  chunks_.Publish(chunk, ChunkType::kImage, pages, /*owner=*/0);
  image_ = image;
  return SpoolStatus::kOk;
}

void SpoolWriter::Close() { Reset(/*unmap=*/true); }

void SpoolWriter::ForgetAfterFork() { Reset(/*unmap=*/false); }

void SpoolWriter::Reset(bool unmap) {
  image_ = nullptr;
  modules_.Reset(unmap);
  stacks_.Reset(unmap);
  chunks_.Reset(unmap);
}

}  // namespace unspool::collectors
