#include "unwind/self_memory.h"

#include <sys/syscall.h>
#include <sys/uio.h>

#include <atomic>

#include "unwind/arch/arch.h"
#include "unwind/module_snapshot.h"

namespace unspool::unwind {
namespace {

// A transfer ends at the first remote iovec that is not readable as a whole, so
// each is one page at most: readv's partial results are by iovec.
constexpr size_t kMaxPages = 4;

constinit std::atomic<bool> is_copying_allowed{true};

}  // namespace

size_t CopyFromSelf(uint64_t address, std::span<uint8_t> out) {
  if (!is_copying_allowed.load(std::memory_order_relaxed)) return 0;
  iovec local = {out.data(), out.size()};
  iovec remote[kMaxPages];
  size_t pages = 0;
  uint64_t next = address;
  size_t left = out.size();
  for (; left > 0 && pages < kMaxPages; ++pages) {
    const size_t to_page_end = kPageSize - next % kPageSize;
    const size_t size = left < to_page_end ? left : to_page_end;
    if (next + size - 1 < next) break;  // wraps around
    remote[pages] = {reinterpret_cast<void*>(next), size};
    next += size;
    left -= size;
  }
  local.iov_len = out.size() - left;
  // Asked each time: what a parent remembered is wrong after fork. Not the
  // process's id: after its main thread's pthread_exit() that names no memory.
  const long self = RawSyscall(SYS_gettid);
  const long copied =
      RawSyscall(SYS_process_vm_readv, self, reinterpret_cast<long>(&local), 1,
                 reinterpret_cast<long>(remote), static_cast<long>(pages), 0);
  return copied < 0 ? 0 : static_cast<size_t>(copied);
}

void SetCopyingAllowed(bool is_allowed) {
  is_copying_allowed.store(is_allowed, std::memory_order_relaxed);
}

// Inlined: its stack would be on top of the deepest.
[[gnu::always_inline]] inline bool SelfMemory::IsPinnedCode(uint64_t address,
                                                            size_t size) {
  const auto is_in_code = [&] {
    const uint64_t offset = address - code_start_;
    return offset < code_size_ && size <= code_size_ - offset;
  };
  if (is_in_code()) return true;
  if (pinned_ == nullptr) return false;
  const LoadedModule* module = pinned_->Get(pinned_->Find(address));
  if (module == nullptr || !module->IsCode(address)) return false;
  for (const AddressRange& load : module->load_list()) {
    if (address - load.address < load.size) {
      code_start_ = load.address;
      code_size_ = load.size;
    }
  }
  return is_in_code();
}

[[gnu::hot]] bool SelfMemory::ReadCopied(uint64_t address, size_t size,
                                         uint64_t* value) {
  *value = 0;
  if (size > sizeof(*value)) return false;
  if (IsPinnedCode(address, size)) {
    std::memcpy(value, reinterpret_cast<const void*>(address), size);
    return true;
  }
  const uint64_t page = address & ~(kPageSize - 1);
  if (address + size > page + kPageSize) {
    uint8_t bytes[sizeof(*value)];
    if (CopyFromSelf(address, {bytes, size}) != size) return false;
    std::memcpy(value, bytes, size);
    return true;
  }
  if (page_.size == 0 || page_.address != page) {
    page_.address = page;
    page_.size = CopyFromSelf(page, page_.bytes);
  }
  if (page_.size != kPageSize) return false;
  std::memcpy(value, page_.bytes.data() + (address - page), size);
  return true;
}

}  // namespace unspool::unwind
