#include "exporters/symbolizer/debug_files.h"

#include <elf.h>
#include <elfutils/libdw.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "unwind/load/debug_link.h"
#include "unwind/load/inflate.h"

namespace unspool::exporters {
namespace {

// Symbols only: those of a browser take some 30 MiB.
constexpr size_t kMaxMiniSize = size_t{256} << 20;

bool HasUnits(const DwarfSections& sections) {
  const DwarfHandle handle(sections.list());
  Dwarf_CU* cu = nullptr;
  return handle.get() != nullptr &&
         dwarf_get_units(handle.get(), nullptr, &cu, nullptr, nullptr, nullptr,
                         nullptr) == 0;
}

}  // namespace

std::string BuildIdHex(const unwind::ElfFile& elf) {
  return unwind::ToText(elf.FindBuildId()).text;
}

void DebugFiles::Load(const unwind::ElfFile& elf, unwind::FileId id,
                      const std::string& path, std::string_view debug_root,
                      const std::string& root, Debuginfod* servers) {
  const std::string debug_folder(debug_root);
  unwind::DebugFileQuery query = {.path = path.c_str(),
                                  .id = id,
                                  .root = root.c_str(),
                                  .debug_folder = debug_folder.c_str()};
  CheckSections(elf, path);
  has_debug_file_ = debug_file_.Find(elf, query, Rejected());
  LoadMiniSymbols(elf, path);
  dwarf_ = ReadDwarf(elf, path);
  dwarf_path_ = path;
  const unwind::ElfFile* dwarf_elf = &elf;
  if (!dwarf_ && !has_debug_file_) {
    has_debug_file_ = Download(elf.FindBuildId(), servers, &debug_file_);
  }
  if (has_debug_file_) CheckSections(debug_file_.elf(), debug_file_.path());
  if (!dwarf_ && has_debug_file_) {
    dwarf_path_ = debug_file_.path();
    dwarf_ = ReadDwarf(debug_file_.elf(), debug_file_.path());
    dwarf_elf = &debug_file_.elf();
    query.path = debug_file_.path();
    query.root = debug_file_.root();
  }
  if (!dwarf_) return;
  LoadAlt(*dwarf_elf, query, servers);
  split_.Load(*dwarf_, path, query.path);
}

bool DebugFiles::Download(const unwind::BuildId& build_id, Debuginfod* servers,
                          unwind::DebugFile* file) {
  if (servers == nullptr) return false;
  const absl::StatusOr<std::string> path =
      servers->Find(unwind::ToText(build_id).text);
  if (!path.ok() && !absl::IsNotFound(path.status()) &&
      !absl::IsCancelled(path.status())) {
    problems_.emplace_back(path.status().message());
  }
  return path.ok() && file->Open(path->c_str(), build_id, Rejected());
}

void DebugFiles::LoadMiniSymbols(const unwind::ElfFile& elf,
                                 const std::string& path) {
  const auto section = elf.FindSection(".gnu_debugdata");
  const auto contents = section ? elf.Contents(*section) : std::nullopt;
  if (!contents) return;
  const std::span<const uint8_t> bytes =
      unwind::InflateXz(contents->bytes, kMaxMiniSize, &mini_bytes_);
  if (mini_.Parse(bytes) != unwind::ElfError::kNone) {
    problems_.push_back(path +
                        ": .gnu_debugdata is damaged: its symbols are missing");
  }
}

void DebugFiles::LoadAlt(const unwind::ElfFile& elf,
                         const unwind::DebugFileQuery& query,
                         Debuginfod* servers) {
  const auto link = unwind::ReadDebugAltLink(elf);
  if (!link) return;
  if (alt_file_.FindAlt(elf, query, Rejected()) ||
      Download(link->build_id, servers, &alt_file_)) {
    alt_ = ReadDwarf(alt_file_.elf(), alt_file_.path());
  } else {
    problems_.push_back(std::string(query.path) + ": the file " +
                        std::string(link->path) +
                        " that it shares with others is missing");
  }
}

std::optional<DwarfSections> DebugFiles::ReadDwarf(const unwind::ElfFile& elf,
                                                   const std::string& path) {
  std::optional<DwarfSections> sections(std::in_place);
  absl::Status status = sections->Load(elf);
  if (absl::IsNotFound(status)) return std::nullopt;
  if (status.ok() && !HasUnits(*sections)) {
    status = absl::InvalidArgumentError(".debug_info is damaged");
  }
  if (status.ok()) return sections;
  problems_.push_back(path + ": " + std::string(status.message()));
  return std::nullopt;
}

// Build ids are found without section headers, and so are files that were cut.
void DebugFiles::CheckSections(const unwind::ElfFile& elf,
                               const std::string& path) {
  std::string problem;
  if (elf.section_error() != unwind::ElfError::kNone) {
    problem = unwind::ElfErrorText(elf.section_error());
  }
  for (size_t i = 0; problem.empty() && i < elf.section_count(); ++i) {
    const Elf64_Shdr section = elf.Section(i);
    const bool is_table =
        section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM;
    if (is_table && !(elf.Contents(section) &&
                      elf.Contents(elf.Section(section.sh_link)))) {
      problem = "a symbol table does not lie within the file";
    }
  }
  if (problem.empty()) return;
  problems_.push_back(path +
                      ": is cut or damaged, names are missing: " + problem);
}

unwind::RejectedFiles DebugFiles::Rejected() {
  return {.report =
              [](void* files, const char* path, const char* why) {
                static_cast<DebugFiles*>(files)->problems_.push_back(
                    std::string(path) + ": " + why);
              },
          .context = this};
}

std::vector<std::string> DebugFiles::problems() const {
  std::vector<std::string> problems = problems_;
  for (std::string& problem : split_.problems()) {
    problems.push_back(std::move(problem));
  }
  return problems;
}

std::vector<const unwind::ElfFile*> DebugFiles::symbol_files() const {
  std::vector<const unwind::ElfFile*> files;
  if (has_debug_file_) files.push_back(&debug_file_.elf());
  if (mini_.section_count() > 0) files.push_back(&mini_);
  return files;
}

}  // namespace unspool::exporters
