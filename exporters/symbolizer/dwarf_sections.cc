#include "exporters/symbolizer/dwarf_sections.h"

#include <string>

namespace unspool::exporters {
namespace {

// Variables' locations, macros and the various indices are of no use here.
constexpr const char* kNames[] = {
    ".debug_info",     ".debug_abbrev",      ".debug_line",   ".debug_str",
    ".debug_line_str", ".debug_str_offsets", ".debug_ranges", ".debug_rnglists",
    ".debug_addr",     ".debug_types",
};

std::string ProblemText(const char* name, const unwind::SectionData& data,
                        unwind::SectionError error) {
  std::string text = std::string(name) + " " + SectionErrorText(error);
  if (error == unwind::SectionError::kUnknownCompression) {
    text += " (ch_type " + std::to_string(data.compression()) + ")";
  }
  return text;
}

}  // namespace

absl::Status DwarfSections::Load(const unwind::ElfFile& elf) {
  uint64_t budget = kMaxInflatedSize;
  for (const char* name : kNames) {
    if (absl::Status status = Add(elf, name, &budget); !status.ok()) {
      list_.clear();
      data_.clear();
      return status;
    }
    if (list_.empty()) return absl::NotFoundError("has no .debug_info");
  }
  return absl::OkStatus();
}

absl::Status DwarfSections::Add(const unwind::ElfFile& elf, const char* name,
                                uint64_t* budget) {
  unwind::SectionData data;
  const unwind::SectionError error = data.Load(elf, name, *budget);
  if (error == unwind::SectionError::kAbsent) return absl::OkStatus();
  if (error != unwind::SectionError::kNone) {
    return absl::InvalidArgumentError(ProblemText(name, data, error));
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
