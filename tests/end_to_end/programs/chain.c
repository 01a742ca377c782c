// EC-03, EC-04: main -> top -> qsort() -> middle -> leaf, for builds without
// .eh_frame, and with none that can be searched.
//
// chain [CPU seconds]

#include "chain.h"

#include <stdlib.h>
#include <string.h>

#include "burn.h"

// Its registers are saved in several steps, and its frame has no fixed size.
static NOINLINE int top(int size, double cpu_seconds) {
  int values[size];
  int rounds = 0;
  for (; thread_cpu_seconds() < cpu_seconds; ++rounds) {
    for (int i = 0; i < size; ++i) values[i] = (i * 7 + rounds) % size;
    qsort(values, (size_t)size, sizeof(int), &middle);
    for (int i = 1; i < size; ++i) {
      if (values[i - 1] > values[i]) abort();
    }
  }
  return rounds;
}

int main(int argc, char** argv) {
  printf("done %d\n", top(5, argument(argc, argv, 1, 1)) > 0);
  report_rusage();
  return 0;
}
