#include "unwind/cfi_entry.h"

#include <span>

namespace unspool::unwind {
namespace {

using namespace dwarf;

constexpr uint32_t kExtendedLength = 0xffffffff;
constexpr uint32_t kFirstReservedLength = 0xfffffff0;
constexpr size_t kMaxAugmentationLetters = 16;

// The id that tells a CIE from an FDE, where an FDE has its CIE pointer. In
// .eh_frame it has four bytes whatever the length's format (LSB 5.0 §10.6.1.1).
struct CieId {
  uint64_t value = 0;
  uint64_t address = 0;
  bool is_64bit = false;
};

CieId ReadCieId(ByteReader& reader, const CfiSection& section,
                bool is_64bit_length) {
  CieId id;
  id.address = reader.address();
  id.is_64bit = section.format == CfiFormat::kDebugFrame && is_64bit_length;
  id.value = id.is_64bit ? reader.U64() : reader.U32();
  return id;
}

bool IsCie(const CieId& id, CfiFormat format) {
  if (format == CfiFormat::kEhFrame) return id.value == 0;
  return id.value == (id.is_64bit ? ~uint64_t{0} : 0xffffffff);
}

struct Augmentation {
  char letters[kMaxAugmentationLetters] = {};
  size_t size = 0;

  bool StartsWith(char letter) const {
    return size > 0 && letters[0] == letter;
  }
  bool Has(char letter) const {
    for (size_t i = 0; i < size; ++i) {
      if (letters[i] == letter) return true;
    }
    return false;
  }
  bool IsEh() const {
    return size == 2 && letters[0] == 'e' && letters[1] == 'h';
  }
};

Augmentation ReadAugmentation(ByteReader& reader) {
  Augmentation augmentation;
  while (const uint8_t letter = reader.U8()) {
    if (augmentation.size == kMaxAugmentationLetters) {
      reader.Fail();
      break;
    }
    augmentation.letters[augmentation.size++] = static_cast<char>(letter);
  }
  return augmentation;
}

// Without 'z' nothing but letters that bring no data can be read past. GNU as
// writes "S" into .debug_frame.
bool IsReadable(const Augmentation& augmentation) {
  if (augmentation.StartsWith('z') || augmentation.IsEh()) return true;
  for (size_t i = 0; i < augmentation.size; ++i) {
    if (augmentation.letters[i] != 'S' && augmentation.letters[i] != 'B') {
      return false;
    }
  }
  return true;
}

// Reads what the letters after 'z' describe, in their order (LSB 5.0
// §10.6.1.1). At a letter that is not known nothing behind it can be
// understood.
void ReadAugmentationData(const Augmentation& augmentation, ByteReader& data,
                          const CfiSection& section, Cie* cie) {
  for (size_t i = 1; i < augmentation.size; ++i) {
    switch (augmentation.letters[i]) {
      case 'R':
        cie->fde_encoding = data.U8();
        break;
      case 'P': {
        const uint8_t encoding = data.U8();
        // Its bases do not matter for skipping it, so let none be unknown.
        PointerBases bases = section.bases;
        if (bases.text == 0) bases.text = 1;
        if (bases.data == 0) bases.data = 1;
        if (encoding != DW_EH_PE_omit) {
          ReadEncodedPointer(data, encoding, bases, cie->address_size);
        }
        break;
      }
      case 'L':
        data.U8();
        break;
      case 'S':
        cie->is_signal_frame = true;
        break;
      case 'B':  // AArch64: return addresses are signed with the B key
        break;
      default:
        return;
    }
  }
}

bool IsKnownVersion(uint8_t version) {
  return version == 1 || version == 3 || version == 4;
}

}  // namespace

bool ParseEntry(ByteReader& reader, const CfiSection& section,
                CfiEntry* entry) {
  *entry = CfiEntry();
  entry->address = reader.address();
  uint64_t length = reader.U32();
  const bool is_64bit = length == kExtendedLength;
  if (is_64bit) {
    length = reader.U64();
  } else if (length >= kFirstReservedLength) {
    reader.Fail();
  }
  const uint64_t start = reader.address();
  const uint64_t left = section.address + section.size - start;
  if (!reader.ok() || start - section.address > section.size || length > left) {
    return false;
  }
  entry->body = {start, 0};
  if (length == 0) return true;

  const CieId id = ReadCieId(reader, section, is_64bit);
  entry->body = {reader.address(), start + length - reader.address()};
  if (!reader.ok() || entry->body.size > length) return false;
  if (IsCie(id, section.format)) {
    entry->kind = CfiEntry::Kind::kCie;
    return true;
  }
  entry->kind = CfiEntry::Kind::kFde;
  entry->cie_address = section.format == CfiFormat::kEhFrame
                           ? id.address - id.value
                           : section.address + id.value;
  return true;
}

bool ParseCie(ByteReader& reader, const CfiSection& section,
              const CfiEntry& entry, Cie* cie) {
  *cie = Cie();
  cie->address = entry.address;
  cie->address_size = section.address_size;
  cie->version = reader.U8();
  const Augmentation augmentation = ReadAugmentation(reader);
  if (!IsKnownVersion(cie->version) || !IsReadable(augmentation)) return false;
  // GCC 2's augmentation: an address of exception data, then as without.
  if (augmentation.IsEh()) reader.Skip(cie->address_size);
  if (cie->version == 4) {
    cie->address_size = reader.U8();
    const uint8_t segment_selector_size = reader.U8();
    if (segment_selector_size != 0) return false;
  }
  if (cie->address_size != 4 && cie->address_size != 8) return false;
  cie->code_alignment = reader.Uleb128();
  cie->data_alignment = reader.Sleb128();
  cie->ra_register = cie->version == 1 ? reader.U8() : reader.Uleb128();
  if (augmentation.StartsWith('z')) {
    cie->has_augmentation_data = true;
    const uint64_t size = reader.Uleb128();
    const uint64_t address = reader.address();
    ByteReader data(reader.Bytes(size), address);
    ReadAugmentationData(augmentation, data, section, cie);
    if (!data.ok()) return false;
  } else {
    cie->is_signal_frame = augmentation.Has('S');
  }
  cie->instructions = {reader.address(), entry.end() - reader.address()};
  return reader.ok() && cie->instructions.size <= entry.body.size;
}

bool ParseFde(ByteReader& reader, const CfiSection& section,
              const CfiEntry& entry, const Cie& cie, Fde* fde) {
  *fde = Fde();
  fde->address = entry.address;
  const EncodedPointer begin = ReadEncodedPointer(
      reader, cie.fde_encoding, section.bases, cie.address_size);
  // No toolchain writes a start that has to be fetched from elsewhere.
  if (begin.indirect) return false;
  fde->pc_begin = begin.value;
  constexpr uint8_t kRelation = 0x70;
  if ((cie.fde_encoding & kRelation) == DW_EH_PE_absptr) {
    fde->pc_begin += section.bias;
  }
  const uint64_t length =
      ReadEncodedLength(reader, cie.fde_encoding, cie.address_size);
  fde->pc_end = fde->pc_begin + length;
  if (cie.has_augmentation_data) reader.Skip(reader.Uleb128());
  fde->instructions = {reader.address(), entry.end() - reader.address()};
  return reader.ok() && fde->pc_end >= fde->pc_begin &&
         fde->instructions.size <= entry.body.size;
}

}  // namespace unspool::unwind
