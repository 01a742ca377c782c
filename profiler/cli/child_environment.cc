#include "profiler/cli/child_environment.h"

namespace unspool::profiler {
namespace {

bool IsEntryOf(std::string_view entry, std::string_view name) {
  return entry.size() > name.size() && entry.starts_with(name) &&
         entry[name.size()] == '=';
}

}  // namespace

ChildEnvironment::ChildEnvironment(const char* const* environment) {
  for (; *environment != nullptr; ++environment) {
    entries_.emplace_back(*environment);
  }
}

void ChildEnvironment::Unset(std::string_view name) {
  std::erase_if(entries_, [name](const std::string& entry) {
    return IsEntryOf(entry, name);
  });
}

void ChildEnvironment::Set(std::string_view name, std::string_view value) {
  Unset(name);
  entries_.push_back(std::string(name) + "=" + std::string(value));
}

void ChildEnvironment::Preload(std::string_view path) {
  const std::string_view before = Get("LD_PRELOAD");
  if (before.empty()) return Set("LD_PRELOAD", path);
  Set("LD_PRELOAD", std::string(path) + ":" + std::string(before));
}

std::string_view ChildEnvironment::Get(std::string_view name) const {
  for (const std::string& entry : entries_) {
    if (IsEntryOf(entry, name)) {
      return std::string_view(entry).substr(name.size() + 1);
    }
  }
  return {};
}

char* const* ChildEnvironment::envp() {
  pointers_.clear();
  for (std::string& entry : entries_) pointers_.push_back(entry.data());
  pointers_.push_back(nullptr);
  return pointers_.data();
}

}  // namespace unspool::profiler
