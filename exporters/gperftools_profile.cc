#include "exporters/gperftools_profile.h"

#include <algorithm>
#include <bit>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"

namespace unspool::exporters {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr size_t kWordBytes = sizeof(uint64_t);
// 0, the number of words that follow, version 0, period in microseconds, 0.
constexpr size_t kHeaderWords = 5;
constexpr uint64_t kMaxPeriodUs = 1'000'000'000'000;

// Words from the front of some bytes; 0 behind their end, which is sticky.
class WordReader {
 public:
  explicit WordReader(std::string_view data) : data_(data) {}

  uint64_t Next() {
    if (data_.size() < kWordBytes) {
      ok_ = false;
      return 0;
    }
    uint64_t word = 0;
    memcpy(&word, data_.data(), kWordBytes);
    data_.remove_prefix(kWordBytes);
    return word;
  }

  bool ok() const { return ok_; }
  size_t words_left() const { return data_.size() / kWordBytes; }
  std::string_view rest() const { return data_; }

 private:
  std::string_view data_;
  bool ok_ = true;
};

int64_t Multiply(uint64_t count, int64_t period_ns) {
  int64_t product = 0;
  return __builtin_mul_overflow(count, period_ns, &product)
             ? std::numeric_limits<int64_t>::max()
             : product;
}

class Decoder {
 public:
  absl::StatusOr<Profile> Decode(std::string_view data) {
    WordReader words(data);
    for (size_t i = 0; i < kHeaderWords; ++i) {
      const uint64_t word = words.Next();
      if (i == 3) profile_.period = static_cast<int64_t>(word) * 1000;
    }
    const StringId cpu = profile_.strings.Intern("cpu");
    const StringId nanoseconds = profile_.strings.Intern("nanoseconds");
    profile_.sample_types = {
        {profile_.strings.Intern("samples"), profile_.strings.Intern("count")},
        {cpu, nanoseconds}};
    profile_.period_type = {cpu, nanoseconds};
    absl::Status status = ReadSamples(words);
    if (!status.ok()) return status;
    ReadMaps(words.rest());
    return std::move(profile_);
  }

 private:
  // Count, number of frames, frames; the end is count 0 with one frame 0.
  absl::Status ReadSamples(WordReader& words) {
    std::vector<uint64_t> stack;
    while (true) {
      const uint64_t count = words.Next();
      const uint64_t depth = words.Next();
      if (!words.ok() || depth > words.words_left()) {
        return absl::InvalidArgumentError("truncated");
      }
      stack.clear();
      for (uint64_t i = 0; i < depth; ++i) stack.push_back(words.Next());
      if (count == 0 && depth == 1 && stack[0] == 0) return absl::OkStatus();
      AddSample(count, stack);
    }
  }

  void AddSample(uint64_t count, std::vector<uint64_t>& stack) {
    // The unwinder may begin with the frame that the signal interrupted.
    if (stack.size() > 1 && stack[0] == stack[1]) stack.erase(stack.begin());
    std::vector<uint32_t> locations;
    for (size_t i = 0; i < stack.size(); ++i) {
      // Callers are return addresses.
      locations.push_back(LocationAt(i == 0 ? stack[i] : stack[i] - 1));
    }
    const int64_t values[] = {Multiply(count, 1),
                              Multiply(count, profile_.period)};
    profile_.AddSample(locations, values, {});
  }

  uint32_t LocationAt(uint64_t address) {
    const auto [entry, is_new] = locations_.try_emplace(
        address, static_cast<uint32_t>(profile_.locations.size()));
    if (is_new) profile_.locations.push_back({.address = address});
    return entry->second;
  }

  // Lines of proc(5) maps; others ("build=…") are not for us.
  void ReadMaps(std::string_view text) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      ReadMap(std::string(text.substr(0, end)));
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    std::vector<uint32_t> by_start(profile_.mappings.size());
    for (uint32_t i = 0; i < by_start.size(); ++i) by_start[i] = i;
    const auto start = [this](uint32_t mapping) {
      return profile_.mappings[mapping].memory_start;
    };
    std::ranges::sort(by_start, {}, start);
    for (Location& location : profile_.locations) {
      const auto next =
          std::ranges::upper_bound(by_start, location.address, {}, start);
      if (next == by_start.begin()) continue;
      if (location.address < profile_.mappings[next[-1]].memory_limit) {
        location.mapping = next[-1];
      }
    }
  }

  void ReadMap(const std::string& line) {
    Mapping mapping;
    char permissions[5] = "";
    int path = 0;
    if (std::sscanf(line.c_str(),
                    "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n",
                    &mapping.memory_start, &mapping.memory_limit, permissions,
                    &mapping.file_offset, &path) < 4 ||
        strchr(permissions, 'x') == nullptr || path == 0) {
      return;
    }
    mapping.filename = profile_.strings.Intern(std::string_view(line).substr(
        std::min(static_cast<size_t>(path), line.size())));
    profile_.mappings.push_back(mapping);
  }

  Profile profile_;
  absl::flat_hash_map<uint64_t, uint32_t> locations_;  // by address
};

}  // namespace

bool IsGperftoolsProfile(std::string_view data) {
  WordReader words(data);
  uint64_t header[kHeaderWords];
  for (uint64_t& word : header) word = words.Next();
  return words.ok() && header[0] == 0 && header[1] == 3 && header[2] == 0 &&
         header[3] > 0 && header[3] < kMaxPeriodUs && header[4] == 0;
}

absl::StatusOr<Profile> DecodeGperftools(std::string_view data) {
  return Decoder().Decode(data);
}

}  // namespace unspool::exporters
