#include "exporters/name_pattern.h"

#include <re2/re2.h>

#include <utility>

#include "absl/status/status.h"

namespace unspool::exporters {
namespace {

re2::StringPiece Piece(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

NamePattern::NamePattern(std::unique_ptr<re2::RE2> pattern)
    : pattern_(std::move(pattern)) {}
NamePattern::NamePattern(NamePattern&&) noexcept = default;
NamePattern& NamePattern::operator=(NamePattern&&) noexcept = default;
NamePattern::~NamePattern() = default;

absl::StatusOr<NamePattern> NamePattern::Create(const std::string& pattern) {
  auto re = std::make_unique<re2::RE2>(pattern, re2::RE2::Quiet);
  if (!re->ok()) {
    return absl::InvalidArgumentError(
        "'" + pattern + "' is no regular expression: " + re->error());
  }
  return NamePattern(std::move(re));
}

bool NamePattern::Finds(std::string_view text) const {
  return re2::RE2::PartialMatch(Piece(text), *pattern_);
}

bool NamePattern::Matches(std::string_view text) const {
  return re2::RE2::FullMatch(Piece(text), *pattern_);
}

}  // namespace unspool::exporters
