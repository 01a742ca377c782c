// The DIEs of a unit (DWARF 5 §2.3), in the order of their bytes, each read
// once. libdw finds a DIE's sibling by reading all that is below it, unless
// DW_AT_sibling says where it is, and clang never writes that: a deep tree
// would be read once for each of its levels.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_DIE_TREE_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_DIE_TREE_H_

#include <elfutils/libdw.h>

#include <cstdint>

#include "unwind/byte_reader.h"

namespace unspool::exporters {

// Thread rule: one thread at a time.
class DieTree {
 public:
  struct Entry {
    Dwarf_Die die;
    uint32_t depth = 0;  // 1: right below the unit
    // Attributes of its own, not of what it is an instance of.
    bool has_name = false;
    bool has_linkage_name = false;
    bool has_code = false;  // DW_AT_low_pc or DW_AT_ranges
  };

  // Those below `unit`. Its Dwarf handle must outlive the tree.
  explicit DieTree(Dwarf_Die* unit);

  // False at the end of the unit, and where it is malformed.
  bool Next(Entry* entry);

  // Whether it ended early, because what follows makes no sense.
  bool is_malformed() const { return is_malformed_; }

 private:
  struct LastValue {
    unsigned form = 0;  // 0: none
    const uint8_t* bytes = nullptr;
  };
  struct Attributes {
    Entry* entry;
    LastValue last;
  };
  static int Note(Dwarf_Attribute* attribute, void* attributes);

  void FindEnd(Dwarf_Die* unit);
  bool Enter(Entry* entry);
  const uint8_t* EndOf(const Dwarf_Die& die, const LastValue& last);
  void SkipValue(unsigned form, unwind::ByteReader* reader) const;

  Dwarf_CU* cu_;
  const uint8_t* position_ = nullptr;
  const uint8_t* end_ = nullptr;
  uint32_t depth_ = 0;  // of the next DIE
  uint16_t version_ = 0;
  uint8_t address_size_ = 0;
  uint8_t offset_size_ = 0;
  bool is_malformed_ = false;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_DIE_TREE_H_
