// ST-01: callbacks that libc and libstdc++ call; neither library keeps frame
// pointers. Built with and without -fno-omit-frame-pointer.
//
// libc_callbacks [CPU seconds in all]

#include <pthread.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "burn.h"

namespace {

constexpr int kElements = 256;
constexpr uint64_t kIterations = 2000;

NOINLINE int QsortCallback(const void* left, const void* right) {
  burn(kIterations);
  const int a = *static_cast<const int*>(left);
  const int b = *static_cast<const int*>(right);
  return (a > b) - (a < b);
}

NOINLINE bool SortCallback(int a, int b) {
  burn(kIterations);
  return a < b;
}

NOINLINE void OnceCallback() { burn(kElements * 8 * kIterations); }

std::vector<int> Shuffled() {
  std::vector<int> values(kElements);
  for (int i = 0; i < kElements; ++i) values[i] = i * 7919 % kElements;
  return values;
}

NOINLINE int CallQsort() {
  std::vector<int> values = Shuffled();
  qsort(values.data(), values.size(), sizeof(int), QsortCallback);
  return values[0];
}

NOINLINE int CallSort() {
  std::vector<int> values = Shuffled();
  const std::function<bool(int, int)> less = SortCallback;
  std::sort(values.begin(), values.end(), less);
  return values[0];
}

NOINLINE int CallOnce() {
  pthread_once_t once = PTHREAD_ONCE_INIT;
  return pthread_once(&once, OnceCallback);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argument(argc, argv, 1, 4);
  int sum = 0;
  while (thread_cpu_seconds() < seconds) {
    sum += CallQsort();
    sum += CallSort();
    sum += CallOnce();
  }
  printf("sum %d\n", sum);
  report_rusage();
  return 0;
}
