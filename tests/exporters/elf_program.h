// A built program as a profile sees it: mapped somewhere, sampled at addresses.

#ifndef UNSPOOL_TESTS_EXPORTERS_ELF_PROGRAM_H_
#define UNSPOOL_TESTS_EXPORTERS_ELF_PROGRAM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/profile.h"
#include "tests/exporters/named_profile.h"

namespace unspool::exporters {

// The path of a program that programs/CMakeLists.txt builds.
std::string ProgramPath(std::string_view name);

// The ELF virtual address of a symbol by nm. Fails the test and returns 0 if
// there is none.
uint64_t SymbolAddress(const std::string& path, std::string_view symbol);

// What the linker put at `address`: `count` 32-bit numbers.
std::vector<int32_t> ReadNumbers(const std::string& path, uint64_t address,
                                 size_t count);

// The build id as readelf prints it.
std::string BuildIdByReadelf(const std::string& path);

// A mapping of the file's executable segment as recordings have it: exactly the
// segment, not whole pages, with the program loaded at `bias`.
Mapping MapExecutable(Profile& profile, const std::string& path, uint64_t bias);

// Adds a location at bias + `address` in the last mapping and returns its
// index.
uint32_t AddLocation(Profile& profile, uint64_t run_time_address);

// Each `step`th byte of every function that nm gives a size, sorted: what lies
// between functions belongs to nobody, though addr2line names it.
std::vector<uint64_t> FunctionAddresses(const std::string& path, uint64_t step);

}  // namespace unspool::exporters

#endif  // UNSPOOL_TESTS_EXPORTERS_ELF_PROGRAM_H_
