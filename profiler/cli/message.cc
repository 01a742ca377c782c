#include "profiler/cli/message.h"

#include <string.h>
#include <unistd.h>

namespace unspool::profiler {

std::string OneLine(std::string_view text) {
  std::string line(text);
  for (char& c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) c = '?';
  }
  return line;
}

std::string Quoted(std::string_view text) { return "'" + OneLine(text) + "'"; }

std::string ErrnoText(int error) {
  char buffer[128];
  return strerror_r(error, buffer, sizeof(buffer));  // GNU's form
}

void Tell(std::string_view line) {
  const std::string out = "unspool: " + OneLine(line) + "\n";
  [[maybe_unused]] const ssize_t written =
      write(STDERR_FILENO, out.data(), out.size());
}

}  // namespace unspool::profiler
