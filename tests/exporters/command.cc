#include "tests/exporters/command.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace unspool::exporters {

CommandResult RunCommand(const std::string& command, std::string_view input) {
  const std::string base = TempPath("command");
  WriteFileOrDie(base + ".in", input);
  const int status = std::system(("{ " + command + "; } <" + base + ".in >" +
                                  base + ".out 2>" + base + ".err")
                                     .c_str());
  CommandResult result = {
      .status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
      .out = ReadFile(base + ".out"),
      .err = ReadFile(base + ".err"),
  };
  for (const char* ending : {".in", ".out", ".err"}) {
    std::remove((base + ending).c_str());
  }
  return result;
}

std::vector<std::string> SplitLines(std::string_view text) {
  std::vector<std::string> lines;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return std::move(out).str();
}

void WriteFileOrDie(const std::string& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary);
  out << bytes;
  if (!out.flush()) {
    std::perror(path.c_str());
    std::abort();
  }
}

std::string TempPath(std::string_view name) {
  static int count = 0;
  const char* folder = std::getenv("TMPDIR");
  return std::string(folder != nullptr ? folder : "/tmp") + "/unspool-test-" +
         std::to_string(getpid()) + "-" + std::to_string(++count) + "-" +
         std::string(name);
}

}  // namespace unspool::exporters
