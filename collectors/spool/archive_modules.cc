#include "collectors/spool/archive_modules.h"

#include <algorithm>
#include <cstring>

namespace unspool::collectors {

namespace {

uint64_t Hash(std::span<const uint8_t> bytes) {
  uint64_t hash = 0;
  for (const uint8_t byte : bytes) hash = HashMix(hash, byte);
  return hash;
}

}  // namespace

ArchiveModules::~ArchiveModules() { log_.Reset(/*unmap=*/true); }

bool ArchiveModules::Link(ChunkAllocator& chunks, const SpoolReader& reader,
                          size_t image) {
  links_.Truncate(0);
  bool ok = true;
  reader.ForEachModule(image, [&](const ModuleView& module) {
    unwind::ModuleId id = unwind::kNoModule;
    ok = ok && FindOrAdd(chunks, module, &id) && links_.Append({module.id, id});
  });
  std::stable_sort(
      links_.begin(), links_.end(),
      [](const Linked& a, const Linked& b) { return a.from < b.from; });
  return ok;
}

// Builds of one file are one module wherever they were loaded. Others have no
// name that is sure to be theirs but that and their place.
bool ArchiveModules::MakeKey(const ModuleView& module) {
  const auto append = [&](const auto& value) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
    return key_.AppendAll({bytes, sizeof(value)});
  };
  key_.Truncate(0);
  const bool is_placed =
      module.build_id.empty() || (module.flags & kModuleRegistered) != 0;
  const uint64_t place = is_placed ? module.bias : 0;
  bool ok = append(module.flags) && append(place) &&
            append(module.segment_count) && append(module.build_id.size()) &&
            key_.AppendAll(module.build_id);
  for (size_t i = 0; i < module.segment_count; ++i) {
    const unwind::Segment& segment = module.segments[i];
    ok = ok && append(segment.start - module.bias) &&
         append(segment.end - module.bias) && append(segment.file_offset);
  }
  const auto* path = reinterpret_cast<const uint8_t*>(module.path.data());
  return ok && key_.AppendAll({path, module.path.size()});
}

bool ArchiveModules::FindOrAdd(ChunkAllocator& chunks, const ModuleView& module,
                               unwind::ModuleId* id) {
  if (!MakeKey(module)) return false;
  const uint32_t number = index_.FindOrAdd(
      Hash(key_.view()),
      [&](uint32_t other) {
        const KnownModule& known = known_[other - 1];
        return known.key_size == key_.size() &&
               memcmp(&keys_[known.key], key_.data(), key_.size()) == 0;
      },
      [&] { return Add(chunks, module); });
  *id = number - 1;
  return number != 0;
}

// Of which key_ is the key. Its id + 1; 0: no room or no memory.
uint32_t ArchiveModules::Add(ChunkAllocator& chunks, const ModuleView& module) {
  const KnownModule known{.key = keys_.size(), .key_size = key_.size()};
  if (!keys_.AppendAll(key_.view()) || !keys_.Append(0)) return 0;
  unwind::Module copy;
  copy.start = module.start;
  copy.end = module.end;
  copy.bias = module.bias;
  copy.is_main = (module.flags & kModuleMain) != 0;
  copy.is_vdso = (module.flags & kModuleVdso) != 0;
  copy.is_libc_or_loader = (module.flags & kModuleLibcOrLoader) != 0;
  copy.is_registered = (module.flags & kModuleRegistered) != 0;
  copy.segment_count = module.segment_count;
  copy.segments = module.segments;
  copy.build_id.size = static_cast<uint8_t>(module.build_id.size());
  std::copy(module.build_id.begin(), module.build_id.end(),
            copy.build_id.bytes.begin());
  // The path is the key's end.
  copy.path =
      reinterpret_cast<const char*>(keys_.end() - 1 - module.path.size());
  const auto id = static_cast<unwind::ModuleId>(known_.size());
  if (!log_.Add(chunks, id, copy, /*directory=*/nullptr) ||
      !known_.Append(known)) {
    return 0;
  }
  return id + 1;
}

// Of a node's module and flags, as they are here. A module that is not recorded
// is none: its frames are known by their absolute address.
uint32_t ArchiveModules::BitsOf(const NodeView& node) const {
  uint32_t module = kNodeNoModule;
  const auto* const link = std::lower_bound(
      links_.begin(), links_.end(), node.module,
      [](const Linked& a, unwind::ModuleId b) { return a.from < b; });
  if (link != links_.end() && link->from == node.module) {
    module = link->to;
  }
  return module | (node.exact ? kNodeExact : 0) |
         (node.guessed ? kNodeGuessed : 0);
}

}  // namespace unspool::collectors
