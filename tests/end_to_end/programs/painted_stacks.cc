// painted_stacks BYTES [CPU seconds per thread]: every tick comes on a painted
// alternate stack with room for the kernel's own frame and that many bytes.
// What is no longer painted at the end was used; below the stack that must be
// nothing.
//
// One thread for each kind of stack that a walk may find hard: deep; exceptions
// through library callbacks; in a signal handler; libraries that came later;
// threads that nobody tells of.
// Prints one line a thread: "NAME used N", bytes below the kernel's frame.

#include <iconv.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <threads.h>

#include <iterator>

#include "burn.h"

namespace {

constexpr size_t kRegion = 1 << 18;
constexpr unsigned char kPaint = 0xa5;
constexpr int kDepth = 2000;
double cpu_seconds;
size_t room_bytes;

struct Activity {
  const char* name;
  void (*round)();  // a few milliseconds at most
  size_t used = 0;
};

NOINLINE int Recurse(int depth) {
  volatile char local[64] = {};
  if (depth == 0) {
    burn(1000000);
    return local[0];
  }
  return Recurse(depth - 1) + local[depth % 64];
}
void Deep() { Recurse(kDepth); }

int CompareOrThrow(const void* a, const void* b) {
  struct Cleanup {
    int spins;
    ~Cleanup() { burn(spins); }
  } cleanup{100};
  const int left = *static_cast<const int*>(a);
  if (left == 7) throw left;
  return left - *static_cast<const int*>(b);
}
void Throw() {
  for (int i = 0; i < 200; ++i) {
    int numbers[] = {3, 1, 2, 9, 7, 4, 8};
    try {
      qsort(numbers, 7, sizeof(int), CompareOrThrow);
    } catch (int) {
    }
  }
}

void OnUser(int) { burn(1000000); }
void InHandler() { raise(SIGUSR1); }

// glibc loads a library for this character set, and unloads it.
void LaterLibrary() {
  iconv_t converter = iconv_open("ISO8859-2", "UTF-8");
  if (converter == iconv_t(-1)) exit(2);
  char text[4096];
  memset(text, 'a', sizeof(text));
  for (int i = 0; i < 20; ++i) {
    char out[4096];
    char *from = text, *to = out;
    size_t from_size = sizeof(text), to_size = sizeof(out);
    iconv(converter, &from, &from_size, &to, &to_size);
  }
  iconv_close(converter);
}

int Brief(void*) { return static_cast<int>(burn(100000)); }
void UntoldThreads() {
  thrd_t thread;
  if (thrd_create(&thread, Brief, nullptr) != thrd_success) exit(3);
  burn(200000);
  thrd_join(thread, nullptr);
}

// Where the kernel's frame ends on the alternate stack: at the handler's entry.
thread_local uintptr_t entry_sp;
void OnAlternate(int) {
  entry_sp = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) + 8;
}

void UseAlternate(unsigned char* low, unsigned char* high) {
  stack_t stack = {};
  stack.ss_sp = low;
  stack.ss_size = static_cast<size_t>(high - low);
  if (sigaltstack(&stack, nullptr) != 0) exit(4);
}

void* Run(void* argument) {
  auto* activity = static_cast<Activity*>(argument);
  void* memory = mmap(nullptr, kRegion, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) exit(5);
  auto* const low = static_cast<unsigned char*>(memory);
  UseAlternate(low, low + kRegion);
  raise(SIGUSR2);
  const size_t below_frame = entry_sp - reinterpret_cast<uintptr_t>(low);
  if (below_frame < room_bytes) exit(6);
  UseAlternate(low + below_frame - room_bytes, low + kRegion);
  memset(low, kPaint, below_frame);
  while (thread_cpu_seconds() < cpu_seconds) activity->round();
  size_t untouched = 0;
  while (low[untouched] == kPaint) ++untouched;
  activity->used = below_frame - untouched;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  room_bytes = static_cast<size_t>(argument(argc, argv, 1, 65536));
  cpu_seconds = argument(argc, argv, 2, 1);
  // On a stack where every tick has room.
  while (thread_cpu_seconds() < cpu_seconds / 2) burn(kBurnChunk);
  struct sigaction action {};
  action.sa_handler = OnUser;
  sigaction(SIGUSR1, &action, nullptr);
  action.sa_handler = OnAlternate;
  action.sa_flags = SA_ONSTACK;
  sigaction(SIGUSR2, &action, nullptr);
  Activity activities[] = {{"deep", Deep},
                           {"throw", Throw},
                           {"handler", InHandler},
                           {"later", LaterLibrary},
                           {"untold", UntoldThreads}};
  pthread_t threads[std::size(activities)];
  for (size_t i = 0; i < std::size(activities); ++i) {
    pthread_create(&threads[i], nullptr, Run, &activities[i]);
  }
  for (pthread_t thread : threads) pthread_join(thread, nullptr);
  for (const Activity& activity : activities) {
    printf("%s used %zu\n", activity.name, activity.used);
  }
  report_rusage();
  return 0;
}
