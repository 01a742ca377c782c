#include "collectors/pid_namespace.h"

#include <fcntl.h>
#include <sys/syscall.h>

#include <cstring>

#include "collectors/optional_calls.h"
#include "unwind/arch/arch.h"

namespace unspool::collectors {
namespace {

// "pid:[4026531836]"; its size, or a negative errno.
long ReadLink(const char* path, char (&text)[32]) {
  return unwind::RawSyscall(SYS_readlinkat, AT_FDCWD,
                            reinterpret_cast<long>(path),
                            reinterpret_cast<long>(text), sizeof(text));
}

}  // namespace

uint32_t OwnPidNamespace() {
  if (!IsAllowed(OptionalCall::kFiles)) return 0;
  char text[32];
  const long size = ReadLink("/proc/thread-self/ns/pid", text);
  uint32_t number = 0;
  for (long i = 0; i < size; ++i) {
    if (text[i] < '0' || text[i] > '9') continue;
    number = number * 10 + static_cast<uint32_t>(text[i] - '0');
  }
  return number;
}

bool StayChildrenInOurPidNamespace() {
  if (!IsAllowed(OptionalCall::kFiles)) return true;
  char own[32];
  char childrens[32];
  const long own_size = ReadLink("/proc/thread-self/ns/pid", own);
  const long size =
      ReadLink("/proc/thread-self/ns/pid_for_children", childrens);
  if (own_size <= 0) return true;
  // After unshare() alone it cannot even be read: there is no such namespace
  // before its first process.
  return size == own_size &&
         std::memcmp(own, childrens, static_cast<size_t>(size)) == 0;
}

}  // namespace unspool::collectors
