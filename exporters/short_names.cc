#include "exporters/short_names.h"

#include <cctype>
#include <cstddef>

namespace unspool::exporters {
namespace {

constexpr std::string_view kGap = "..";

// The index behind the bracket that closes the one at `begin`; npos if none
// does. The '>' of "->" is no bracket; one that compares, and the '<' of an
// operator's name, stand inside of parentheses, which end them.
size_t FindBracketEnd(std::string_view text, size_t begin) {
  std::string closing;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(') {
      closing += c == '<' ? '>' : ')';
      continue;
    }
    if (c == ')') {
      while (closing.size() > 1 && closing.back() == '>') closing.pop_back();
    } else if (c != '>' || text[i - 1] == '-') {
      continue;
    }
    if (closing.back() != c) continue;
    closing.pop_back();
    if (closing.empty()) return i + 1;
  }
  return text.npos;
}

// Whether an operator's name ends here: "operator<" and the like; the demangler
// puts a space between such a name and its template arguments.
bool EndsWithOperator(std::string_view before) {
  const size_t letters = before.find_last_not_of("<>=-! ");
  return letters != before.npos &&
         before.substr(0, letters + 1).ends_with("operator");
}

// Whether template arguments may begin behind `before`.
bool MayHaveTemplateArguments(std::string_view before) {
  if (before.empty()) return false;
  if (EndsWithOperator(before)) return before.ends_with(' ');
  const auto c = static_cast<unsigned char>(before.back());
  return std::isalnum(c) != 0 || c >= 0x80 ||
         std::string_view("_$)]}").find(before.back()) != before.npos;
}

// Rust's "f::<T>" is the end of a name or followed by more of it, unlike
// Python's "py::<module>:/file" and Java's "LMain;::<init>".
bool MayBeRust(std::string_view before) {
  return before.ends_with("::") && before.size() > 2 &&
         before[before.size() - 3] != ';';
}

bool IsKept(std::string_view text) {
  return text.starts_with("(anonymous namespace)") || text.starts_with("()");
}

}  // namespace

std::string ElideArguments(std::string_view name, char open) {
  std::string out;
  bool may_be_rust = open == '<';
  for (size_t i = 0; i < name.size();) {
    const bool is_rust = may_be_rust && MayBeRust(out);
    if (name[i] != open || IsKept(name.substr(i)) ||
        (open == '<' && !is_rust && !MayHaveTemplateArguments(out))) {
      out += name[i++];
      continue;
    }
    const size_t end = FindBracketEnd(name, i);
    if (end == name.npos) return std::string(name);
    if (is_rust && end < name.size() && !name.substr(end).starts_with("::")) {
      may_be_rust = false;  // hence one search in vain
      continue;
    }
    out.append(1, open).append(kGap).append(1, open == '<' ? '>' : ')');
    i = end;
  }
  return out;
}

void ShortenTemplates(Profile* profile) {
  for (Function& function : profile->functions) {
    const std::string_view name = profile->strings[function.name];
    if (name.find('<') == name.npos) continue;
    function.name = profile->strings.Intern(ElideArguments(name, '<'));
  }
}

}  // namespace unspool::exporters
