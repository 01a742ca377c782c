#include "exporters/symbolizer/split_dwarf.h"

#include <dwarf.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "unwind/byte_reader.h"

namespace unspool::exporters {
namespace {

// The value of whichever of two attributes the DIE has: DWARF 5's, or the GNU
// one that came before it. 0 if it has neither.
uint64_t Number(Dwarf_Die* die, unsigned name, unsigned gnu_name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if ((dwarf_attr(die, name, &attribute) == nullptr &&
       dwarf_attr(die, gnu_name, &attribute) == nullptr) ||
      dwarf_formudata(&attribute, &value) != 0) {
    return 0;
  }
  return value;
}

std::string Text(Dwarf_Die* die, unsigned name, unsigned gnu_name) {
  Dwarf_Attribute attribute;
  if (dwarf_attr(die, name, &attribute) == nullptr &&
      dwarf_attr(die, gnu_name, &attribute) == nullptr) {
    return "";
  }
  const char* text = dwarf_formstring(&attribute);
  return text == nullptr ? "" : text;
}

uint16_t VersionOf(Dwarf_Die* unit) {
  Dwarf_Half version = 0;
  dwarf_cu_info(unit->cu, &version, nullptr, nullptr, nullptr, nullptr, nullptr,
                nullptr);
  return version;
}

// What pairs the two halves of a unit: in DWARF 5 part of the header.
uint64_t IdOf(Dwarf_Die* unit) {
  if (VersionOf(unit) < 5) {
    return Number(unit, DW_AT_GNU_dwo_id, DW_AT_GNU_dwo_id);
  }
  uint64_t id = 0;
  dwarf_cu_info(unit->cu, nullptr, nullptr, nullptr, nullptr, &id, nullptr,
                nullptr);
  return id;
}

std::string FolderOf(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

}  // namespace

struct SplitDwarf::Skeleton {
  explicit Skeleton(Dwarf_Die* die)
      : name(Text(die, DW_AT_dwo_name, DW_AT_GNU_dwo_name)),
        folder(Text(die, DW_AT_comp_dir, DW_AT_comp_dir)),
        id(IdOf(die)),
        version(VersionOf(die)),
        lines(Number(die, DW_AT_stmt_list, DW_AT_stmt_list)),
        addresses(Number(die, DW_AT_addr_base, DW_AT_GNU_addr_base)),
        ranges(Number(die, DW_AT_GNU_ranges_base, DW_AT_GNU_ranges_base)) {
    dwarf_lowpc(die, &low_pc);
  }

  // In the folder of the compilation first, as gdb does.
  std::vector<std::string> Candidates(const std::string& module_path) const {
    if (name.starts_with('/')) {
      return {name, FolderOf(module_path) + name.substr(name.rfind('/') + 1)};
    }
    return {folder + "/" + name, FolderOf(module_path) + name,
            FolderOf(module_path) + name.substr(name.rfind('/') + 1)};
  }

