// Profiles with names, written as one reads a stack.

#ifndef UNSPOOL_TESTS_EXPORTERS_NAMED_PROFILE_H_
#define UNSPOOL_TESTS_EXPORTERS_NAMED_PROFILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/profile.h"

namespace unspool::exporters {

// An empty profile of CPU time: samples/count and cpu/nanoseconds.
Profile NewCpuProfile();

// What `frames` of a location are called: "innermost file.c:12" …, files
// without folders.
std::vector<std::string> FrameTexts(const Profile& profile, uint32_t location);

class NamedProfile {
 public:
  NamedProfile();

  // Adds a sample. `stack` is leaf first: "leaf < caller < main". A frame
  // "innie|outie" is one location with inlined functions, innermost first;
  // "@/lib/x" has no function and lies in that file ("@": in none).
  void Add(std::string_view stack, int64_t samples, int64_t cpu_ns);

  const Profile& get() const { return profile_; }
  Profile& get() { return profile_; }

 private:
  uint32_t LocationOf(const std::string& frame);
  uint32_t FunctionOf(const std::string& name);

  Profile profile_;
  std::map<std::string, uint32_t> locations_;
  std::map<std::string, uint32_t> functions_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_TESTS_EXPORTERS_NAMED_PROFILE_H_
