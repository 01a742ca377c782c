// Creating, opening and closing: what happens outside any handler.

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "collectors/spool/spool_writer.h"

namespace unspool::collectors {

namespace {

// Header, control page, one image, and something to record.
constexpr uint64_t kLeastPages = 8;

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

}  // namespace

SpoolStatus SpoolWriter::Create(int fd, uint64_t capacity_bytes) {
  const uint64_t pages = LimitCapacity(capacity_bytes);
  if (pages < kLeastPages) return SpoolStatus::kTooSmall;
  if (ftruncate(fd, pages * kSpoolPageSize) != 0) {
    return SpoolStatus::kBadDescriptor;
  }
  const SpoolControl control{.sampling = 1,
                             .next_image = 0,
                             .lost = {},
                             .said = 0,
                             .modules = 0,
                             .audits = {},
                             .seen_monotonic_ns = 0,
                             .reserved = {},
                             .free_runs = {}};
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

SpoolStatus SpoolWriter::Open(int fd, const ImageInfo& info, AtFork at_fork) {
  SpoolStatus status = chunks_.Map(fd, at_fork);
  if (status != SpoolStatus::kOk) return status;
  ++generation_;
  image_.Prepare(info);
  const bool is_first = chunks_.image() == 0 && !info.is_lazy;
  if (is_first && image_.FindOrAdd(chunks_) == nullptr) {
    status = SpoolStatus::kTooSmall;
    Reset(/*unmap=*/true);
  }
  return status;
}

void SpoolWriter::StopGrowing() {
  chunks_.StopGrowing(kLastGrowthBytes / kSpoolPageSize);
  stacks_.MapAll();
  modules_.MapAll();
}

void SpoolWriter::Close() { Reset(/*unmap=*/true); }

void SpoolWriter::ForgetAfterFork() { Reset(/*unmap=*/false); }

void SpoolWriter::BeginAfterFork(const ImageInfo& info) {
  modules_.Reset(/*unmap=*/false);
  stacks_.Reset(/*unmap=*/false);
  chunks_.BeginAfterFork();
  ++generation_;
  records_.store(0, std::memory_order_relaxed);
  image_.PrepareAfterFork(info);
}

void SpoolWriter::Reset(bool unmap) {
  records_.store(0, std::memory_order_relaxed);
  image_.Reset();
  module_source_ = {};
  modules_.Reset(unmap);
  stacks_.Reset(unmap);
  chunks_.Reset(unmap);
}

}  // namespace unspool::collectors
