// _exit, _Exit and daemon, in front of libc's: the first two run no
// destructors, and programs end by them, forked children above all; daemon()
// ends the parent by libc's own, which nobody can stand in front of.
//
// Not part of libunspool.a, as interpose.cc.

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "profiler/agent/ending.h"
#include "profiler/agent/export.h"
#include "profiler/agent/next_function.h"

namespace unspool::profiler {
namespace {

constinit NextFunction<void (*)(int)> next_exit("_exit");

[[gnu::constructor]] void FindNextFunction() { next_exit.get(); }

[[noreturn]] void Exit(int status) {
  EndRecording();
  next_exit.get()(status);
  __builtin_unreachable();
}

// Standard input, output and error from and to nowhere.
bool SilenceStandardStreams() {
  const int fd = open("/dev/null", O_RDWR);
  if (fd < 0) return false;
  for (int i = 0; i <= STDERR_FILENO; ++i) dup2(fd, i);
  if (fd > STDERR_FILENO) close(fd);
  return true;
}

}  // namespace
}  // namespace unspool::profiler

UNSPOOL_EXPORT void _exit(int status) { unspool::profiler::Exit(status); }

UNSPOOL_EXPORT void _Exit(int status) noexcept {
  unspool::profiler::Exit(status);
}

// As daemon(3) says, and glibc does (misc/daemon.c).
UNSPOOL_EXPORT int daemon(int keeps_directory, int keeps_streams) noexcept {
  const pid_t child = fork();
  if (child < 0) return -1;
  if (child > 0) unspool::profiler::Exit(0);
  if (setsid() < 0) return -1;
  if (keeps_directory == 0 && chdir("/") != 0) return -1;
  if (keeps_streams != 0) return 0;
  return unspool::profiler::SilenceStandardStreams() ? 0 : -1;
}
