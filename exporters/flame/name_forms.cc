#include "exporters/flame/name_forms.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

#include "exporters/flame/svg_text.h"

namespace unspool::exporters {
namespace {

// Brackets that are no parameters or template arguments; longer ones first.
constexpr std::string_view kKept[] = {
    "operator<=>",       "operator<<=", "operator<<",           "operator<=",
    "operator<",         "operator>>=", "operator>>",           "operator>=",
    "operator>",         "operator->*", "operator->",           "operator()",
    "(anonymous class)", "{lambda",     "(anonymous namespace)"};

// Where the bracket that begins at `from` ends; npos: nowhere.
size_t BracketEnd(std::string_view name, size_t from) {
  const char open = name[from];
  const char close = open == '<' ? '>' : ')';
  size_t level = 0;
  for (size_t i = from; i < name.size(); ++i) {
    if (name[i] == open) ++level;
    // "->" closes nothing.
    if (name[i] == close && name[i - 1] != '-' && --level == 0) return i;
  }
  return name.npos;
}

// Without what stands behind a function: qualifiers, and marks of clones.
std::string_view DropQualifiers(std::string_view name) {
  for (std::string_view end : {" const", " &", " &&"}) {
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
  }
  if (name.ends_with(']')) name = name.substr(0, name.find(" [clone "));
  const size_t last = name.find_last_not_of(' ');
  return name.substr(0, last == name.npos ? 0 : last + 1);
}

// Without what stands before a template: its return type.
std::string_view DropReturnType(std::string_view name) {
  const size_t space = name.find(' ');
  if (space == 0 || space == name.npos ||
      name.substr(0, space).find('(') != name.npos) {
    return name;
  }
  const std::string_view rest = name.substr(space + 1);
  const bool is_type = rest.substr(0, rest.find(' ')).find("::") != rest.npos;
  return is_type ? rest : name;
}

// Without parameters and template arguments; as it is if they do not end.
std::string ShortName(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const std::string_view rest = name.substr(i);
    const auto* kept = std::ranges::find_if(
        kKept,
        [rest](std::string_view text) { return rest.starts_with(text); });
    if (kept != std::end(kKept)) {
      out += *kept;
      i += kept->size() - 1;
    } else if (i == 0 || (name[i] != '<' && name[i] != '(')) {
      out += name[i];
    } else {
      i = BracketEnd(name, i);
      if (i == name.npos) return std::string(name);
    }
  }
  return std::string(DropReturnType(DropQualifiers(out)));
}

}  // namespace

std::vector<std::string> NameForms(std::string_view name) {
  const size_t digits = name.find_last_not_of("0123456789abcdef");
  if (digits != name.npos && digits >= 2 && digits + 1 < name.size() &&
      name.substr(digits - 2, 3) == "+0x") {
    return {std::string(name), std::string(name.substr(digits - 2))};
  }
  const std::string short_name = ShortName(name);
  const size_t scope = short_name.size() < 3
                           ? name.npos
                           : short_name.rfind("::", short_name.size() - 3);
  if (scope == name.npos) return {std::string(name), short_name};
  return {std::string(name), short_name, short_name.substr(scope + 2)};
}

std::string FitForm(std::string_view name, size_t room) {
  if (CharCount(name) <= room) return std::string(name);
  const std::vector<std::string> forms = NameForms(name);
  const auto fits = std::ranges::find_if(
      forms, [room](const auto& form) { return CharCount(form) <= room; });
  return fits == forms.end() ? forms.back() : *fits;
}

}  // namespace unspool::exporters
