// The modules that were there at the start and can never be unloaded, sorted by
// address. Immutable once published; lives as long as the process.

#ifndef UNSPOOL_UNWIND_MODULE_SNAPSHOT_H_
#define UNSPOOL_UNWIND_MODULE_SNAPSHOT_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/elf_module.h"
#include "unwind/frame.h"

namespace unspool::unwind {

class ModuleSnapshot {
 public:
  constexpr ModuleSnapshot() = default;
  // `modules` are sorted and disjoint; starts[i] is modules[i].module.start,
  // apart because a search then touches one or two cache lines.
  ModuleSnapshot(std::span<const LoadedModule> modules,
                 std::span<const uint64_t> starts)
      : modules_(modules), starts_(starts) {}

  // Ids are places in the list.
  uint32_t count() const { return static_cast<uint32_t>(modules_.size()); }

  // nullptr if there is none. Async-signal-safe.
  const LoadedModule* Get(ModuleId id) const {
    return id < modules_.size() ? &modules_[id] : nullptr;
  }

  // The module whose range has `pc`; kNoModule if none. Async-signal-safe.
  ModuleId Find(uint64_t pc) const {
    size_t low = 0;
    size_t high = starts_.size();
    while (low < high) {
      const size_t middle = low + (high - low) / 2;
      if (starts_[middle] <= pc) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == 0 || pc >= modules_[low - 1].module.end) return kNoModule;
    return static_cast<ModuleId>(low - 1);
  }

 private:
  std::span<const LoadedModule> modules_;
  std::span<const uint64_t> starts_;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_MODULE_SNAPSHOT_H_
