// SI-02: errno, MXCSR, the x87 control word, the direction flag and the red
// zone of an interrupted thread are what they were.
//
// machine_state [CPU seconds]
// Prints how often each was found changed; exit status 1 if any was.

#include <errno.h>
#include <immintrin.h>

#include "burn.h"

enum { kErrno = 1234 };
// Neither is the default (0x1f80, 0x037f): flush to zero, round down; round up.
static const unsigned int kMxcsr = 0xbf80;
static const unsigned short kControlWord = 0x0b7f;

static unsigned short x87_control_word(void) {
  unsigned short word;
  __asm__ volatile("fnstcw %0" : "=m"(word));
  return word;
}

static void set_x87_control_word(unsigned short word) {
  __asm__ volatile("fldcw %0" : : "m"(word));
}

// Spins with the direction flag set and a value in the red zone; true if both
// are still there.
static NOINLINE int spin_backwards(uint64_t iterations) {
  uint64_t flags, red_zone;
  __asm__ volatile(
      "std\n\t"
      "movq $0x5eed, -64(%%rsp)\n"
      "1: decq %2\n\t"
      "jnz 1b\n\t"
      "movq -64(%%rsp), %1\n\t"
      "leaq -128(%%rsp), %%rsp\n\t"  // keeps what pushfq writes off the zone
      "pushfq\n\t"
      "popq %0\n\t"
      "leaq 128(%%rsp), %%rsp\n\t"
      "cld"
      : "=&r"(flags), "=&r"(red_zone), "+r"(iterations)
      :
      : "cc", "memory");
  return ((flags >> 10) & 1) == 1 && red_zone == 0x5eed;
}

int main(int argc, char** argv) {
  const double seconds = argument(argc, argv, 1, 3);
  long errno_changed = 0, mxcsr_changed = 0, x87_changed = 0;
  long flag_changed = 0, rounds = 0;
  while (thread_cpu_seconds() < seconds) {
    _mm_setcsr(kMxcsr);
    set_x87_control_word(kControlWord);
    errno = kErrno;
    burn(50000);
    errno_changed += errno != kErrno;
    mxcsr_changed += _mm_getcsr() != kMxcsr;
    x87_changed += x87_control_word() != kControlWord;
    flag_changed += !spin_backwards(50000);
    ++rounds;
  }
  printf("errno %ld mxcsr %ld x87 %ld direction %ld\n", errno_changed,
         mxcsr_changed, x87_changed, flag_changed);
  report_rusage();
  return rounds == 0 ||
         errno_changed + mxcsr_changed + x87_changed + flag_changed != 0;
}
