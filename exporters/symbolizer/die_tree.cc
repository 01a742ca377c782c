#include "exporters/symbolizer/die_tree.h"

#include <dwarf.h>

#include <span>

namespace unspool::exporters {

DieTree::DieTree(Dwarf_Die* unit) : cu_(unit->cu) {
  FindEnd(unit);
  if (end_ == nullptr) {
    is_malformed_ = true;
    return;
  }
  Entry root;
  root.die = *unit;
  if (!Enter(&root)) end_ = position_;
}

void DieTree::FindEnd(Dwarf_Die* unit) {
  uint8_t type = 0;
  if (dwarf_cu_info(unit->cu, &version_, &type, nullptr, nullptr, nullptr,
                    nullptr, nullptr) != 0) {
    return;
  }
  const Dwarf_Off offset = dwarf_dieoffset(unit);
  const Dwarf_Off header = offset - dwarf_cuoffset(unit);
  Dwarf_Off end = 0;
  // What a signature is asked for lies in .debug_types.
  uint64_t signature = 0;
  const bool is_elsewhere = version_ == 4 && type == DW_UT_type;
  if (dwarf_next_unit(dwarf_cu_getdwarf(unit->cu), header, &end, nullptr,
                      nullptr, nullptr, &address_size_, &offset_size_,
                      is_elsewhere ? &signature : nullptr, nullptr) != 0 ||
      end <= offset) {
    return;
  }
  end_ = static_cast<const uint8_t*>(unit->addr) + (end - offset);
}

bool DieTree::Next(Entry* entry) {
  // A null entry ends the children of a DIE (§2.3).
  while (depth_ != 0 && position_ < end_ && *position_ == 0) {
    ++position_;
    --depth_;
  }
  if (depth_ == 0 || position_ >= end_) return false;
  *entry = Entry();
  // As libdw does for a sibling.
  entry->die = {};
  entry->die.addr = const_cast<uint8_t*>(position_);
  entry->die.cu = cu_;
  return Enter(entry);
}

// Reads a DIE, and goes on behind it.
bool DieTree::Enter(Entry* entry) {
  Attributes attributes = {.entry = entry, .last = {}};
  entry->depth = depth_;
  const int children = dwarf_haschildren(&entry->die);
  if (children < 0 || dwarf_getattrs(&entry->die, &Note, &attributes, 0) != 1) {
    position_ = end_;
    is_malformed_ = true;
    return false;
  }
  position_ = EndOf(entry->die, attributes.last);
  if (children == 1) ++depth_;
  return true;
}

int DieTree::Note(Dwarf_Attribute* attribute, void* attributes) {
  auto* noted = static_cast<Attributes*>(attributes);
  // Not in the DIE but in its abbreviation.
  const unsigned form = dwarf_whatform(attribute);
  if (form != DW_FORM_implicit_const) noted->last = {form, attribute->valp};
  switch (dwarf_whatattr(attribute)) {
    case DW_AT_name:
      noted->entry->has_name = true;
      break;
    case DW_AT_linkage_name:
      noted->entry->has_linkage_name = true;
      break;
    case DW_AT_low_pc:
    case DW_AT_ranges:
      noted->entry->has_code = true;
      break;
  }
  return DWARF_CB_OK;
}

// libdw, which read them all, does not say where the last value ends.
const uint8_t* DieTree::EndOf(const Dwarf_Die& die, const LastValue& last) {
  const auto* start =
      last.form == 0 ? static_cast<const uint8_t*>(die.addr) : last.bytes;
  unwind::ByteReader reader({start, end_}, 0);
  if (last.form == 0) {
    reader.Uleb128();  // the abbreviation's code
  } else {
    SkipValue(last.form, &reader);
  }
  if (reader.ok()) return start + reader.address();
  is_malformed_ = true;
  return end_;
}

// DWARF 5 §7.5.6, and GNU's forms.
void DieTree::SkipValue(unsigned form, unwind::ByteReader* reader) const {
  if (form == DW_FORM_indirect) {
    form = static_cast<unsigned>(reader->Uleb128());
  }
  switch (form) {
    case DW_FORM_flag_present:
      return;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
      return reader->Skip(1);
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
      return reader->Skip(2);
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
      return reader->Skip(3);
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
      return reader->Skip(4);
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sup8:
    case DW_FORM_ref_sig8:
      return reader->Skip(8);
    case DW_FORM_data16:
      return reader->Skip(16);
    case DW_FORM_addr:
      return reader->Skip(address_size_);
    case DW_FORM_ref_addr:
      return reader->Skip(version_ <= 2 ? address_size_ : offset_size_);
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
      return reader->Skip(offset_size_);
    case DW_FORM_sdata:
      reader->Sleb128();
      return;
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
      reader->Uleb128();
      return;
    case DW_FORM_block1:
      return reader->Skip(reader->U8());
    case DW_FORM_block2:
      return reader->Skip(reader->U16());
    case DW_FORM_block4:
      return reader->Skip(reader->U32());
    case DW_FORM_block:
    case DW_FORM_exprloc:
      return reader->Skip(reader->Uleb128());
    case DW_FORM_string:
      while (reader->U8() != 0) continue;
      return;
    default:
      return reader->Fail();
  }
}

}  // namespace unspool::exporters
