// Runs other programs that judge ours.

#ifndef UNSPOOL_TESTS_EXPORTERS_COMMAND_H_
#define UNSPOOL_TESTS_EXPORTERS_COMMAND_H_

#include <string>
#include <string_view>
#include <vector>

namespace unspool::exporters {

struct CommandResult {
  int status = -1;  // exit status; -1 if it ended otherwise
  std::string out;
  std::string err;
};

// Runs `command` by the shell with `input` on its standard input.
CommandResult RunCommand(const std::string& command,
                         std::string_view input = "");

std::vector<std::string> SplitLines(std::string_view text);

std::string ReadFile(const std::string& path);
void WriteFileOrDie(const std::string& path, std::string_view bytes);

// A new name in the test's folder for temporary files; its file does not exist.
std::string TempPath(std::string_view name);

}  // namespace unspool::exporters

#endif  // UNSPOOL_TESTS_EXPORTERS_COMMAND_H_
