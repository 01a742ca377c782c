#include "exporters/text_style.h"

#include <algorithm>

#include "exporters/frame_names.h"
#include "exporters/short_names.h"

namespace unspool::exporters {
namespace {

constexpr std::string_view kGap = "..";
constexpr size_t kMaxNameBytes = 4096;  // what follows is quadratic

// Columns are code points: terminals have them one wide, but for a few scripts.
size_t Columns(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

// What a template's or lambda's symbol says before its name.
std::string DropReturnType(std::string_view text) {
  const size_t arguments = text.find('(');
  if (arguments == text.npos || text.find("operator") != text.npos) {
    return std::string(text);
  }
  const size_t space = text.rfind(' ', arguments);
  return std::string(space == text.npos ? text : text.substr(space + 1));
}

// "a::b::f" to "..b::f", to "..f".
void DropScopes(std::string& text, size_t width) {
  while (Columns(text) > width) {
    const size_t scope = text.find("::");
    if (scope == text.npos || scope + 2 >= text.size()) return;
    text = std::string(kGap) + text.substr(scope + 2);
  }
}

void DropMiddle(std::string& text, size_t width) {
  if (Columns(text) <= width || width <= kGap.size()) return;
  const auto is_inside = [&text](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  };
  const size_t keep = width - kGap.size();
  size_t head = keep / 2;
  size_t tail = text.size() - (keep - head);
  while (head > 0 && is_inside(head)) --head;
  while (tail < text.size() && is_inside(tail)) ++tail;
  text = text.substr(0, head) + std::string(kGap) + text.substr(tail);
}

// Where " file.c:12" begins in the name of a line; npos if it has none.
size_t FindPlace(std::string_view text) {
  const size_t digits = text.find_last_not_of("0123456789");
  if (digits == text.npos || digits + 1 == text.size() || text[digits] != ':') {
    return text.npos;
  }
  return text.rfind(' ', digits);
}

}  // namespace

std::string FitName(std::string_view name, size_t width) {
  std::string text = Printable(name);
  if (width == 0 || Columns(text) <= width) return text;
  DropMiddle(text, kMaxNameBytes);
  if (const size_t place = FindPlace(text); place != text.npos) {
    const std::string file(BaseName(std::string_view(text).substr(place + 1)));
    const size_t room = width - std::min(width, Columns(file) + 1);
    return FitName(text.substr(0, place), std::max<size_t>(room, 8)) + " " +
           file;
  }
  for (char open : {'(', '<'}) {
    if (Columns(text) > width) text = ElideArguments(text, open);
  }
  if (Columns(text) > width) text = DropReturnType(text);
  DropScopes(text, width);
  for (std::string_view empty : {"(..)", "<..>"}) {
    for (size_t at = text.find(empty); at != text.npos && Columns(text) > width;
         at = text.find(empty)) {
      text.erase(at, empty.size());
    }
  }
  DropMiddle(text, width);
  return text;
}

std::string FitPath(std::string_view path, size_t width) {
  const std::string text = Printable(path);
  if (width <= kGap.size() || text.size() <= width) return text;
  return std::string(kGap) + text.substr(text.size() - width + kGap.size());
}

std::string Shade(const TextStyle& style, double share, std::string text) {
  if (!style.is_color) return text;
  const char* begin = share >= 0.1 ? "\033[1;31m" : "\033[1m";
  if (share == 0) begin = "\033[2m";
  if (share > 0 && share < 0.01) return text;
  return begin + std::move(text) + "\033[0m";
}

}  // namespace unspool::exporters
