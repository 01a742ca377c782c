// Moves the program's code into anonymous memory at the same addresses, before
// main(): what programs do that want it in huge pages.

#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

extern char __executable_start;
extern char etext;

__attribute__((constructor)) static void move_text(void) {
  const uintptr_t page = 4096;
  // The segment begins with _init, on a page of its own.
  const uintptr_t low = ((uintptr_t)&__executable_start + page) & ~(page - 1);
  const uintptr_t high = ((uintptr_t)&etext + page - 1) & ~(page - 1);
  const size_t size = high - low;
  void* copy = mmap(NULL, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) abort();
  memcpy(copy, (const void*)low, size);
  madvise(copy, size, MADV_HUGEPAGE);
  if (mprotect(copy, size, PROT_READ | PROT_EXEC) != 0 ||
      mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void*)low) ==
          MAP_FAILED) {
    abort();
  }
}
