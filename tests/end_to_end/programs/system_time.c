// system_time [calls]: time that is the kernel's, in two callers' names.

#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "burn.h"

NOINLINE static void write_loop(int fd, const char* bytes, size_t size,
                                long calls) {
  for (long i = 0; i < calls; ++i) {
    if (write(fd, bytes, size) < 0) exit(2);
    if (lseek(fd, 0, SEEK_SET) != 0) exit(3);
  }
}
NOINLINE static void getpid_loop(long calls) {
  for (long i = 0; i < calls; ++i) syscall(SYS_getpid);
}

int main(int argc, char** argv) {
  static char bytes[1 << 16];
  const long calls = (long)argument(argc, argv, 1, 40e3);
  const int fd = memfd_create("written", 0);
  write_loop(fd, bytes, sizeof(bytes), calls);
  getpid_loop(calls * 150);
  puts("done");
  report_rusage();
  return 0;
}
