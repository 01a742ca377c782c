/* Profiles a region of itself and says whether that worked. */
#include <stdio.h>
#include <time.h>
#include <unspool/unspool.h>

__attribute__((noinline)) static void Region(void) {
  const clock_t end = clock() + CLOCKS_PER_SEC / 2;
  while (clock() < end) {
  }
}

int main(int argc, char** argv) {
  unspool_options options = {.size = sizeof(options)};
  options.output = argc > 1 ? argv[1] : NULL;
  const int started = unspool_start(&options);
  Region();
  const int stopped = unspool_stop();
  printf("%d %d\n", started, stopped);
  return started == 0 && stopped == 0 ? 0 : 1;
}