  std::string name;
  std::string folder;
  uint64_t id;
  uint16_t version;
  // Offsets into sections of the program.
  uint64_t lines;
  uint64_t addresses;
  uint64_t ranges;
  Dwarf_Addr low_pc = 0;
};

std::vector<std::pair<uint64_t, uint64_t>> SplitUnit::RangesOf(
    Dwarf_Die* die) const {
  Dwarf_Attribute attribute;
  if (dwarf_attr(die, DW_AT_ranges, &attribute) != nullptr) {
    const std::optional<uint64_t> offset = ListOf(&attribute);
    return offset ? ReadRangeList(ranges_, *offset)
                  : std::vector<std::pair<uint64_t, uint64_t>>();
  }
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  if (dwarf_lowpc(die, &start) != 0 || dwarf_highpc(die, &end) != 0) return {};
  return {{start, end}};
}

// The offset of a list of ranges; libdw resolves numbers of lists in linked
// units only.
std::optional<uint64_t> SplitUnit::ListOf(Dwarf_Attribute* ranges) const {
  if (dwarf_whatform(ranges) == DW_FORM_rnglistx) {
    unwind::ByteReader reader(
        info_.subspan(static_cast<size_t>(ranges->valp - info_.data())), 0);
    return OffsetOfRangeList(ranges_, reader.Uleb128());
  }
  Dwarf_Word offset = 0;
  if (dwarf_formudata(ranges, &offset) != 0) return std::nullopt;
  return offset;
}

void SplitDwarf::Load(const DwarfSections& dwarf, const std::string& path,
                      const std::string& dwarf_path) {
  dwarf_ = &dwarf;
  path_ = path;
  for (const std::string& base : {path, dwarf_path}) {
    auto package = std::make_unique<DwoFile>();
    const absl::Status status = package->Open(base + ".dwp");
    if (status.ok()) {
      package_ = std::move(package);
      return;
    }
    if (!absl::IsNotFound(status)) {
      AddProblem(base + ".dwp: " + std::string(status.message()));
    }
  }
}

std::unique_ptr<SplitUnit> SplitDwarf::Find(Dwarf_Die* skeleton_die) const {
  const Skeleton skeleton(skeleton_die);
  if (skeleton.name.empty()) return nullptr;
  auto unit = std::make_unique<SplitUnit>();
  if (package_ != nullptr && Take(*package_, skeleton, unit.get())) return unit;
  for (const std::string& path : skeleton.Candidates(path_)) {
    if (TakeFile(path, skeleton, unit.get())) return unit;
  }
  const std::scoped_lock lock(mutex_);
  if (missing_count_++ == 0) first_missing_ = skeleton.name;
  return nullptr;
}

bool SplitDwarf::TakeFile(const std::string& path, const Skeleton& skeleton,
                          SplitUnit* unit) const {
  absl::Status status = unit->file_.Open(path);
  if (absl::IsNotFound(status)) return false;
  if (status.ok() && !Take(unit->file_, skeleton, unit)) {
    status = absl::InvalidArgumentError(
        "is of another build: it has no unit with the DWO id of the program");
  }
  if (!status.ok()) AddProblem(path + ": " + std::string(status.message()));
  return status.ok();
}

// Opens the unit if the file has it.
bool SplitDwarf::Take(const DwoFile& file, const Skeleton& skeleton,
                      SplitUnit* unit) const {
  auto sections = file.SectionsOf(skeleton.id);
  if (!sections) return false;
  Link(skeleton, &*sections);
  unit->handle_ = DwarfHandle(*sections);
  unit->ranges_ = {.version = skeleton.version,
                   .lists = {},
                   .addresses = {},
                   .base = skeleton.low_pc};
  for (const DwarfSection& section : *sections) {
    const std::string_view name = section.name;
    if (name == ".debug_info") unit->info_ = section.bytes;
    if (name == ".debug_addr") unit->ranges_.addresses = section.bytes;
    if (name == (skeleton.version < 5 ? ".debug_ranges" : ".debug_rnglists")) {
      unit->ranges_.lists = section.bytes;
    }
  }
  Dwarf_CU* cu = nullptr;
  while (unit->handle_.get() != nullptr &&
         dwarf_get_units(unit->handle_.get(), cu, &cu, nullptr, nullptr,
                         &unit->die_, nullptr) == 0) {
    if (IdOf(&unit->die_) == skeleton.id) return true;
  }
  return false;
}

// Adds what the unit refers to in the program: each section from the place on
// that its skeleton states, which is where a unit without that attribute looks.
void SplitDwarf::Link(const Skeleton& skeleton,
                      std::vector<DwarfSection>* sections) const {
  const std::pair<const char*, uint64_t> kLinked[] = {
      {".debug_addr", skeleton.addresses},
      {".debug_ranges", skeleton.ranges},
      // Names of files. A table of the .dwo file's own is that of its units of
      // types (DWARF 5 §7.3.2.2).
      {".debug_line", skeleton.lines},
      {".debug_line_str", 0}};
  for (const auto& [name, offset] : kLinked) {
    const std::span<const uint8_t> bytes = dwarf_->Find(name);
    if (offset >= bytes.size()) continue;
    std::erase_if(*sections,
                  [wanted = std::string_view(name)](const DwarfSection& s) {
                    return wanted == s.name;
                  });
    sections->push_back({.name = name, .bytes = bytes.subspan(offset)});
  }
}

void SplitDwarf::AddProblem(const std::string& problem) const {
  const std::scoped_lock lock(mutex_);
  if (std::ranges::find(problems_, problem) == problems_.end()) {
    problems_.push_back(problem);
  }
}

std::vector<std::string> SplitDwarf::problems() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> problems = problems_;
  if (missing_count_ > 0) {
    problems.push_back(path_ + ": .dwo files that are missing: " +
                       std::to_string(missing_count_) + ", the first is " +
                       first_missing_);
  }
  return problems;
}

}  // namespace unspool::exporters
