#include "unwind/later_setup.h"

#include <link.h>

#include <cstring>
#include <span>

#include "unwind/dynamic_symbol.h"
#include "unwind/hash_bytes.h"
#include "unwind/mapped_memory.h"

namespace unspool::unwind {

struct LaterSetup::Look {
  LaterSetup& setup;
  AddSources add_from_files;
  const Process& process;
  size_t next = 0;       // place in the loader's list
  size_t first_new = 0;  // as far as it is known already
  uint64_t adds = 0;     // loads that there ever were
  bool is_first = true;
  bool is_complete = true;
};

namespace {

int CountObject(dl_phdr_info*, size_t, void* count) {
  ++*static_cast<size_t*>(count);
  return 0;
}

// Path and first kilobyte, which has the headers and the build id.
uint64_t HashModule(const LoadedModule& loaded) {
  constexpr size_t kBytes = 1024;
  const Module& module = loaded.module;
  const auto* path = reinterpret_cast<const uint8_t*>(module.path);
  const uint64_t hash =
      HashBytes(std::span(path, std::strlen(module.path)), kHashSeed);
  return HashBytes(MappedSource(loaded).Window(module.start, kBytes), hash);
}

uint64_t BytesOf(const LoadedModule& loaded) {
  uint64_t bytes = loaded.copied.size;
  for (const UnwindSource& source : loaded.source_list()) {
    bytes += source.index.size_bytes();
  }
  return bytes;
}

}  // namespace

bool LaterSetup::CompleteNewModules(AddSources add_from_files,
                                    const Process& process) {
  Look look = {*this, add_from_files, process};
  dl_iterate_phdr(OnObject, &look);
  const bool found = look.adds != adds_seen_;
  if (look.is_complete) adds_seen_ = look.adds;
  return found;
}

// The loader's lock is held, so what `info` describes stays mapped. The list is
// that of loading: what is new is at its end.
int LaterSetup::OnObject(dl_phdr_info* info, size_t, void* look_pointer) {
  auto& look = *static_cast<Look*>(look_pointer);
  if (look.is_first) {
    look.is_first = false;
    look.adds = info->dlpi_adds;
    const uint64_t added = look.adds - look.setup.adds_seen_;
    if (added == 0) return 1;
    size_t count = 0;
    dl_iterate_phdr(CountObject, &count);  // the lock is recursive
    look.first_new = added < count ? count - added : 0;
  }
  if (look.next++ >= look.first_new) look.setup.LookAt(*info, look);
  return 0;
}

LaterModules::Found LaterSetup::Find(uint64_t address, Look& look) {
  look.process.scratch.checked_count = 0;
  return look.process.later.Find(address, look.process.scratch);
}

void LaterSetup::LookAt(const dl_phdr_info& info, Look& look) {
  LoadedModule loaded;
  const bool is_described = DescribeSegments(
      std::span(info.dlpi_phdr, info.dlpi_phnum), info.dlpi_addr, &loaded);
  const ModuleSnapshot& pinned = look.process.pinned;
  const LoadedModule* known = pinned.Get(pinned.Find(loaded.module.start));
  uint64_t descriptor = FindDynamicSymbol(info, kJitDescriptor, STT_OBJECT);
  if (descriptor == 0 && known != nullptr) descriptor = known->jit_descriptor;
  if (descriptor != 0) {
    look.process.jit.AddDescriptor(descriptor, look.process.registered);
  }
  if (!is_described || known != nullptr) return;
  if (info.dlpi_name != nullptr) loaded.module.path = info.dlpi_name;
  const uint64_t hash = HashModule(loaded);
  Remembered& remembered = memory_[hash % kMemory];
  if (remembered.hash == hash) {
    if (!remembered.has_more) return;
    const auto found = Find(loaded.module.start, look);
    if (found.module != nullptr && look.process.later.IsCompleted(found.id))
      return;
  }
  if (bytes_used_ >= kMaxBytes ||
      look.process.later.count() == LaterModules::kCapacity) {
    return;
  }
  DescribeUnwindData(look.add_from_files, &loaded);
  const uint64_t bytes = BytesOf(loaded);
  bytes_used_ += bytes;
  remembered = {hash, bytes != 0};
  if (bytes != 0 && !Complete(loaded, look)) look.is_complete = false;
}

// False: the loader does not show the module to handlers yet.
bool LaterSetup::Complete(const LoadedModule& with_more, Look& look) {
  const auto found = Find(with_more.module.start, look);
  if (found.module == nullptr) return false;
  const auto kept = MapArray<LoadedModule>(1);
  if (kept.empty()) return true;
  // With the path that stays, and the ends that handlers know by it.
  kept[0] = *found.module;
  kept[0].sources = with_more.sources;
  kept[0].source_count = with_more.source_count;
  kept[0].copied = with_more.copied;
  look.process.later.Complete(found.id, &kept[0]);
  return true;
}

}  // namespace unspool::unwind
