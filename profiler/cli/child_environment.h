// The environment of the program that is to be profiled: ours, plus what the
// agent needs to know.

#ifndef UNSPOOL_PROFILER_CLI_CHILD_ENVIRONMENT_H_
#define UNSPOOL_PROFILER_CLI_CHILD_ENVIRONMENT_H_

#include <string>
#include <string_view>
#include <vector>

namespace unspool::profiler {

class ChildEnvironment {
 public:
  // Copies `environment`, as in environ(7): "name=value", ended by nullptr.
  explicit ChildEnvironment(const char* const* environment);

  // Replaces every entry of that name by one.
  void Set(std::string_view name, std::string_view value);

  // Removes every entry of that name.
  void Unset(std::string_view name);

  // Puts `path` in front of what LD_PRELOAD already says.
  void Preload(std::string_view path);

  // The first value of that name; "" if there is none.
  std::string_view Get(std::string_view name) const;

  // What execve(2) takes; valid until the next change.
  char* const* envp();

 private:
  std::vector<std::string> entries_;
  std::vector<char*> pointers_;
};

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_CHILD_ENVIRONMENT_H_
