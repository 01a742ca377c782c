// The tables that a pprof profile's samples refer to: mappings, locations,
// functions. Ids count from 1 in the order in which entries came up.

#ifndef UNSPOOL_EXPORTERS_RAW_PROFILE_TABLES_H_
#define UNSPOOL_EXPORTERS_RAW_PROFILE_TABLES_H_

#include <cstddef>
#include <cstdint>

#include "collectors/spool/id_index.h"
#include "collectors/spool/mapped_array.h"
#include "exporters/raw/string_table.h"

namespace unspool::exporters::raw {

struct Mapping {
  uint64_t start = 0;
  uint64_t limit = 0;
  uint64_t file_offset = 0;
  uint32_t file = 0;      // strings
  uint32_t build_id = 0;  // lower-case hex
  bool has_functions = false;
};

struct Location {
  uint32_t mapping = 0;
  uint32_t function = 0;  // 0: not named here
  uint64_t address = 0;
};

// Running out of memory is remembered, not returned: ask ok(). Ids are then 0.
// Not async-signal-safe: allocates.
class ProfileTables {
 public:
  // The mapping of this part of this file. Parts of one file are the same if
  // build id, file, file offset and size are, wherever they were mapped;
  // without a build id only if the address is the same too.
  uint32_t FindOrAddMapping(const Mapping& mapping);

  // The location of `address` in `mapping`.
  uint32_t FindOrAddLocation(uint32_t mapping, uint64_t address);
  // The location of an address that is in no module: in the mapping [unknown],
  // which spans whatever was asked for.
  uint32_t FindOrAddUnknown(uint64_t address);
  // The location of an address in code that was registered as `name`, one of
  // strings(): a function of that name in the mapping [jit], which spans
  // whatever was asked for.
  uint32_t FindOrAddCode(uint64_t address, uint32_t name);
  // The location of a frame that is no code, such as "[truncated: depth]": a
  // function of that name in the mapping [unspool].
  uint32_t FindOrAddPseudo(const char* name);

  StringTable& strings() { return strings_; }
  const StringTable& strings() const { return strings_; }
  const Mapping& mapping(uint32_t id) const { return mappings_[id - 1]; }
  std::span<const Mapping> mappings() const { return mappings_.view(); }
  std::span<const Location> locations() const { return locations_.view(); }
  // The functions' names, as strings.
  std::span<const uint32_t> functions() const { return functions_.view(); }

  bool ok() const { return ok_ && strings_.ok(); }

 private:
  uint32_t AddMapping(const Mapping& mapping);
  uint32_t FindOrAddFunction(uint32_t name);
  uint32_t Extend(uint32_t* mapping, uint64_t address, const char* name,
                  bool has_functions);
  uint32_t FindOrAdd(const Location& location);
  bool IsSame(const Mapping& a, const Mapping& b) const;

  StringTable strings_;
  collectors::MappedArray<Mapping> mappings_;
  collectors::MappedArray<Location> locations_;
  collectors::MappedArray<uint32_t> functions_;
  collectors::IdIndex mapping_index_;
  collectors::IdIndex location_index_;
  collectors::IdIndex function_index_;
  uint32_t unknown_mapping_ = 0;
  uint32_t code_mapping_ = 0;
  uint32_t pseudo_mapping_ = 0;
  bool ok_ = true;
};

}  // namespace unspool::exporters::raw

#endif  // UNSPOOL_EXPORTERS_RAW_PROFILE_TABLES_H_
