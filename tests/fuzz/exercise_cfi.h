// What every fuzzer of call-frame information does with an FDE that the parsers
// accept, and what must be true of it.

#ifndef UNSPOOL_TESTS_FUZZ_EXERCISE_CFI_H_
#define UNSPOOL_TESTS_FUZZ_EXERCISE_CFI_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/byte_source.h"
#include "unwind/cfi_entry.h"

namespace unspool::fuzz {

// Executes every row of `fde`; compiles and applies the first 16. Aborts if a
// compiled rule gives other registers than its row, if rows go back, or if the
// row at a PC depends on the way that led to it.
void ExerciseFde(unwind::SpanSource source, const unwind::CfiSection& section,
                 const unwind::Cie& cie, const unwind::Fde& fde);

// Goes through all entries of a section that `bytes` are, exercises each FDE,
// and looks up both ends of the first two: a PC that one covers has an FDE.
void ExerciseSection(std::span<const uint8_t> bytes, unwind::CfiFormat format);

}  // namespace unspool::fuzz

#endif  // UNSPOOL_TESTS_FUZZ_EXERCISE_CFI_H_
