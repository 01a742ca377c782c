#include "exporters/raw/profile_tables.h"

#include <algorithm>

namespace unspool::exporters::raw {

using collectors::HashMix;

namespace {

constexpr uint64_t kPageSize = 4096;
constexpr uint64_t kLastAddress = ~uint64_t{0};

uint64_t PageStart(uint64_t address) { return address & ~(kPageSize - 1); }

// The limit of a mapping whose last byte is at `address` < kLastAddress.
uint64_t PageLimit(uint64_t address) {
  const uint64_t start = PageStart(address);
  return start > kLastAddress - kPageSize ? kLastAddress : start + kPageSize;
}

template <typename T>
uint32_t AppendWithId(collectors::MappedArray<T>& table, const T& entry) {
  return table.Append(entry) ? static_cast<uint32_t>(table.size()) : 0;
}

}  // namespace

uint32_t ProfileTables::FindOrAddMapping(const Mapping& mapping) {
  uint64_t hash = HashMix(mapping.build_id, mapping.file);
  hash = HashMix(hash, mapping.file_offset);
  hash = HashMix(hash, mapping.limit - mapping.start);
  if (mapping.build_id == 0) hash = HashMix(hash, mapping.start);
  const uint32_t id = mapping_index_.FindOrAdd(
      hash,
      [&](uint32_t other) { return IsSame(mappings_[other - 1], mapping); },
      [&] { return AppendWithId(mappings_, mapping); });
  ok_ = ok_ && id != 0;
  return id;
}

bool ProfileTables::IsSame(const Mapping& a, const Mapping& b) const {
  return a.file == b.file && a.build_id == b.build_id &&
         a.file_offset == b.file_offset &&
         a.limit - a.start == b.limit - b.start &&
         (a.build_id != 0 || a.start == b.start);
}

uint32_t ProfileTables::AddMapping(const Mapping& mapping) {
  const uint32_t id = AppendWithId(mappings_, mapping);
  ok_ = ok_ && id != 0;
  return id;
}

uint32_t ProfileTables::FindOrAddLocation(uint32_t mapping, uint64_t address) {
  return FindOrAdd({.mapping = mapping, .function = 0, .address = address});
}

uint32_t ProfileTables::FindOrAddUnknown(uint64_t address) {
  address = std::min(address, kLastAddress - 1);
  const uint32_t mapping = Extend(&unknown_mapping_, address, "[unknown]",
                                  /*has_functions=*/false);
  return mapping == 0 ? 0 : FindOrAddLocation(mapping, address);
}

uint32_t ProfileTables::FindOrAddCode(uint64_t address, uint32_t name) {
  address = std::min(address, kLastAddress - 1);
  const uint32_t function = FindOrAddFunction(name);
  const uint32_t mapping =
      Extend(&code_mapping_, address, "[jit]", /*has_functions=*/true);
  return mapping == 0 ? 0 : FindOrAdd({mapping, function, address});
}

// The mapping of this name, which is added if *mapping is 0, with `address` in
// it. A limit is one past the last address, so the very last cannot be inside.
uint32_t ProfileTables::Extend(uint32_t* mapping, uint64_t address,
                               const char* name, bool has_functions) {
  if (*mapping == 0) {
    *mapping = AddMapping({.start = PageStart(address),
                           .limit = PageLimit(address),
                           .file = strings_.Intern(name),
                           .has_functions = has_functions});
  }
  if (!ok_) return 0;
  Mapping& extended = mappings_[*mapping - 1];
  extended.start = std::min(extended.start, PageStart(address));
  extended.limit = std::max(extended.limit, PageLimit(address));
  return *mapping;
}

uint32_t ProfileTables::FindOrAddFunction(uint32_t name) {
  const uint32_t id = function_index_.FindOrAdd(
      HashMix(0, name),
      [&](uint32_t other) { return functions_[other - 1] == name; },
      [&] { return AppendWithId(functions_, name); });
  ok_ = ok_ && id != 0;
  return id;
}

uint32_t ProfileTables::FindOrAddPseudo(const char* name) {
  const uint32_t function = FindOrAddFunction(strings_.Intern(name));
  if (pseudo_mapping_ == 0) {
    pseudo_mapping_ = AddMapping({.start = 0,
                                  .limit = kPageSize,
                                  .file = strings_.Intern("[unspool]"),
                                  .has_functions = true});
  }
  // Any address of its own will do.
  return ok_ ? FindOrAdd({pseudo_mapping_, function, function}) : 0;
}

uint32_t ProfileTables::FindOrAdd(const Location& location) {
  const uint32_t id = location_index_.FindOrAdd(
      HashMix(HashMix(HashMix(0, location.mapping), location.function),
              location.address),
      [&](uint32_t other) {
        const Location& present = locations_[other - 1];
        return present.mapping == location.mapping &&
               present.function == location.function &&
               present.address == location.address;
      },
      [&] { return AppendWithId(locations_, location); });
  ok_ = ok_ && id != 0;
  return id;
}

}  // namespace unspool::exporters::raw
