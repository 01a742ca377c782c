#include "exporters/raw/cause_names.h"

#include <cstdio>
#include <span>

#include "unwind/frame.h"
#include "unwind/stack_audit.h"

namespace unspool::exporters::raw {

const char* LossName(size_t cause) {
  static constexpr const char* kNames[] = {
      "full", "reentry", "blocked", "no-stack", "no-timer", "unreadable"};
  static_assert(std::size(kNames) == kLossNames);
  return kNames[cause];
}

const char* TruncationName(size_t end) {
  static constexpr const char* kNames[] = {
      "", "depth", "no-cfi", "bad-memory", "loop", "bad-cfi", "no-register"};
  static_assert(std::size(kNames) == unwind::kWalkEndCount);
  return kNames[end];
}

const char* AuditName(size_t finding) {
  static constexpr const char* kNames[] = {"", "rule", "module", "stack"};
  static_assert(std::size(kNames) == unwind::kAuditFindingCount);
  return kNames[finding];
}

uint32_t PseudoFrame(ProfileTables& tables, const char* what,
                     const char* cause) {
  char name[64];
  snprintf(name, sizeof(name), "[%s: %s]", what, cause);
  return tables.FindOrAddPseudo(name);
}

}  // namespace unspool::exporters::raw
