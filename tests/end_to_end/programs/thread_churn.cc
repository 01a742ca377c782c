// thread_churn [CPU seconds of the process [AGENT]]: three threads that do
// nothing but start and join threads of about 0.2 ms, whose stack depths
// differ, and one in calls that a signal would interrupt. With AGENT, that
// library is loaded and told to start first: its thread-local storage, if it
// had any, would be dynamic. Prints "started N interrupted N".

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

#include "blocking_calls.h"
#include "burn.h"

namespace {

double cpu_seconds;
std::atomic<int> starting{0};
std::atomic<long> started{0};

double ProcessCpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9;
}

NOINLINE uint64_t Descend(long depth) {
  volatile char local[32] = {};
  if (depth == 0) return burn(200000);
  return Descend(depth - 1) + static_cast<uint64_t>(local[0]);
}

void* Brief(void* depth) {
  // Touched for the first time in each thread: allocated by its destructor's
  // registration.
  struct Local {
    long value = 1;
    ~Local() { burn(1000); }
  };
  thread_local Local local;
  Descend(reinterpret_cast<long>(depth) + local.value);
  return nullptr;
}

void* StartLoop(void*) {
  for (long i = 0; ProcessCpuSeconds() < cpu_seconds; ++i) {
    pthread_t thread;
    void* depth = reinterpret_cast<void*>(i % 40);
    if (pthread_create(&thread, nullptr, Brief, depth) != 0) exit(3);
    pthread_join(thread, nullptr);
    started.fetch_add(1);
  }
  starting.fetch_sub(1);
  return nullptr;
}

// Calls unspool_start(nullptr) or unspool_stop() of the agent, if there is one.
void Tell(void* agent, const char* name) {
  if (agent == nullptr) return;
  void* function = dlsym(agent, name);
  if (function == nullptr) exit(4);
  const int status = reinterpret_cast<int (*)(void*)>(function)(nullptr);
  if (status != 0) exit(5);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr int kStarters = 3;
  cpu_seconds = argument(argc, argv, 1, 2);
  void* agent = argc > 2 ? dlopen(argv[2], RTLD_NOW) : nullptr;
  if (argc > 2 && agent == nullptr) exit(3);
  starting = kStarters;
  pthread_t threads[kStarters];
  for (pthread_t& thread : threads) {
    pthread_create(&thread, nullptr, StartLoop, nullptr);
  }
  Tell(agent, "unspool_start");
  blocking_objects objects;
  open_blocking(&objects);
  long interrupted = 0;
  while (starting.load() > 0) interrupted += block_once(&objects);
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  Tell(agent, "unspool_stop");
  printf("started %ld interrupted %ld\n", started.load(), interrupted);
  report_rusage();
  return 0;
}
