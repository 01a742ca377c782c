// pprof's string table: each text once, index 0 is the empty one.

#ifndef UNSPOOL_EXPORTERS_RAW_STRING_TABLE_H_
#define UNSPOOL_EXPORTERS_RAW_STRING_TABLE_H_

#include <cstdint>
#include <cstring>
#include <span>

#include "collectors/spool/id_index.h"
#include "collectors/spool/mapped_array.h"

namespace unspool::exporters::raw {

// Running out of memory is remembered, not returned: ask ok().
// Not async-signal-safe: allocates.
class StringTable {
 public:
  StringTable() { Intern(""); }

  // The text's index. Bytes that are not UTF-8, which protobuf forbids in
  // strings, become '?'.
  uint32_t Intern(std::span<const char> text);
  uint32_t Intern(const char* text) { return Intern({text, strlen(text)}); }

  bool ok() const { return ok_; }
  size_t size() const { return texts_.size(); }
  std::span<const char> operator[](size_t index) const {
    return bytes_.view().subspan(texts_[index].offset, texts_[index].size);
  }

 private:
  struct Text {
    size_t offset;  // in bytes_
    size_t size;
  };

  collectors::MappedArray<char> bytes_;
  collectors::MappedArray<Text> texts_;
  collectors::IdIndex index_;  // id: index + 1
  bool ok_ = true;
};

}  // namespace unspool::exporters::raw

#endif  // UNSPOOL_EXPORTERS_RAW_STRING_TABLE_H_
