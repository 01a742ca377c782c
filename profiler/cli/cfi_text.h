// Call-frame instructions and DWARF expressions in the words of `readelf
// --debug-dump=frames` (binutils 2.40), and x86-64's register names.
//
// Written from the specifications (DWARF 5 §7.7.1, §7.24; psABI §3.6.2) apart
// from the unwinder's own interpreter, whose rows stand beside it: an error has
// to be made twice to stay unseen.

#ifndef UNSPOOL_PROFILER_CLI_CFI_TEXT_H_
#define UNSPOOL_PROFILER_CLI_CFI_TEXT_H_

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>

#include "unwind/byte_reader.h"
#include "unwind/cfi_entry.h"

namespace unspool::profiler {

// Above every DWARF register number of x86-64 (k7 is 125).
inline constexpr size_t kColumnCount = 128;
using Columns = std::bitset<kColumnCount>;

// "rbx"; "r60" for numbers without a name. "r3 (rbx)" in the long form.
std::string RegisterName(uint64_t number);
std::string LongRegisterName(uint64_t number);

// Appends snprintf's text, of 255 characters at most.
[[gnu::format(printf, 2, 3)]] void Append(std::string* out, const char* format,
                                          ...);

// Appends `value` in `digits` hexadecimal digits, and `text` with spaces up to
// `width`: what rows consist of, where snprintf would take most of the time.
void AppendHex(std::string* out, uint64_t value, int digits);
void AppendPadded(std::string* out, const std::string& text, size_t width);

// What instructions are relative to, and where they have got to.
struct InstructionContext {
  const unwind::CfiSection* section;
  const unwind::Cie* cie;
  uint64_t pc;
};

// Appends one line for the next instruction, without indent and newline, moves
// context->pc as it says, and marks the register whose rule it sets. False if
// the bytes make no sense.
bool AppendInstruction(unwind::ByteReader& reader, InstructionContext* context,
                       Columns* columns, std::string* out);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_CFI_TEXT_H_
