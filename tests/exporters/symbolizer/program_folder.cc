#include "tests/exporters/symbolizer/program_folder.h"

#include <elf.h>

#include <algorithm>
#include <memory>

#include "exporters/frame_names.h"
#include "exporters/symbolizer/module_names.h"
#include "exporters/symbolizer/module_tables.h"
#include "unwind/load/elf_file.h"
#include "unwind/load/mapped_file.h"

namespace unspool::exporters {
namespace {

constexpr uint64_t kStep = 5;  // bytes

std::string FrameText(const NamedFrame& frame, std::string_view file) {
  return frame.name + " " + std::string(file) + ":" +
         std::to_string(frame.line);
}

Elf64_Shdr FindSection(const std::string& bytes, const char* section) {
  unwind::ElfFile elf;
  EXPECT_EQ(
      elf.Parse({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}),
      unwind::ElfError::kNone);
  const auto header = elf.FindSection(section);
  EXPECT_TRUE(header.has_value()) << section;
  return header.value_or(Elf64_Shdr{});
}

}  // namespace

ProgramFolder::ProgramFolder() {
  EXPECT_EQ(RunCommand("mkdir -p " + folder_ + "/debug").status, 0);
}

ProgramFolder::~ProgramFolder() { RunCommand("rm -r " + folder_); }

std::string ProgramFolder::Path(const std::string& name) const {
  return folder_ + "/" + name;
}

void ProgramFolder::Run(const std::string& command) {
  const CommandResult result = RunCommand("cd " + folder_ + " && " + command);
  ASSERT_EQ(result.status, 0) << command << ": " << result.err;
}

void ProgramFolder::Copy(const std::string& program, const std::string& name) {
  Run("cp " + ProgramPath(program) + " " + name);
}

void ProgramFolder::Compile(const std::string& compiler,
                            const std::string& flags, const std::string& name) {
  Run("cp " UNSPOOL_TEST_SOURCES "/shapes* .");
  const std::string compile = compiler + " -O2 -g " + flags;
  Run(compile + " -c shapes.cc && " + compile + " -c shapes_main.cc && " +
      compile + " -o " + name + " shapes.o shapes_main.o");
}

void ProgramFolder::Patch(const std::string& name, const char* section,
                          size_t offset, uint8_t value) {
  std::string bytes = ReadFile(Path(name));
  bytes.at(FindSection(bytes, section).sh_offset + offset) =
      static_cast<char>(value);
  WriteFileOrDie(Path(name), bytes);
}

void ProgramFolder::Zero(const std::string& name, const char* section) {
  std::string bytes = ReadFile(Path(name));
  const Elf64_Shdr header = FindSection(bytes, section);
  bytes.replace(header.sh_offset, header.sh_size, header.sh_size, '\0');
  WriteFileOrDie(Path(name), bytes);
}

std::string ProgramFolder::IdPath(const std::string& name) {
  const std::string id = BuildIdByReadelf(Path(name));
  return ".build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug";
}

std::vector<std::string> ProgramFolder::NamesOf(const std::string& name) {
  std::vector<std::string> texts;
  const auto names = ModuleNames::Open(Path(name), "", Path("debug"));
  EXPECT_TRUE(names.ok()) << names.status();
  if (!names.ok()) return texts;
  for (uint64_t address : FunctionAddresses(Path("whole"), kStep)) {
    for (const NamedFrame& frame : (*names)->Find(address, "module")) {
      texts.push_back(FrameText(frame, frame.file));
    }
  }
  return texts;
}

std::string ProgramFolder::NameAt(const std::string& name,
                                  const std::string& symbol,
                                  const std::string& whole) {
  const auto names = ModuleNames::Open(Path(name), "", Path("debug"));
  EXPECT_TRUE(names.ok()) << names.status();
  if (!names.ok()) return "";
  const uint64_t address = SymbolAddress(Path(whole), symbol);
  const NamedFrame frame = (*names)->Find(address, "module").back();
  return FrameText(frame, BaseName(frame.file));
}

std::vector<std::string> ProgramFolder::ProblemsOf(const std::string& name) {
  Debuginfod servers;
  const auto tables =
      ModuleTables::Open(Path(name), "", &servers, Path("debug"));
  EXPECT_TRUE(tables.ok()) << tables.status();
  if (!tables.ok()) return {};
  ModuleNames names(*tables);
  for (uint64_t address : FunctionAddresses(Path("whole"), kStep)) {
    names.Find(address, "module");
  }
  std::vector<std::string> problems = (*tables)->problems();
  if (names.is_damaged()) problems.push_back((*tables)->DamageText());
  return problems;
}

}  // namespace unspool::exporters
