// What a fuzzer of ours consists of. See CMakeLists.txt.

#ifndef UNSPOOL_TESTS_FUZZ_FUZZ_SEEDS_H_
#define UNSPOOL_TESTS_FUZZ_FUZZ_SEEDS_H_

#include <cstddef>
#include <cstdint>
#include <span>

// Runs the code under test on hostile bytes. Returns 0.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace unspool::fuzz {

// A valid or nearly valid input. In `hex`, white space separates, and '#'
// starts a comment that ends with the line.
struct FuzzSeed {
  const char* name;
  const char* hex;
};

// Defined by each fuzzer.
std::span<const FuzzSeed> FuzzSeeds();

}  // namespace unspool::fuzz

#endif  // UNSPOOL_TESTS_FUZZ_FUZZ_SEEDS_H_
