#include "exporters/symbolizer/dwo_file.h"

#include <errno.h>

#include <span>

namespace unspool::exporters {

absl::Status DwoFile::Open(const std::string& path) {
  if (const int error = file_.Open(path.c_str())) {
    return absl::ErrnoToStatus(error, "cannot be read");
  }
  const unwind::ElfError error = elf_.Parse(file_.bytes());
  if (error != unwind::ElfError::kNone) {
    return absl::InvalidArgumentError(unwind::ElfErrorText(error));
  }
  absl::Status status = sections_.Load(elf_, ".dwo");
  if (absl::IsNotFound(status)) {
    return absl::InvalidArgumentError("has no .debug_info.dwo");
  }
  return status.ok() ? ReadIndex() : status;
}

absl::Status DwoFile::ReadIndex() {
  const unwind::SectionError error = index_bytes_.Load(
      elf_, ".debug_cu_index", DwarfSections::kMaxInflatedSize);
  if (error == unwind::SectionError::kAbsent) return absl::OkStatus();
  if (!index_.emplace().Parse(index_bytes_.bytes())) {
    return absl::InvalidArgumentError(".debug_cu_index is damaged");
  }
  return absl::OkStatus();
}

std::optional<std::vector<DwarfSection>> DwoFile::SectionsOf(
    uint64_t id) const {
  std::vector<DwarfSection> sections(sections_.list().begin(),
                                     sections_.list().end());
  if (!index_) return sections;
  const auto parts = index_->Find(id);
  if (!parts) return std::nullopt;
  for (DwarfSection& section : sections) {
    // Strings are shared by all units.
    if (std::string_view(section.name) == ".debug_str") continue;
    std::span<const uint8_t> bytes;
    for (const DwpPart& part : *parts) {
      if (std::string_view(part.section) != section.name) continue;
      if (part.offset > section.bytes.size() ||
          section.bytes.size() - part.offset < part.size) {
        return std::nullopt;
      }
      bytes = section.bytes.subspan(part.offset, part.size);
    }
    section.bytes = bytes;
  }
  std::erase_if(sections,
                [](const DwarfSection& s) { return s.bytes.empty(); });
  return sections;
}

}  // namespace unspool::exporters
