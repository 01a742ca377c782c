// DL-01: three threads throw through eight frames while a fourth loads and
// unloads libraries, so that ticks land while the loader's lock is held.
//
// exception_storm [CPU seconds per throwing thread]
// Prints the exceptions that were thrown and caught, and the library loads.

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

#include "burn.h"

namespace {

std::atomic<int> throwing{0};
double cpu_seconds;

struct Thrown {
  int depth;
};

template <int kDepth>
NOINLINE int Descend(int value) {
  // The destructor makes a landing pad in every frame.
  struct Cleanup {
    int* value;
    ~Cleanup() { ++*value; }
  };
  int local = value;
  Cleanup cleanup{&local};
  if constexpr (kDepth == 0) {
    throw Thrown{value};
  } else {
    return Descend<kDepth - 1>(local + 1) + local;
  }
}

struct Counts {
  long thrown = 0;
  long caught = 0;
};

void* ThrowLoop(void* argument_pointer) {
  Counts* counts = static_cast<Counts*>(argument_pointer);
  while (thread_cpu_seconds() < cpu_seconds) {
    for (int i = 0; i < 100; ++i) {
      ++counts->thrown;
      try {
        Descend<7>(i);
      } catch (const Thrown& thrown) {
        if (thrown.depth == i + 7) ++counts->caught;
      }
    }
  }
  throwing.fetch_sub(1);
  return nullptr;
}

void* LoadLoop(void* argument_pointer) {
  long* loads = static_cast<long*>(argument_pointer);
  while (throwing.load() > 0) {
    for (const char* name : {"libz.so.1", "libm.so.6"}) {
      void* handle = dlopen(name, RTLD_NOW);
      if (handle == nullptr) exit(2);
      dlclose(handle);
      ++*loads;
    }
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kThrowers = 3;
  cpu_seconds = argument(argc, argv, 1, 2);
  throwing = kThrowers;
  pthread_t threads[kThrowers + 1];
  Counts counts[kThrowers];
  long loads = 0;
  for (int i = 0; i < kThrowers; ++i) {
    pthread_create(&threads[i], nullptr, ThrowLoop, &counts[i]);
  }
  pthread_create(&threads[kThrowers], nullptr, LoadLoop, &loads);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  Counts sum;
  for (const Counts& one : counts) {
    sum.thrown += one.thrown;
    sum.caught += one.caught;
  }
  printf("thrown %ld caught %ld loads %ld\n", sum.thrown, sum.caught, loads);
  report_rusage();
  return sum.thrown == sum.caught ? 0 : 1;
}
