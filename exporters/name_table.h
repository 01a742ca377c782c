// Names of many addresses, each function and string once.

#ifndef UNSPOOL_EXPORTERS_NAME_TABLE_H_
#define UNSPOOL_EXPORTERS_NAME_TABLE_H_

#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exporters/profile.h"
#include "exporters/symbolizer/module_names.h"

namespace unspool::exporters {

class NameTable;

// Functions that are equal are one. Thread rule: like std::vector.
class FunctionTable {
 public:
  // `function` is at `index` already; of equal ones the first counts.
  // Not async-signal-safe: allocates.
  void Note(const Function& function, uint32_t index) {
    indices_.try_emplace(KeyOf(function), index);
  }

  // The index of `function` in `functions`, where it is added if it is new.
  // Not async-signal-safe: allocates.
  uint32_t Intern(const Function& function, std::vector<Function>* functions);

  // The indices, in `profile`, of all functions of `names`, where they are
  // added if they are new.
  // Not async-signal-safe: allocates.
  std::vector<uint32_t> InternAll(const NameTable& names, Profile* profile);

 private:
  using Key = std::tuple<StringId, StringId, StringId, int64_t>;

  static Key KeyOf(const Function& function) {
    return {function.name, function.system_name, function.filename,
            function.start_line};
  }

  absl::flat_hash_map<Key, uint32_t> indices_;
};

// Thread rule: like std::vector.
class NameTable {
 public:
  // What an address is called; `key` is the caller's.
  struct Entry {
    uint32_t key;
    uint32_t line_count;
    uint64_t first_line;
  };

  // Not async-signal-safe: allocates.
  void Add(uint32_t key, std::span<const NamedFrame> frames);

  const StringTable& strings() const { return strings_; }
  const std::vector<Function>& functions() const { return functions_; }
  const std::vector<Entry>& entries() const { return entries_; }

  // Innermost first; their functions are indices into functions().
  std::span<const Line> lines(const Entry& entry) const {
    return std::span(lines_).subspan(entry.first_line, entry.line_count);
  }

 private:
  StringTable strings_;
  std::vector<Function> functions_;
  std::vector<Line> lines_;
  std::vector<Entry> entries_;
  FunctionTable indices_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_NAME_TABLE_H_
