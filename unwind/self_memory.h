// Reads the memory of the process it runs in, without ever faulting.
//
// Inside the stack that the walk began on, above its SP, and in the code of
// pinned modules, a plain load is safe and free. Everything else goes through
// process_vm_readv(2) on ourselves: the kernel answers EFAULT where a load
// would be a SIGSEGV. A probe followed by a load would be racy, so the bytes
// are copied, a page at a time, and the copy does not outlive the walk.

#ifndef UNSPOOL_UNWIND_SELF_MEMORY_H_
#define UNSPOOL_UNWIND_SELF_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "unwind/attributes.h"
#include "unwind/byte_source.h"

namespace unspool::unwind {

class ModuleSnapshot;

inline constexpr uint64_t kPageSize = 4096;

// Copies from `address` to `out` by process_vm_readv; gives the bytes that were
// readable before the first page that is not: out.size(), fewer, or 0; also 0
// where the call is forbidden. Keeps errno. Async-signal-safe.
size_t CopyFromSelf(uint64_t address, std::span<uint8_t> out);

// False: CopyFromSelf never makes the call, and gives 0, from now on: for a
// program whose seccomp filter would kill for it. Async-signal-safe.
void SetCopyingAllowed(bool is_allowed);

// The page that was read last in this walk.
struct PageCopy {
  uint64_t address = 0;
  size_t size = 0;  // valid bytes; 0 if there is no page
  std::array<uint8_t, kPageSize> bytes;
};

// A MemoryReader. All members are async-signal-safe.
class SelfMemory {
 public:
  // Plain loads in [plain_low, plain_high), and in the readable code of
  // `pinned` ones if that is not null; both must stay mapped. `page` is for
  // this reader alone, and what it held before is forgotten.
  SelfMemory(uint64_t plain_low, uint64_t plain_high, PageCopy& page,
             const ModuleSnapshot* pinned = nullptr)
      : plain_low_(plain_low),
        plain_words_(plain_high - plain_low < sizeof(uint64_t)
                         ? 0
                         : plain_high - plain_low - sizeof(uint64_t) + 1),
        page_(page),
        pinned_(pinned) {
    page_.size = 0;
  }

  // How many addresses from `address` on hold a word for LoadPlain().
  uint64_t plain_words_from(uint64_t address) const {
    const uint64_t offset = address - plain_low_;
    return offset < plain_words_ ? plain_words_ - offset : 0;
  }
  UNSPOOL_READS_RAW_STACK static uint64_t LoadPlain(uint64_t address) {
    using Word [[gnu::may_alias, gnu::aligned(1)]] = uint64_t;
    return *reinterpret_cast<const volatile Word*>(address);
  }

  bool Read(uint64_t address, size_t size, uint64_t* value) {
    if (address - plain_low_ < plain_words_ && size == sizeof(uint64_t)) {
      *value = LoadPlain(address);
      return true;
    }
    // By a word of its own: one whose address is known elsewhere would be kept
    // in memory, and walks wait for it.
    uint64_t copied = 0;
    const bool is_read = ReadCopied(address, size, &copied);
    *value = copied;
    return is_read;
  }

 private:
  bool ReadCopied(uint64_t address, size_t size, uint64_t* value);
  bool IsPinnedCode(uint64_t address, size_t size);

  uint64_t plain_low_;
  uint64_t plain_words_;  // addresses from there on at which one word lies
  PageCopy& page_;
  const ModuleSnapshot* pinned_;
  uint64_t code_start_ = 0;  // of pinned_, that were read last
  uint64_t code_size_ = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_SELF_MEMORY_H_
