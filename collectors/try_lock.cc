#include "collectors/try_lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace unspool::collectors {

void TryLock::Lock() {
  uint32_t seen = kFree;
  if (word_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire)) {
    return;
  }
  while (word_.exchange(kHeldWithWaiters, std::memory_order_acquire) != kFree) {
    syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, kHeldWithWaiters, nullptr,
            nullptr, 0);
  }
}

bool TryLock::Try() {
  uint32_t seen = kFree;
  return word_.compare_exchange_strong(seen, kHeld, std::memory_order_acquire);
}

void TryLock::Unlock() {
  if (word_.exchange(kFree, std::memory_order_release) == kHeldWithWaiters) {
    syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
}

}  // namespace unspool::collectors
