// Hostile profiles: what the decoder accepts can be shown, and encoded and
// decoded again.

#include <array>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include "exporters/export.h"
#include "exporters/gzip.h"
#include "exporters/pprof_format.h"
#include "tests/exporters/named_profile.h"
#include "tests/fuzz/fuzz_seeds.h"

namespace unspool::fuzz {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;

void ExercisePprof(std::string_view bytes) {
  const auto profile = exporters::DecodePprof(bytes);
  if (!profile.ok()) return;
  std::ostringstream out;
  if (!exporters::WriteTop(*profile, "", out).ok() ||
      !exporters::WriteFolded(*profile, "", out).ok()) {
    // Only for want of the type that the profile calls its default.
    if (profile->FindSampleType("")) std::abort();
  }
  const std::string encoded = exporters::EncodePprof(*profile);
  const auto again = exporters::DecodePprof(encoded);
  if (!again.ok() || exporters::EncodePprof(*again) != encoded) std::abort();
}

std::string Hex(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

exporters::Profile SeedProfile() {
  exporters::NamedProfile profile;
  profile.Add("innie|outie < f < @/lib/libx.so < main", 3, 50'000'000);
  profile.Add("[lost: full]", 0, 70'000'000);
  profile.get().AddComment("unspool.lost", "7");
  return std::move(profile.get());
}

}  // namespace

std::span<const FuzzSeed> FuzzSeeds() {
  static const std::string kPlain = Hex(SerializePprof(SeedProfile(), false));
  static const std::string kGzip = Hex(SerializePprof(SeedProfile(), true));
  static const std::array<FuzzSeed, 2> kSeeds = {{
      {"plain", kPlain.c_str()},
      {"gzip", kGzip.c_str()},
  }};
  return kSeeds;
}

}  // namespace unspool::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!unspool::exporters::IsGzip(bytes)) {
    unspool::fuzz::ExercisePprof(bytes);
    return 0;
  }
  const auto plain =
      unspool::exporters::Gunzip(bytes, unspool::fuzz::kMaxBytes);
  if (plain.ok()) unspool::fuzz::ExercisePprof(*plain);
  return 0;
}
