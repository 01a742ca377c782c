#include "exporters/pid_namespaces.h"

#include <sys/stat.h>

#include <optional>
#include <string_view>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace unspool::exporters {
namespace {

constexpr std::string_view kKey = "unspool.pid_namespace=pid:[";

template <typename T>
std::optional<T> Number(std::string_view text) {
  T number = 0;
  if (!absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &number)) {
    return std::nullopt;
  }
  return number;
}

}  // namespace

PidNamespaces::PidNamespaces(const Profile& profile) {
  struct stat facts {};
  if (stat("/proc/self/ns/pid", &facts) == 0) {
    own_ = static_cast<uint32_t>(facts.st_ino);
  }
  for (const StringId comment : profile.comments) {
    const std::string_view text = profile.strings[comment];
    if (text.starts_with(kKey)) Note(text.substr(kKey.size()));
  }
}

// "4026531836]": the namespace of all; "4026531836] 7 9": of those.
void PidNamespaces::Note(std::string_view text) {
  const size_t end = text.find(']');
  const auto number = Number<uint32_t>(text.substr(0, end));
  if (!number || end == text.npos) return;
  text.remove_prefix(end + 1);
  if (text.empty()) return Note(*number, &rest_);
  const absl::string_view pids(text.data(), text.size());
  for (const auto pid : absl::StrSplit(pids, ' ', absl::SkipEmpty())) {
    const auto process = Number<int64_t>({pid.data(), pid.size()});
    if (process) Note(*number, &of_process_[*process]);
  }
}

// Of merged profiles each says its own.
void PidNamespaces::Note(uint32_t pid_namespace, uint32_t* known) {
  const bool is_same = *known == 0 || *known == pid_namespace;
  *known = is_same ? pid_namespace : kSeveral;
}

uint32_t PidNamespaces::Of(int64_t pid) const {
  const auto found = of_process_.find(pid);
  if (found == of_process_.end()) return rest_;
  return rest_ == 0 || rest_ == found->second ? found->second : kSeveral;
}

bool PidNamespaces::IsOurs(int64_t pid) const {
  const uint32_t number = Of(pid);
  return number == 0 || own_ == 0 || number == own_;
}

bool PidNamespaces::IsAmbiguous(int64_t pid) const {
  return Of(pid) == kSeveral;
}

}  // namespace unspool::exporters
