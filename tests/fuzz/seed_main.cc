// Runs a fuzzer's seeds, then a fixed number of mutations of each: a regression
// test without a fuzzing engine. An input that kills the process is named first
// if the seed's name is given, so that it can be run alone: NAME NUMBER. With
// --write FOLDER the seeds become files there, for libFuzzer to begin with.

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_seeds.h"

namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint32_t kMutationsPerSeed = 4000;
constexpr uint32_t kMaxEditsPerMutation = 4;

// xorshift64*: the same numbers on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}

  uint64_t Next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545f4914f6cdd1d;
  }
  size_t Below(size_t limit) { return limit == 0 ? 0 : Next() % limit; }

 private:
  uint64_t state_;
};

Bytes ParseHex(const unspool::fuzz::FuzzSeed& seed) {
  Bytes bytes;
  for (const char* c = seed.hex; *c != '\0';) {
    if (*c == '#') {
      while (*c != '\0' && *c != '\n') ++c;
    } else if (std::isspace(static_cast<unsigned char>(*c))) {
      ++c;
    } else if (std::isxdigit(static_cast<unsigned char>(c[0])) &&
               std::isxdigit(static_cast<unsigned char>(c[1]))) {
      const char digits[] = {c[0], c[1], '\0'};
      bytes.push_back(static_cast<uint8_t>(std::strtoul(digits, nullptr, 16)));
      c += 2;
    } else {
      std::fprintf(stderr, "seed %s: not hex at \"%.20s\"\n", seed.name, c);
      std::exit(2);
    }
  }
  return bytes;
}

void Edit(Random& random, Bytes& bytes) {
  constexpr uint8_t kInteresting[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
  const size_t at = random.Below(bytes.size());
  switch (bytes.empty() ? 2 : random.Below(5)) {
    case 0:
      bytes[at] ^= static_cast<uint8_t>(1 << random.Below(8));
      break;
    case 1:
      bytes[at] = kInteresting[random.Below(sizeof(kInteresting))];
      break;
    case 2:
      bytes.insert(bytes.begin() + static_cast<ptrdiff_t>(at),
                   static_cast<uint8_t>(random.Next()));
      break;
    case 3:
      bytes.erase(bytes.begin() + static_cast<ptrdiff_t>(at));
      break;
    default:
      bytes.resize(at);
      break;
  }
}

Bytes Mutate(const Bytes& seed, uint32_t number) {
  Random random(number);
  Bytes bytes = seed;
  const size_t edits = 1 + random.Below(kMaxEditsPerMutation);
  for (size_t i = 0; i < edits; ++i) Edit(random, bytes);
  return bytes;
}

// Copied to the heap's exact size, so that a sanitizer sees a read beyond it.
void RunOne(const Bytes& bytes) {
  const Bytes copy(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
}

int WriteSeeds(const std::string& folder) {
  for (const auto& seed : unspool::fuzz::FuzzSeeds()) {
    const Bytes bytes = ParseHex(seed);
    std::ofstream file(folder + "/" + seed.name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    if (file.flush().fail()) {
      std::fprintf(stderr, "cannot write into %s\n", folder.c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "--write") == 0) {
    return WriteSeeds(argv[2]);
  }
  for (const auto& seed : unspool::fuzz::FuzzSeeds()) {
    if (argc > 1 && std::strcmp(argv[1], seed.name) != 0) continue;
    const Bytes bytes = ParseHex(seed);
    if (argc > 2) {
      RunOne(Mutate(bytes, static_cast<uint32_t>(std::atoi(argv[2]))));
      continue;
    }
    std::printf("%s: %zu bytes\n", seed.name, bytes.size());
    std::fflush(stdout);
    RunOne(bytes);
    for (uint32_t i = 0; i < kMutationsPerSeed; ++i) {
      if (argc > 1) std::fprintf(stderr, "%s %u\n", seed.name, i);
      RunOne(Mutate(bytes, i));
    }
  }
  return 0;
}
