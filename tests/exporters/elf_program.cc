#include "tests/exporters/elf_program.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <sstream>

#include "tests/exporters/command.h"
#include "unwind/load/elf_file.h"
#include "unwind/load/mapped_file.h"

namespace unspool::exporters {

std::string ProgramPath(std::string_view name) {
  return UNSPOOL_TEST_PROGRAMS "/" + std::string(name);
}

uint64_t SymbolAddress(const std::string& path, std::string_view symbol) {
  const CommandResult nm = RunCommand("nm " + path);
  for (const std::string& line : SplitLines(nm.out)) {
    std::istringstream in(line);
    uint64_t address = 0;
    std::string type;
    std::string name;
    if (in >> std::hex >> address >> type >> name && name == symbol) {
      return address;
    }
  }
  ADD_FAILURE() << "no symbol " << symbol << " in " << path;
  return 0;
}

std::vector<int32_t> ReadNumbers(const std::string& path, uint64_t address,
                                 size_t count) {
  std::vector<int32_t> numbers(count);
  unwind::MappedFile file;
  unwind::ElfFile elf;
  if (file.Open(path.c_str()) != 0 ||
      elf.Parse(file.bytes()) != unwind::ElfError::kNone) {
    ADD_FAILURE() << path;
    return numbers;
  }
  const auto range = elf.LoadedFrom(address);
  const size_t size = count * sizeof(numbers[0]);
  if (!range || range->bytes.size() < size) {
    ADD_FAILURE() << address;
    return numbers;
  }
  memcpy(numbers.data(), range->bytes.data(), size);
  return numbers;
}

std::string BuildIdByReadelf(const std::string& path) {
  const std::string out = RunCommand("readelf -n " + path).out;
  constexpr std::string_view kLabel = "Build ID: ";
  const size_t start = out.find(kLabel);
  if (start == std::string::npos) return "";
  const size_t id = start + kLabel.size();
  return out.substr(id, out.find('\n', id) - id);
}

Mapping MapExecutable(Profile& profile, const std::string& path,
                      uint64_t bias) {
  Mapping mapping;
  unwind::MappedFile file;
  unwind::ElfFile elf;
  std::array<unwind::Segment, 2> segments;
  if (file.Open(path.c_str()) != 0 ||
      elf.Parse(file.bytes()) != unwind::ElfError::kNone ||
      elf.ExecutableSegments(segments) != 1) {
    ADD_FAILURE() << path;
    return mapping;
  }
  mapping.memory_start = bias + segments[0].start;
  mapping.memory_limit = bias + segments[0].end;
  mapping.file_offset = segments[0].file_offset;
  mapping.filename = profile.strings.Intern(path);
  mapping.build_id = profile.strings.Intern(BuildIdByReadelf(path));
  return mapping;
}

uint32_t AddLocation(Profile& profile, uint64_t run_time_address) {
  profile.locations.push_back(
      {.address = run_time_address,
       .mapping = static_cast<uint32_t>(profile.mappings.size() - 1)});
  return static_cast<uint32_t>(profile.locations.size() - 1);
}

std::vector<uint64_t> FunctionAddresses(const std::string& path,
                                        uint64_t step) {
  std::vector<uint64_t> addresses;
  const CommandResult nm = RunCommand("nm -S --defined-only " + path);
  for (const std::string& line : SplitLines(nm.out)) {
    std::istringstream in(line);
    uint64_t start = 0;
    uint64_t size = 0;
    std::string type;
    if (in >> std::hex >> start >> size >> type &&
        type.find_first_of("tTwW") != std::string::npos) {
      for (uint64_t offset = 0; offset < size; offset += step) {
        addresses.push_back(start + offset);
      }
    }
  }
  std::ranges::sort(addresses);
  // Not std::ranges::unique: clang 14 cannot compile libstdc++'s subrange.
  addresses.erase(std::unique(addresses.begin(), addresses.end()),
                  addresses.end());
  return addresses;
}

}  // namespace unspool::exporters
