// Builds sections of call-frame information byte by byte, and prints rows, so
// that tests can say both in a line.

#ifndef UNSPOOL_TESTS_UNWIND_CFI_BUILDER_H_
#define UNSPOOL_TESTS_UNWIND_CFI_BUILDER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "unwind/arch/x86_64/arch.h"
#include "unwind/byte_source.h"
#include "unwind/cfi_entry.h"
#include "unwind/cfi_row.h"

namespace unspool::unwind {

using Bytes = std::vector<uint8_t>;

struct CieSpec {
  uint8_t version = 1;
  std::string_view augmentation = "zR";
  Bytes version_4_fields = {8, 0};  // address and segment selector sizes
  Bytes code_alignment = {1};       // ULEB128
  Bytes data_alignment = {0x78};    // SLEB128: -8
  Bytes ra_register = {16};         // ubyte in version 1, then ULEB128
  Bytes augmentation_data = {dwarf::DW_EH_PE_pcrel | dwarf::DW_EH_PE_sdata4};
  // What compilers put in front: def_cfa rsp+8, rip at CFA-8.
  Bytes instructions = {0x0c, 7, 8, 0x90, 1};
};

struct FdeSpec {
  uint64_t pc_begin = 0;
  uint64_t size = 0;
  Bytes instructions = {};
  Bytes augmentation_data = {};  // its length is written if the CIE's has a 'z'
};

class CfiBuilder {
 public:
  explicit CfiBuilder(uint64_t address = 0x10000,
                      CfiFormat format = CfiFormat::kEhFrame,
                      bool is_64bit = false)
      : is_64bit_(is_64bit) {
    section_.format = format;
    section_.address = address;
  }

  // Each gives the address of the entry. FDEs belong to the CIE before them;
  // their pointers are pcrel|sdata4, or absolute if the CIE says nothing else.
  uint64_t AddCie(const CieSpec& spec = {});
  uint64_t AddFde(const FdeSpec& spec);
  // Written as they are.
  uint64_t AddRaw(const Bytes& bytes);

  CfiSection section() const {
    CfiSection section = section_;
    section.size = bytes_.size();
    return section;
  }
  SpanSource source() const { return {bytes_, section_.address}; }
  const Bytes& bytes() const { return bytes_; }
  Bytes& bytes() { return bytes_; }

 private:
  uint64_t Here() const { return section_.address + bytes_.size(); }
  void Number(uint64_t value, size_t size);
  uint64_t AddEntry(uint64_t id, const Bytes& body);
  size_t IdSize() const;

  CfiSection section_;
  bool is_64bit_;
  bool has_augmentation_ = false;
  bool is_pcrel_ = false;
  uint64_t cie_ = 0;
  Bytes bytes_;
};

// "cfa=r7+8 r6=c-16 r16=c-8": only what is specified. Rules are c±N (at
// CFA ± N), v±N (is CFA ± N), rN, same, undef, exp[size], vexp[size].
std::string RowText(const CfiRow<X86_64>& row);

}  // namespace unspool::unwind

#endif  // UNSPOOL_TESTS_UNWIND_CFI_BUILDER_H_
