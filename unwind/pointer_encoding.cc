#include "unwind/pointer_encoding.h"

namespace unspool::unwind {
namespace {

using namespace dwarf;

constexpr uint8_t kFormMask = 0x0f;
constexpr uint8_t kRelationMask = 0x70;

uint64_t ReadForm(ByteReader& reader, uint8_t form, uint8_t address_size) {
  switch (form) {
    case DW_EH_PE_absptr:
      return address_size == 4 ? reader.U32() : reader.U64();
    case DW_EH_PE_signed:
      return static_cast<uint64_t>(address_size == 4 ? reader.S32()
                                                     : reader.S64());
    case DW_EH_PE_uleb128:
      return reader.Uleb128();
    case DW_EH_PE_udata2:
      return reader.U16();
    case DW_EH_PE_udata4:
      return reader.U32();
    case DW_EH_PE_udata8:
      return reader.U64();
    case DW_EH_PE_sleb128:
      return static_cast<uint64_t>(reader.Sleb128());
    case DW_EH_PE_sdata2:
      return static_cast<uint64_t>(reader.S16());
    case DW_EH_PE_sdata4:
      return static_cast<uint64_t>(reader.S32());
    case DW_EH_PE_sdata8:
      return static_cast<uint64_t>(reader.S64());
    default:
      reader.Fail();
      return 0;
  }
}

// Fails on a base that is not known.
uint64_t Base(ByteReader& reader, uint8_t relation, const PointerBases& bases) {
  uint64_t base = 0;
  switch (relation) {
    case DW_EH_PE_absptr:
      return 0;
    case DW_EH_PE_pcrel:
      return reader.address();
    case DW_EH_PE_textrel:
      base = bases.text;
      break;
    case DW_EH_PE_datarel:
      base = bases.data;
      break;
    case DW_EH_PE_funcrel:
      base = bases.function;
      break;
    default:
      break;
  }
  if (base == 0) reader.Fail();
  return base;
}

}  // namespace

EncodedPointer ReadEncodedPointer(ByteReader& reader, uint8_t encoding,
                                  const PointerBases& bases,
                                  uint8_t address_size) {
  EncodedPointer pointer;
  if (encoding == DW_EH_PE_omit) {
    reader.Fail();
    return pointer;
  }
  pointer.indirect = (encoding & DW_EH_PE_indirect) != 0;
  const uint8_t relation = encoding & kRelationMask;
  if (relation == DW_EH_PE_aligned) {
    // An absolute pointer at the next address that is aligned for one.
    if ((encoding & kFormMask) != DW_EH_PE_absptr) reader.Fail();
    reader.Skip((0 - reader.address()) & (address_size - 1));
    pointer.value = ReadForm(reader, DW_EH_PE_absptr, address_size);
    return pointer;
  }
  const uint64_t base = Base(reader, relation, bases);
  const uint64_t stored = ReadForm(reader, encoding & kFormMask, address_size);
  pointer.value = stored == 0 || !reader.ok() ? 0 : stored + base;
  return pointer;
}

uint64_t ReadEncodedLength(ByteReader& reader, uint8_t encoding,
                           uint8_t address_size) {
  return ReadForm(reader, encoding & kFormMask, address_size);
}

size_t EncodedPointerSize(uint8_t encoding) {
  if (encoding == DW_EH_PE_omit) return 0;
  if ((encoding & kRelationMask) == DW_EH_PE_aligned) return 0;
  switch (encoding & kFormMask) {
    case DW_EH_PE_udata2:
    case DW_EH_PE_sdata2:
      return 2;
    case DW_EH_PE_udata4:
    case DW_EH_PE_sdata4:
      return 4;
    case DW_EH_PE_absptr:
    case DW_EH_PE_signed:
    case DW_EH_PE_udata8:
    case DW_EH_PE_sdata8:
      return 8;
    default:
      return 0;
  }
}

}  // namespace unspool::unwind
