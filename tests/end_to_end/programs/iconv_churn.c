// DO-02: libraries that libc itself loads and unloads, without a call of
// dlclose(): iconv's. Those of ISO 8859 are of one size, so that each takes the
// place of the one before. Charset N is converted by convert_N and by no one
// else.
//
// iconv_churn [CPU seconds]

#include <iconv.h>
#include <string.h>

#include "burn.h"

enum { kInput = 8192, kConversions = 40 };

static char input[kInput], output[2 * kInput];

__attribute__((always_inline)) static inline void convert(const char* charset) {
  const iconv_t converter = iconv_open("UTF-16", charset);
  if (converter == (iconv_t)-1) exit(2);
  for (int i = 0; i < kConversions; ++i) {
    char *in = input, *out = output;
    size_t in_left = sizeof input, out_left = sizeof output;
    iconv(converter, &in, &in_left, &out, &out_left);
  }
  iconv_close(converter);
  __asm__ volatile("");  // not a tail call: convert_N stays in the stack
}

#define DEFINE_CONVERT(n) \
  static NOINLINE void convert_##n(void) { convert("ISO8859-" #n); }
DEFINE_CONVERT(2)
DEFINE_CONVERT(3)
DEFINE_CONVERT(4)
DEFINE_CONVERT(5)
DEFINE_CONVERT(7)
DEFINE_CONVERT(9)

int main(int argc, char** argv) {
  const double seconds = argument(argc, argv, 1, 3);
  // libc keeps three of them loaded; in this order 3 takes the place of 2, and
  // 7 that of 5, with all addresses equal.
  void (*const converts[])(void) = {convert_2, convert_5, convert_4,
                                    convert_3, convert_7, convert_9};
  memset(input, 'a', sizeof input);
  for (size_t i = 0; thread_cpu_seconds() < seconds; ++i) {
    converts[i % (sizeof converts / sizeof converts[0])]();
  }
  printf("done\n");
  report_rusage();
  return 0;
}
