// Pointers as .eh_frame and .eh_frame_hdr store them: LSB 5.0 §10.5.1.

#ifndef UNSPOOL_UNWIND_POINTER_ENCODING_H_
#define UNSPOOL_UNWIND_POINTER_ENCODING_H_

#include <cstddef>
#include <cstdint>

#include "unwind/byte_reader.h"
#include "unwind/dwarf_constants.h"

namespace unspool::unwind {

// What the relative encodings count from. pcrel needs none: it is the address
// of the pointer itself. 0 means unknown: a pointer that needs it is an error.
struct PointerBases {
  uint64_t text = 0;      // DW_EH_PE_textrel
  uint64_t data = 0;      // DW_EH_PE_datarel; in .eh_frame_hdr its own start
  uint64_t function = 0;  // DW_EH_PE_funcrel: start of the FDE's function
};

struct EncodedPointer {
  uint64_t value = 0;
  // `value` is the address of the pointer (DW_EH_PE_indirect), which the caller
  // reads if it has a reader for that memory.
  bool indirect = false;
};

// Reads one pointer. `address_size` (4 or 8) is the width of absptr. Fails the
// reader on an unknown encoding, on a base that is 0, and on DW_EH_PE_omit,
// which says that there is no pointer to read. A stored 0 is a null pointer
// whatever it is relative to. Async-signal-safe.
EncodedPointer ReadEncodedPointer(ByteReader& reader, uint8_t encoding,
                                  const PointerBases& bases,
                                  uint8_t address_size = 8);

// The same without what it is relative to, as FDEs store their length.
// Async-signal-safe.
uint64_t ReadEncodedLength(ByteReader& reader, uint8_t encoding,
                           uint8_t address_size = 8);

// Bytes that a pointer takes; 0 if that depends on its value, or is invalid.
// Async-signal-safe.
size_t EncodedPointerSize(uint8_t encoding);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_POINTER_ENCODING_H_
