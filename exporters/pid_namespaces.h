// In which pid namespaces the processes of a profile had their numbers: what
// another process of the same number wrote must not be taken for theirs.

#ifndef UNSPOOL_EXPORTERS_PID_NAMESPACES_H_
#define UNSPOOL_EXPORTERS_PID_NAMESPACES_H_

#include <cstdint>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "exporters/profile.h"

namespace unspool::exporters {

// Thread rule: const after construction.
class PidNamespaces {
 public:
  // From the comments that exporters/raw writes.
  // Not async-signal-safe: allocates, reads /proc.
  explicit PidNamespaces(const Profile& profile);

  // Whether a process of the profile has its number in the namespace of this
  // process, too. True where nothing is known: the profile is not ours.
  bool IsOurs(int64_t pid) const;

  // Whether processes in several namespaces have the number.
  bool IsAmbiguous(int64_t pid) const;

 private:
  static constexpr uint32_t kSeveral = 0xffffffff;

  uint32_t Of(int64_t pid) const;
  void Note(std::string_view text);
  static void Note(uint32_t pid_namespace, uint32_t* known);

  uint32_t own_ = 0;   // 0: unknown, as below
  uint32_t rest_ = 0;  // of those not in of_process_
  absl::flat_hash_map<int64_t, uint32_t> of_process_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_PID_NAMESPACES_H_
