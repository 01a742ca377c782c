#include "tests/oracle/gdb_packets.h"

#include <cstdlib>
#include <numeric>

namespace unspool::oracle {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string HexOf(uint8_t byte) {
  return {kDigits[byte >> 4], kDigits[byte & 15]};
}

// Of the characters between '$' and '#'.
std::string ChecksumOf(std::string_view data) {
  return HexOf(std::accumulate(
      data.begin(), data.end(), uint8_t{0}, [](uint8_t sum, char next) {
        return static_cast<uint8_t>(sum + static_cast<uint8_t>(next));
      }));
}

}  // namespace

std::string ToHex(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += HexOf(byte);
  return text;
}

std::string ToPacket(std::string_view data) {
  std::string escaped;
  for (const char next : data) {
    if (std::string_view("#$}*").find(next) != std::string_view::npos) {
      escaped += '}';
      escaped += static_cast<char>(next ^ 0x20);
    } else {
      escaped += next;
    }
  }
  return "$" + escaped + "#" + ChecksumOf(escaped);
}

std::optional<std::string> TakePacket(std::string* received) {
  const size_t start = received->find('$');
  if (start == std::string::npos) return std::nullopt;
  const size_t end = received->find('#', start);
  if (end == std::string::npos || received->size() - end < 3) {
    return std::nullopt;
  }
  const std::string data = received->substr(start + 1, end - start - 1);
  const bool is_whole = received->substr(end + 1, 2) == ChecksumOf(data);
  received->erase(0, end + 3);
  if (!is_whole) return std::nullopt;
  return data;
}

}  // namespace unspool::oracle
