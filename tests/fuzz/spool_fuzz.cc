// The spool's reader, and the raw profile made of what it shows, on hostile
// recordings: both must stay within the bytes and come to an end.
//
// A spool is mostly zeros, on which mutations would be wasted. An input is a
// list of pages, each as the size of its part that is not zero (two bytes,
// little-endian) and that part. What is left over is the last, cut-off page.
// At most 1 MiB of pages, always in the same memory: fresh memory for each
// spool cost more than all that is done with it.

#include <sanitizer/asan_interface.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "collectors/spool/spool_archive.h"
#include "exporters/raw/raw_pprof.h"
#include "tests/collectors/spool/drain.h"
#include "tests/exporters/raw/recording.h"
#include "tests/fuzz/fuzz_seeds.h"

namespace {

using unspool::collectors::kSpoolPageSize;

constexpr size_t kMaxSize = 256 * kSpoolPageSize;

// Valid until the next call. AddressSanitizer knows its end.
std::span<const uint8_t> Expand(std::span<const uint8_t> input) {
  alignas(8) static std::array<uint8_t, kMaxSize> memory;
  static size_t used = 0;
  ASAN_UNPOISON_MEMORY_REGION(memory.data(), memory.size());
  std::memset(memory.data(), 0, used);
  size_t size = 0;
  while (input.size() >= 2 && size < kMaxSize) {
    const size_t wanted = (input[0] | input[1] << 8) % (kSpoolPageSize + 1);
    input = input.subspan(2);
    const auto part = input.first(std::min(wanted, input.size()));
    std::copy(part.begin(), part.end(), memory.begin() + size);
    input = input.subspan(part.size());
    const bool is_cut_off = input.empty() && part.size() < wanted;
    size += is_cut_off ? part.size() : kSpoolPageSize;
  }
  used = size;
  ASAN_POISON_MEMORY_REGION(memory.data() + size, memory.size() - size);
  return {memory.data(), size};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> spool = Expand({data, size});
  unspool::collectors::Drain(spool);
  const unspool::exporters::ByteSink sink = {
      [](void*, const void*, size_t) { return true; }, nullptr};
  unspool::exporters::RawTotals totals;
  static_cast<void>(
      unspool::exporters::WriteRawPprof(spool, {}, sink, &totals));
  return 0;
}

namespace unspool::fuzz {
namespace {

using collectors::TestImage;
using collectors::TestModule;
using exporters::Recording;
using unwind::WalkEnd;

std::string PackedHex(const Recording& recording) {
  const std::vector<uint8_t> bytes = recording.Bytes();
  std::vector<uint8_t> packed;
  for (auto page = bytes.begin(); page != bytes.end(); page += kSpoolPageSize) {
    size_t size = kSpoolPageSize;
    while (size > 0 && page[size - 1] == 0) --size;
    packed.push_back(static_cast<uint8_t>(size));
    packed.push_back(static_cast<uint8_t>(size >> 8));
    packed.insert(packed.end(), page, page + size);
  }
  const auto expanded = Expand(packed);
  if (!std::equal(expanded.begin(), expanded.end(), bytes.begin(),
                  bytes.end())) {
    std::abort();
  }
  std::string hex;
  for (const uint8_t byte : packed) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", byte);
    hex += digits;
  }
  return hex;
}

void AddImage(Recording& recording, int32_t pid, uint64_t stacks) {
  recording.BeginImage(TestImage(pid));
  unwind::Module program = TestModule(0x10000, 0x9000, 1, "/usr/bin/app");
  program.is_main = true;
  recording.writer().AddModule(0, program);
  auto& log = recording.AddThread(pid, "thread");
  for (uint64_t i = 0; i < stacks; ++i) {
    recording.Sample(
        log,
        {{0x11000 + i, 0, true, false}, {i, unwind::kNoModule, false, true}},
        static_cast<WalkEnd>(i % unwind::kWalkEndCount), 10);
  }
  recording.writer().AddLoss(log, collectors::LossCause::kBlocked, 99);
}

std::string OneImage() {
  Recording recording;
  AddImage(recording, 50, 20);
  return PackedHex(recording);
}

// One that needs counters beyond the thread's own page, and a second image.
std::string TwoImages() {
  Recording recording;
  AddImage(recording, 50, 200);
  AddImage(recording, 51, 3);
  return PackedHex(recording);
}

// Two images that were condensed, and no longer have chunks of their own.
std::string Condensed() {
  Recording recording;
  for (const int32_t pid : {50, 51, 52}) AddImage(recording, pid, 20);
  recording.EndImage();
  const std::vector<uint8_t> bytes = recording.Bytes();
  collectors::SpoolReader reader;
  collectors::SpoolArchive archive;
  if (reader.Open(bytes) != collectors::SpoolStatus::kOk ||
      archive.Open(recording.fd()) != collectors::SpoolStatus::kOk) {
    std::abort();
  }
  for (size_t i = 1; i < reader.image_count(); ++i) {
    if (!archive.Add(reader, i)) std::abort();
    reader.ForEachChunk(i, [&](const collectors::PageRun& run) {
      const std::vector<uint8_t> zeros(run.pages * kSpoolPageSize);
      if (pwrite(recording.fd(), zeros.data(), zeros.size(),
                 static_cast<off_t>(run.first * kSpoolPageSize)) < 0) {
        std::abort();
      }
    });
  }
  return PackedHex(recording);
}

}  // namespace

std::span<const FuzzSeed> FuzzSeeds() {
  static const std::string kOne = OneImage();
  static const std::string kTwo = TwoImages();
  static const std::string kCondensed = Condensed();
  static const std::array<FuzzSeed, 3> kSeeds = {{
      {"one_image", kOne.c_str()},
      {"two_images", kTwo.c_str()},
      {"condensed", kCondensed.c_str()},
  }};
  return kSeeds;
}

}  // namespace unspool::fuzz
