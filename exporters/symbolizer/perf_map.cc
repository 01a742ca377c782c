#include "exporters/symbolizer/perf_map.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace unspool::exporters {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{256} << 20;
constexpr size_t kPieceBytes = 65536;
constexpr size_t kMaxLineBytes = 65536;

// Takes a hexadecimal number and the blanks after it off `line`.
bool TakeNumber(std::string_view* line, uint64_t* number) {
  const auto [rest, error] =
      std::from_chars(line->data(), line->data() + line->size(), *number, 16);
  if (error != std::errc()) return false;
  line->remove_prefix(static_cast<size_t>(rest - line->data()));
  const size_t name = line->find_first_not_of(" \t");
  if (name == 0 || name == line->npos) return false;
  line->remove_prefix(name);
  return true;
}

void TakeLine(std::string_view line, JitAddresses* addresses) {
  uint64_t start = 0;
  uint64_t size = 0;
  if (!TakeNumber(&line, &start) || !TakeNumber(&line, &size)) return;
  if (line.ends_with('\r')) line.remove_suffix(1);
  addresses->Name(start, size, [line](uint64_t) {
    NamedFrame frame;
    frame.name = line;
    frame.system_name = SystemNameOf(line);
    return frame;
  });
}

}  // namespace

// From its end to its beginning, so that the last function at an address is met
// first and no more than a piece is in memory.
absl::Status ReadPerfMap(JitFile& file, JitAddresses* addresses) {
  const uint64_t begin = file.size() - std::min(file.size(), kMaxBytes);
  uint64_t end = file.size();
  bool is_ended = false;  // what is between `end` and the line read last
  std::string rest;       // the end of a line that begins before `end`
  while (end > begin && !addresses->all_named()) {
    const size_t size = std::min<uint64_t>(end - begin, kPieceBytes);
    end -= size;
    const std::string text = std::string(file.Read(end, size)) + rest;
    size_t stop = text.size();
    for (size_t line_end; stop > 0; stop = line_end) {
      line_end = text.rfind('\n', stop - 1);
      if (line_end == text.npos) break;
      const std::string_view line(&text[line_end + 1], stop - line_end - 1);
      if (is_ended) TakeLine(line, addresses);
      is_ended = true;
    }
    rest = text.substr(0, stop);
    if (rest.size() > kMaxLineBytes) {
      return absl::InvalidArgumentError("has a line above 64 KiB");
    }
  }
  if (begin > 0 && !addresses->all_named()) {
    return absl::ResourceExhaustedError(
        "is larger than 256 MiB: what is before its end is not read");
  }
  if (is_ended) TakeLine(rest, addresses);
  return absl::OkStatus();
}

}  // namespace unspool::exporters
