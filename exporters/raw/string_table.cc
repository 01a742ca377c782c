#include "exporters/raw/string_table.h"

#include <algorithm>

namespace unspool::exporters::raw {

namespace {

// How many bytes the character at `text` takes; 0: it is not UTF-8 (RFC 3629
// §4: no overlong forms, no surrogates, nothing above U+10FFFF).
size_t CharacterSize(std::span<const char> text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (first < 0xc2 || first > 0xf4 || size > text.size()) return 0;
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const uint8_t second = byte(1);
  const bool is_forbidden =
      (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
      (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return is_forbidden ? 0 : size;
}

void ReplaceInvalid(std::span<char> text) {
  while (!text.empty()) {
    size_t size = CharacterSize(text);
    if (size == 0) {
      text[0] = '?';
      size = 1;
    }
    text = text.subspan(size);
  }
}

uint64_t HashText(std::span<const char> text) {
  uint64_t hash = text.size();
  for (const char c : text)
    hash = collectors::HashMix(hash, static_cast<uint8_t>(c));
  return hash;
}

}  // namespace

uint32_t StringTable::Intern(std::span<const char> text) {
  // The candidate is put in place first: cleaning it needs a copy anyway.
  const size_t offset = bytes_.size();
  if (!ok_ || !bytes_.AppendAll(text)) {
    ok_ = false;
    return 0;
  }
  const std::span<char> clean(bytes_.data() + offset, text.size());
  ReplaceInvalid(clean);
  const size_t old_size = texts_.size();
  const uint32_t id = index_.FindOrAdd(
      HashText(clean),
      [&](uint32_t other) {
        const auto present = (*this)[other - 1];
        return std::equal(present.begin(), present.end(), clean.begin(),
                          clean.end());
      },
      [&]() -> uint32_t {
        return texts_.Append({offset, clean.size()}) ? texts_.size() : 0;
      });
  if (texts_.size() == old_size) bytes_.Truncate(offset);
  ok_ = id != 0;
  return ok_ ? id - 1 : 0;
}

}  // namespace unspool::exporters::raw
