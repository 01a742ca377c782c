// A regular expression that the user gave.

#ifndef UNSPOOL_EXPORTERS_NAME_PATTERN_H_
#define UNSPOOL_EXPORTERS_NAME_PATTERN_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace re2 {
class RE2;
}

namespace unspool::exporters {

// RE2's: the syntax of pprof, in time linear to the text whatever the pattern.
// Thread-safe.
class NamePattern {
 public:
  // InvalidArgument: why it is no regular expression.
  // Not async-signal-safe: allocates.
  static absl::StatusOr<NamePattern> Create(const std::string& pattern);

  NamePattern(NamePattern&&) noexcept;
  NamePattern& operator=(NamePattern&&) noexcept;
  ~NamePattern();

  // Whether it matches anywhere in `text`, or the whole of it.
  bool Finds(std::string_view text) const;
  bool Matches(std::string_view text) const;

 private:
  explicit NamePattern(std::unique_ptr<re2::RE2> pattern);

  std::unique_ptr<re2::RE2> pattern_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_NAME_PATTERN_H_
