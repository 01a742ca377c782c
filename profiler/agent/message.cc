#include "profiler/agent/message.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace unspool::profiler {
namespace {

constinit struct stat stderr_at_load {};

bool IsStderrAsAtLoad() {
  struct stat now;
  return fstat(STDERR_FILENO, &now) == 0 &&
         now.st_dev == stderr_at_load.st_dev &&
         now.st_ino == stderr_at_load.st_ino;
}

// Control characters, of file names or variables, would break the line.
void MakeOneLine(char* text, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (static_cast<unsigned char>(text[i]) < ' ') text[i] = '?';
  }
}

}  // namespace

Problem MakeProblem(int error, const char* format, ...) {
  Problem problem;
  problem.error = error;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(problem.text, sizeof(problem.text), format, arguments);
  va_end(arguments);
  return problem;
}

void RememberStderr() {
  if (fstat(STDERR_FILENO, &stderr_at_load) != 0) stderr_at_load = {};
}

void Say(const char* format, ...) {
  if (!IsStderrAsAtLoad()) return;
  static constexpr char kPrefix[] = "unspool: ";
  constexpr size_t kPrefixSize = sizeof(kPrefix) - 1;
  char line[1024];
  snprintf(line, sizeof(line), "%s", kPrefix);
  va_list arguments;
  va_start(arguments, format);
  const int written = vsnprintf(line + kPrefixSize, sizeof(line) - kPrefixSize,
                                format, arguments);
  va_end(arguments);
  if (written < 0) return;
  size_t size = kPrefixSize + static_cast<size_t>(written);
  if (size > sizeof(line) - 1) size = sizeof(line) - 1;
  MakeOneLine(line, size);
  line[size++] = '\n';
  syscall(SYS_write, STDERR_FILENO, line, size);
}

}  // namespace unspool::profiler
