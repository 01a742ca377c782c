// A stranger's text as the content of an XML 1.0 element.

#ifndef UNSPOOL_EXPORTERS_FLAME_SVG_TEXT_H_
#define UNSPOOL_EXPORTERS_FLAME_SVG_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace unspool::exporters {

// `text` with the characters that mean something to XML as references, and
// those that XML does not allow (§2.2), or that are no UTF-8, as U+FFFD. Of
// more than `max_chars` characters the last is "…". Precondition: max_chars >
// 0. Any thread. Not async-signal-safe: allocates.
std::string EscapeXml(std::string_view text, size_t max_chars = SIZE_MAX);

// Characters of UTF-8. Never allocates.
size_t CharCount(std::string_view text);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_FLAME_SVG_TEXT_H_
