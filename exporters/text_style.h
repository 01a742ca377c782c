// How text looks where it is read.

#ifndef UNSPOOL_EXPORTERS_TEXT_STYLE_H_
#define UNSPOOL_EXPORTERS_TEXT_STYLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace unspool::exporters {

// The default is for files and pipes: everything, and nothing but text.
struct TextStyle {
  size_t width = 0;       // columns of a line at most; 0: as long as it is
  size_t rows = 0;        // of a table or tree at most; 0: all
  bool is_color = false;  // escape sequences of ECMA-48
};

// `name` in at most `width` columns (0: all of it), control characters
// replaced. Given up in this order, until it fits: folders of "f /src/a.c:12",
// arguments, template arguments ("f<..>(..)"), the return type, namespaces and
// classes from the left ("..f"), what is left of the brackets, the middle; and
// the middle of the file's name, if that would leave little to the function's.
// Not async-signal-safe: allocates.
std::string FitName(std::string_view name, size_t width);

// The end of `path` in at most `width` columns (0: all of it).
// Not async-signal-safe: allocates.
std::string FitPath(std::string_view path, size_t width);

// `text` made bold red for at least a tenth of the whole, bold for a
// hundredth, faint for nothing.
// Not async-signal-safe: allocates.
std::string Shade(const TextStyle& style, double share, std::string text);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_TEXT_STYLE_H_
