// Samples that a flame graph may show apart: by thread, by whether their stack
// was guessed in part or of a thread that waited, and, in a differential graph,
// by which of the two profiles they come from.

#ifndef UNSPOOL_EXPORTERS_FLAME_SAMPLE_GROUPS_H_
#define UNSPOOL_EXPORTERS_FLAME_SAMPLE_GROUPS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "exporters/profile.h"

namespace unspool::exporters {

struct SampleGroup {
  uint32_t thread = 0;   // index into SampleGroups::threads
  bool guessed = false;  // label unwind=guessed
  bool before = false;   // of the first profile of a difference
  bool waiting = false;  // label state=waiting: not on a CPU
};

struct SampleGroups {
  // "worker (1234)"; "" where nothing says which thread. At most kMaxThreads:
  // of more, those of the same name are one; if that does not do, the lightest
  // are one, "(other threads)". In a difference those of the same name always
  // are one: the two runs had other numbers.
  std::vector<std::string> threads;
  std::vector<SampleGroup> groups;
  std::vector<uint32_t> of_sample;  // index into groups, by sample
  bool is_difference = false;       // of two profiles, either may be empty

  static constexpr size_t kMaxThreads = 256;
};

// The first profile's samples are those that DiffBase knows, or what is
// negative in a profile without such. Precondition: `value_index` is one of the
// profile's sample types. Any thread. Not async-signal-safe: allocates.
SampleGroups GroupSamples(const Profile& profile, size_t value_index);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_FLAME_SAMPLE_GROUPS_H_
