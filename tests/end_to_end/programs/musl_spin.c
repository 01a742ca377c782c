// Built static with musl's libc: nothing can be preloaded into it.
#include <stdio.h>

int main(void) {
  puts("ran");
  return 0;
}
