// How often a program does what profilers hinder, per second of its own CPU
// time: the target of harm.py.
//
//   rates throw|dlopen|thread SECONDS
//
// Spends that much CPU time and prints how often it did it, per second.

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Cleanup {
  volatile int* value;
  ~Cleanup() { *value = *value + 1; }
};

__attribute__((noipa)) int Descend(int depth) {
  volatile int value = depth;
  Cleanup cleanup{&value};
  if (depth == 0) throw depth;
  return Descend(depth - 1) + value;
}

void Throw() {
  try {
    Descend(8);
  } catch (int) {
  }
}

void Load() {
  void* handle = dlopen("libz.so.1", RTLD_NOW);
  if (handle == nullptr) exit(3);
  dlclose(handle);
}

void* Nothing(void* argument) { return argument; }

void StartThread() {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, Nothing, nullptr) != 0) exit(4);
  pthread_join(thread, nullptr);
}

struct Activity {
  const char* name;
  void (*once)();
};
constexpr Activity kActivities[] = {
    {"throw", Throw}, {"dlopen", Load}, {"thread", StartThread}};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  for (const Activity& activity : kActivities) {
    if (strcmp(activity.name, argv[1]) != 0) continue;
    const double start = CpuSeconds();
    const double end = start + atof(argv[2]);
    double now = start;
    long count = 0;
    for (; now < end; now = CpuSeconds()) {
      for (int i = 0; i < 20; ++i) activity.once();
      count += 20;
    }
    std::printf("%.1f\n", static_cast<double>(count) / (now - start));
    return 0;
  }
  return 2;
}
