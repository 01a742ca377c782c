#include "exporters/flame/svg_text.h"

#include <algorithm>

namespace unspool::exporters {
namespace {

// Bytes of the character that `text` begins with, if it is UTF-8 and XML 1.0
// §2.2 allows it; else 0.
size_t CharSize(std::string_view text) {
  const auto byte = [text](size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
  const size_t size = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4) return 0;
  uint32_t code = byte(0) & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3f);
  }
  const uint32_t least = size == 4 ? 0x10000 : size == 3 ? 0x800 : 0x80;
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  const bool is_allowed = code <= 0x10ffff && (code & 0xfffe) != 0xfffe;
  return code >= least && !is_surrogate && is_allowed ? size : 0;
}

}  // namespace

size_t CharCount(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string EscapeXml(std::string_view text, size_t max_chars) {
  std::string out;
  size_t chars = 0;
  while (!text.empty()) {
    const size_t size = CharSize(text);
    if (++chars == max_chars && text.size() > std::max<size_t>(size, 1)) {
      return out += "…";
    }
    if (size == 0) {
      out += "\xef\xbf\xbd";  // U+FFFD
    } else if (text[0] == '&') {
      out += "&amp;";
    } else if (text[0] == '<') {
      out += "&lt;";
    } else if (text[0] == '>') {
      out += "&gt;";
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(std::max<size_t>(size, 1));
  }
  return out;
}

}  // namespace unspool::exporters
