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

// "file.c:12" without what is in the middle of the file's name.
std::string FitPlace(std::string_view place, size_t width) {
  const size_t line = place.rfind(':');
  std::string file(place.substr(0, line));
  const size_t digits = place.size() - line;
  DropMiddle(file, std::max(width, digits + kGap.size() + 1) - digits);
  return file + std::string(place.substr(line));
}

// The place is whole if that leaves a third of the width to the name, else it
// has half.
std::string FitNameAndPlace(std::string_view name, std::string_view place,
                            size_t width) {
  size_t room = width - 1 - std::min(width / 3, Columns(name));
  if (Columns(place) > room) {
    room = width - 1 - std::min(width / 2, Columns(name));
  }
  const std::string fitted = FitPlace(place, room);
  const size_t rest = width - std::min(width - 1, Columns(fitted) + 1);
  return FitName(name, rest) + " " + fitted;
}

}  // namespace

std::string FitName(std::string_view name, size_t width) {
  std::string text = Printable(name);
  if (width == 0 || Columns(text) <= width) return text;
  DropMiddle(text, kMaxNameBytes);
  if (const size_t place = FindPlace(text); place != text.npos) {
    return FitNameAndPlace(std::string_view(text).substr(0, place),
                           BaseName(std::string_view(text).substr(place + 1)),
                           width);
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
