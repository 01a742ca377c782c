#include "exporters/symbolizer/dwarf_sections.h"

#include <dwarf.h>

#include <cstddef>
#include <string>

#include "unwind/byte_reader.h"

namespace unspool::exporters {
namespace {

// Variables' locations, macros and the various indices are of no use here.
constexpr const char* kNames[] = {
    ".debug_info",     ".debug_abbrev",      ".debug_line",   ".debug_str",
    ".debug_line_str", ".debug_str_offsets", ".debug_ranges", ".debug_rnglists",
    ".debug_addr",     ".debug_types",
};

std::string ProblemText(const std::string& name,
                        const unwind::SectionData& data,
                        unwind::SectionError error) {
  std::string text = name + " " + SectionErrorText(error);
  if (error == unwind::SectionError::kUnknownCompression) {
    text += " (ch_type " + std::to_string(data.compression()) + ")";
  }
  return text;
}

// Whether .debug_info begins with a unit of a type (DWARF 5 §7.5.1.3).
bool HasTypeUnit(std::span<const uint8_t> info) {
  unwind::ByteReader reader(info, 0);
  if (reader.U32() == UINT32_MAX) reader.U64();
  return reader.U16() == 5 && reader.U8() == DW_UT_split_type;
}

}  // namespace

absl::Status DwarfSections::Load(const unwind::ElfFile& elf,
                                 const char* suffix) {
  uint64_t budget = kMaxInflatedSize;
  for (const char* name : kNames) {
    if (absl::Status status = Add(elf, name, suffix, &budget); !status.ok()) {
      list_.clear();
      data_.clear();
      return status;
    }
    if (list_.empty()) return absl::NotFoundError("has no .debug_info");
  }
  return absl::OkStatus();
}

absl::Status DwarfSections::Add(const unwind::ElfFile& elf, const char* name,
                                const char* suffix, uint64_t* budget) {
  const std::string full_name = std::string(name) + suffix;
  unwind::SectionData data;
  unwind::SectionError error = data.Load(elf, full_name.c_str(), *budget);
  // A .dwo file may have a section for each type besides that of the unit.
  for (size_t i = 0; error == unwind::SectionError::kNone && list_.empty() &&
                     HasTypeUnit(data.bytes()) && i < elf.section_count();
       ++i) {
    if (elf.IsNamed(i, full_name.c_str())) {
      error = data.Load(elf, elf.Section(i), *budget);
    }
  }
  if (error == unwind::SectionError::kAbsent) return absl::OkStatus();
  if (error != unwind::SectionError::kNone) {
    return absl::InvalidArgumentError(ProblemText(full_name, data, error));
  }
  if (data.is_inflated()) *budget -= data.bytes().size();
  list_.push_back({.name = name, .bytes = data.bytes()});
  data_.push_back(std::move(data));
  return absl::OkStatus();
}

std::span<const uint8_t> DwarfSections::Find(std::string_view name) const {
  for (const DwarfSection& section : list_) {
    if (section.name == name) return section.bytes;
  }
  return {};
}

}  // namespace unspool::exporters
