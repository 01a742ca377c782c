// Reserving the bias table, once, at start.

#include "collectors/spool/module_log.h"
#include "collectors/spool/reserved_memory.h"

namespace unspool::collectors {

bool ModuleLog::Map() {
  biases_ = ReserveArray<uint64_t>(kMaxModules);
  return biases_ != nullptr;
}

void ModuleLog::Reset(bool unmap) {
  if (unmap) ReleaseArray(biases_, kMaxModules);
  biases_ = nullptr;
  tail_.store(0, std::memory_order_relaxed);
}

}  // namespace unspool::collectors
