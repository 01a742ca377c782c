#include "unwind/module_path.h"

namespace unspool::unwind {
namespace {

// By hand: what the handler calls of libc is a short list.
bool IsSame(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) {
    ++a;
    ++b;
  }
  return *a == *b;
}

}  // namespace

const char* FileNameOf(const char* path) {
  const char* name = path;
  for (const char* c = path; *c != '\0'; ++c) {
    if (*c == '/') name = c + 1;
  }
  return name;
}

bool IsLibcOrLoaderPath(const char* path) {
  constexpr const char* kNames[] = {"libc.so.6", "libpthread.so.0",
                                    "ld-linux-x86-64.so.2"};
  const char* name = FileNameOf(path);
  for (const char* known : kNames) {
    if (IsSame(name, known)) return true;
  }
  return false;
}

}  // namespace unspool::unwind
