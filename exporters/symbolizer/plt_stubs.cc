#include "exporters/symbolizer/plt_stubs.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "exporters/symbolizer/symbol_table.h"

namespace unspool::exporters {
namespace {

using Bytes = std::span<const uint8_t>;

bool StartsWith(Bytes code, std::span<const uint8_t> prefix) {
  return code.size() >= prefix.size() &&
         std::equal(prefix.begin(), prefix.end(), code.begin());
}

// What may stand before the instruction that counts.
Bytes SkipPrefixes(Bytes code) {
  constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  constexpr uint8_t kBnd[] = {0xf2};
  if (StartsWith(code, kEndbr64)) code = code.subspan(sizeof(kEndbr64));
  if (StartsWith(code, kBnd)) code = code.subspan(sizeof(kBnd));
  return code;
}

template <typename T>
std::optional<T> Operand(Bytes code, size_t opcode_size) {
  T value;
  if (code.size() < opcode_size + sizeof(value)) return std::nullopt;
  memcpy(&value, code.data() + opcode_size, sizeof(value));
  return value;
}

// The slot that a stub reads: "jmp *slot(%rip)", or, where it runs before the
// function is bound, "push $index" of the slot's place in .rela.plt.
std::optional<uint64_t> SlotOf(Bytes stub, uint64_t address,
                               std::span<const uint64_t> lazy_slots) {
  constexpr uint8_t kJump[] = {0xff, 0x25};
  constexpr uint8_t kPush[] = {0x68};
  const Bytes code = SkipPrefixes(stub);
  if (StartsWith(code, kJump)) {
    const auto offset = Operand<int32_t>(code, sizeof(kJump));
    if (!offset) return std::nullopt;
    const uint64_t next =
        address + (stub.size() - code.size()) + sizeof(kJump) + sizeof(*offset);
    return next + static_cast<uint64_t>(int64_t{*offset});
  }
  if (!StartsWith(code, kPush)) return std::nullopt;
  const auto index = Operand<uint32_t>(code, sizeof(kPush));
  if (!index || *index >= lazy_slots.size()) return std::nullopt;
  return lazy_slots[*index];
}

// A stub that is one jump and nothing else takes 8 bytes; not every linker says
// so in sh_entsize.
uint64_t StubSize(const Elf64_Shdr& section) {
  constexpr uint64_t kShort = 8;
  constexpr uint64_t kLong = 16;
  const uint64_t told =
      section.sh_entsize != 0 ? section.sh_entsize : section.sh_addralign;
  return told == kShort ? kShort : kLong;
}

template <typename T>
std::vector<T> ReadTable(const unwind::ElfFile& elf,
                         const Elf64_Shdr& section) {
  const auto contents = elf.Contents(section);
  if (!contents) return {};
  std::vector<T> table(contents->bytes.size() / sizeof(T));
  if (!table.empty()) {
    memcpy(table.data(), contents->bytes.data(), table.size() * sizeof(T));
  }
  return table;
}

}  // namespace

PltStubs::PltStubs(const unwind::ElfFile& elf) {
  if (elf.machine() != EM_X86_64) return;
  Slots slots;
  std::vector<uint64_t> lazy_slots;
  for (size_t i = 0; i < elf.section_count(); ++i) {
    const Elf64_Shdr section = elf.Section(i);
    if (section.sh_type != SHT_RELA || (section.sh_flags & SHF_ALLOC) == 0) {
      continue;
    }
    AddRelocations(elf, section, &slots);
    if (!elf.IsNamed(i, ".rela.plt")) continue;
    for (const Elf64_Rela& relocation : ReadTable<Elf64_Rela>(elf, section)) {
      lazy_slots.push_back(relocation.r_offset);
    }
  }
  for (const char* name : {".plt", ".plt.sec", ".plt.got"}) {
    const auto section = elf.FindSection(name);
    const auto code = section ? elf.Contents(*section) : std::nullopt;
    if (!code) continue;
    AddStubs(*code, StubSize(*section), slots, lazy_slots);
  }
  targets_.Seal();
}

void PltStubs::AddRelocations(const unwind::ElfFile& elf,
                              const Elf64_Shdr& section, Slots* slots) {
  const Elf64_Shdr symbol_section = elf.Section(section.sh_link);
  const auto symbols = ReadTable<Elf64_Sym>(elf, symbol_section);
  const auto strings = elf.Contents(elf.Section(symbol_section.sh_link));
  for (const Elf64_Rela& relocation : ReadTable<Elf64_Rela>(elf, section)) {
    PltTarget target;
    const uint64_t index = ELF64_R_SYM(relocation.r_info);
    switch (ELF64_R_TYPE(relocation.r_info)) {
      case R_X86_64_JUMP_SLOT:
      case R_X86_64_GLOB_DAT:
        if (index >= symbols.size() || !strings) continue;
        target.symbol = StringAt(strings->bytes, symbols[index].st_name);
        break;
      case R_X86_64_IRELATIVE:
        target.resolver = static_cast<uint64_t>(relocation.r_addend);
        break;
      default:
        continue;
    }
    slots->try_emplace(relocation.r_offset, target);
  }
}

void PltStubs::AddStubs(const unwind::ElfRange& section, uint64_t stub_size,
                        const Slots& slots,
                        std::span<const uint64_t> lazy_slots) {
  for (uint64_t at = 0; at < section.bytes.size(); at += stub_size) {
    const uint64_t size = std::min(stub_size, section.bytes.size() - at);
    const uint64_t address = section.address + at;
    const auto slot =
        SlotOf(section.bytes.subspan(at, size), address, lazy_slots);
    const auto found = slot ? slots.find(*slot) : slots.end();
    if (found != slots.end()) {
      targets_.Add(address, address + size, found->second);
    }
  }
}

}  // namespace unspool::exporters
