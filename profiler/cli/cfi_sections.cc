#include "profiler/cli/cfi_sections.h"

#include <elf.h>

#include <cstring>
#include <vector>

#include "unwind/load/section_data.h"

namespace unspool::profiler {
namespace {

using unwind::CfiFormat;
using unwind::ElfFile;
using unwind::SectionData;
using unwind::SectionError;

constexpr uint64_t kMaxSectionSize = uint64_t{1} << 30;
constexpr const char* kNames[] = {".eh_frame", ".debug_frame", ".zdebug_frame"};

template <class T>
T At(std::span<const uint8_t> table, uint64_t index) {
  T value{};
  if (index < table.size() / sizeof(T)) {
    memcpy(&value, table.data() + index * sizeof(T), sizeof(T));
  }
  return value;
}

// The types that compilers use in call-frame information (psABI §4.4.1); others
// are left alone. Where the place does not fit, nothing is written.
void Apply(const Elf64_Rela& relocation, uint64_t symbol,
           std::vector<uint8_t>* bytes) {
  uint64_t value = symbol + static_cast<uint64_t>(relocation.r_addend);
  size_t size = sizeof(uint32_t);
  switch (ELF64_R_TYPE(relocation.r_info)) {
    case R_X86_64_64:
      size = sizeof(uint64_t);
      break;
    case R_X86_64_PC64:
      size = sizeof(uint64_t);
      value -= relocation.r_offset;
      break;
    case R_X86_64_PC32:
      value -= relocation.r_offset;
      break;
    case R_X86_64_32:
    case R_X86_64_32S:
      break;
    default:
      return;
  }
  if (bytes->size() < size || relocation.r_offset > bytes->size() - size) {
    return;
  }
  memcpy(bytes->data() + relocation.r_offset, &value, size);
}

// Applies the relocations of the section at `index` of an object file, where
// every section is at address 0.
void Relocate(const ElfFile& elf, size_t index, std::vector<uint8_t>* bytes) {
  for (size_t i = 1; i < elf.section_count(); ++i) {
    const Elf64_Shdr section = elf.Section(i);
    if (section.sh_type != SHT_RELA || section.sh_info != index) continue;
    const auto relocations = elf.Contents(section);
    const auto symbols = elf.Contents(elf.Section(section.sh_link));
    if (!relocations || !symbols) return;
    const size_t count = relocations->bytes.size() / sizeof(Elf64_Rela);
    for (size_t j = 0; j < count; ++j) {
      const auto relocation = At<Elf64_Rela>(relocations->bytes, j);
      const auto symbol =
          At<Elf64_Sym>(symbols->bytes, ELF64_R_SYM(relocation.r_info));
      Apply(relocation, symbol.st_value, bytes);
    }
    return;  // compilers write one such section
  }
}

void VisitSection(const ElfFile& elf, size_t index, const std::string& name,
                  const std::function<void(const CfiContents&)>& visit) {
  const Elf64_Shdr section = elf.Section(index);
  // A stripped file's debug file has the section without its bytes.
  if (section.sh_type == SHT_NOBITS || section.sh_size == 0) return;
  CfiContents contents;
  contents.name = name;
  SectionData data;
  const SectionError error =
      name == ".zdebug_frame" ? data.Load(elf, ".debug_frame", kMaxSectionSize)
                              : data.Load(elf, section, kMaxSectionSize);
  if (error != SectionError::kNone) {
    contents.error = unwind::SectionErrorText(error);
    return visit(contents);
  }
  contents.bytes = data.bytes();
  std::vector<uint8_t> relocated;
  if (elf.type() == ET_REL) {
    relocated.assign(contents.bytes.begin(), contents.bytes.end());
    Relocate(elf, index, &relocated);
    contents.bytes = relocated;
    contents.is_relocated = true;
  }
  contents.section.format =
      name == ".eh_frame" ? CfiFormat::kEhFrame : CfiFormat::kDebugFrame;
  contents.section.address = section.sh_addr;
  contents.section.size = contents.bytes.size();
  visit(contents);
}

}  // namespace

void ForEachCfiSection(const ElfFile& elf,
                       const std::function<void(const CfiContents&)>& visit) {
  for (size_t i = 1; i < elf.section_count(); ++i) {
    for (const char* name : kNames) {
      if (elf.IsNamed(i, name)) VisitSection(elf, i, name, visit);
    }
  }
  if (elf.section_count() > 0) return;
  const auto range = elf.EhFrame();
  if (!range) return;
  CfiContents contents;
  contents.name = ".eh_frame";
  contents.section.address = range->address;
  contents.section.size = range->bytes.size();
  contents.bytes = range->bytes;
  contents.ends_at_terminator = true;
  visit(contents);
}

}  // namespace unspool::profiler
