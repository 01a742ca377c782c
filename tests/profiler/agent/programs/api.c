// api MODE OUTPUT: the C API, as a program that links the agent uses it.
//   region   two regions of 200 ms, each into OUTPUT, 200 ms outside
//   loop     10,000 starts and stops; nothing may pile up
//   busy     starts and stops while other threads are in the handler
//   errors   every documented refusal
//   sampled  a program that is sampled from its start on: the calls change
//            nothing
//   flush    a profile in the middle of a run
//   fork     starts in the child of a running parent
//   threads  threads that were there before the start
//   late     a thread that begins while main waits for it
//   late-wall     the same, by the wall clock
//   late-left     the same, but main ends by pthread_exit() at once
//   waits    300 ms asleep, by the wall clock
//   last     as threads, by the wall clock; main ends first, nobody stops, and
//            what the thread printed last is in a buffer
//   last-cpu the same, by CPU time

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unspool/unspool.h>

#include "spin.h"

#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) {                                       \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      exit(1);                                                \
    }                                                         \
  } while (0)

static unspool_options options_for(const char* output) {
  const unspool_options options = {.size = sizeof(options), .output = output};
  return options;
}

static unspool_state state(void) {
  unspool_state now = {.size = sizeof(now)};
  CHECK(unspool_get_state(&now) == 0);
  return now;
}

static int count_entries(const char* path) {
  DIR* directory = opendir(path);
  int count = 0;
  while (readdir(directory) != NULL) ++count;
  closedir(directory);
  return count;
}

static long count_lines(const char* path) {
  FILE* file = fopen(path, "r");
  long lines = 0;
  for (int c; (c = getc(file)) != EOF;) lines += c == '\n';
  fclose(file);
  return lines;
}

static void region(const char* output) {
  const unspool_options options = options_for(output);
  for (int i = 0; i < 2; ++i) {
    spin_ms(200);
    CHECK(unspool_start(&options) == 0);
    CHECK(state().running == 1);
    spin_ms(200);
    CHECK(state().samples > 0);
    CHECK(unspool_stop() == 0);
    CHECK(state().running == 0);
  }
}

static void loop(const char* output) {
  const unspool_options options = options_for(output);
  CHECK(unspool_start(&options) == 0 && unspool_stop() == 0);
  const int descriptors = count_entries("/proc/self/fd");
  const long mappings = count_lines("/proc/self/maps");
  for (int i = 0; i < 10000; ++i) {
    CHECK(unspool_start(&options) == 0);
    CHECK(unspool_stop() == 0);
  }
  CHECK(count_entries("/proc/self/fd") == descriptors);
  CHECK(count_lines("/proc/self/maps") <= mappings + 2);
  CHECK(count_lines("/proc/self/timers") == 0);
}

static volatile int is_over;
static void* spin_on(void* unused) {
  while (!is_over) spin_ms(1);
  return unused;
}

static void busy(const char* output) {
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) {
    CHECK(pthread_create(&threads[i], NULL, spin_on, NULL) == 0);
  }
  unspool_options options = options_for(output);
  options.frequency = 10000;
  for (int i = 0; i < 100; ++i) {
    CHECK(unspool_start(&options) == 0);
    spin_ms(1);
    CHECK(unspool_stop() == 0);
  }
  is_over = 1;
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
}

static char* unreadable_page(void) {
  return mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void errors(const char* output) {
  unspool_options options = options_for(output);
  CHECK(unspool_stop() == -ESRCH);
  CHECK(unspool_flush() == -ESRCH);
  options.frequency = 10001;
  CHECK(unspool_start(&options) == -EINVAL);
  options = options_for(output);
  options.size = sizeof(options) + 8;
  CHECK(unspool_start(&options) == -EINVAL);
  options = options_for("/nowhere/at/all.pb.gz");
  CHECK(unspool_start(&options) == -ENOENT);
  options = options_for("/");
  CHECK(unspool_start(&options) == -EISDIR);
  CHECK(unspool_get_state(NULL) == -EINVAL);
  char* const wild[] = {(char*)8, (char*)-4096L, unreadable_page()};
  for (int i = 0; i < 3; ++i) {
    CHECK(unspool_register_frames(wild[i], 4095, UNSPOOL_FRAMES_EH_FRAME) ==
          -EFAULT);
  }
  CHECK(unspool_register_frames(wild[0], SIZE_MAX, UNSPOOL_FRAMES_EH_FRAME) ==
        -EINVAL);
  unspool_state bad = {.size = 4};
  CHECK(unspool_get_state(&bad) == -EINVAL);
  options = options_for(output);
  CHECK(unspool_start(&options) == 0);
  CHECK(unspool_start(&options) == -EALREADY);
  CHECK(unspool_stop() == 0);
  CHECK(unspool_stop() == -ESRCH);
}

static void sampled(const char* output) {
  const unspool_options options = options_for(output);
  spin_ms(100);
  CHECK(unspool_start(&options) == -EALREADY);
  spin_ms(100);
  CHECK(unspool_stop() == -ESRCH);
  spin_ms(200);
}

static void flush(const char* output) {
  const unspool_options options = options_for(output);
  CHECK(unspool_start(&options) == 0);
  spin_ms(200);
  CHECK(unspool_flush() == 0);
  struct stat first, last;
  CHECK(stat(output, &first) == 0);
  CHECK(state().running == 1);
  spin_ms(200);
  CHECK(unspool_stop() == 0);
  CHECK(stat(output, &last) == 0 && last.st_ino != first.st_ino);
}

static void fork_and_start(const char* output) {
  char child_output[512];
  snprintf(child_output, sizeof(child_output), "%s.child", output);
  const unspool_options options = options_for(output);
  const unspool_options child_options = options_for(child_output);
  CHECK(unspool_start(&options) == 0);
  spin_ms(200);
  const pid_t child = fork();
  if (child == 0) {
    CHECK(unspool_stop() == -ESRCH);
    CHECK(state().running == 0);
    CHECK(unspool_start(&child_options) == 0);
    spin_ms(300);
    CHECK(unspool_stop() == 0);
    exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  CHECK(unspool_stop() == 0);
}

static void* early(void* ready) {
  pthread_setname_np(pthread_self(), "early");
  pthread_barrier_wait(ready);
  spin_ms(300);
  pthread_barrier_wait(ready);
  return NULL;
}

static void threads(const char* output) {
  const unspool_options options = options_for(output);
  pthread_barrier_t ready;
  pthread_barrier_init(&ready, NULL, 2);
  pthread_t thread;
  pthread_create(&thread, NULL, early, &ready);
  CHECK(unspool_start(&options) == 0);
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&ready);
  CHECK(unspool_stop() == 0);
  pthread_join(thread, NULL);
}

static void* late_thread(void* unused) {
  pthread_setname_np(pthread_self(), "late");
  spin_ms(300);
  return unused;
}

static void sample_late_thread(const char* output, int clock) {
  unspool_options options = options_for(output);
  options.clock = clock;
  CHECK(unspool_start(&options) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, late_thread, NULL) == 0);
  pthread_join(thread, NULL);
  CHECK(unspool_stop() == 0);
}

static void late(const char* output) { sample_late_thread(output, 0); }

static void late_by_wall(const char* output) {
  sample_late_thread(output, UNSPOOL_CLOCK_WALL);
}

static void* late_thread_that_stops(void* unused) {
  late_thread(unused);
  CHECK(unspool_stop() == 0);
  return NULL;
}

static void leave_to_late(const char* output) {
  const unspool_options options = options_for(output);
  CHECK(unspool_start(&options) == 0);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, late_thread_that_stops, NULL) == 0);
  pthread_exit(NULL);
}

static void waits(const char* output) {
  unspool_options options = options_for(output);
  options.clock = UNSPOOL_CLOCK_WALL;
  CHECK(unspool_start(&options) == 0);
  usleep(300000);
  CHECK(state().samples > 0);
  CHECK(unspool_stop() == 0);
}

static void* last_word(void* ready) {
  pthread_barrier_wait(ready);
  usleep(100000);
  printf("the last word");
  return NULL;
}

static void end_before_thread(const char* output, int clock) {
  unspool_options options = options_for(output);
  options.clock = clock;
  static pthread_barrier_t ready;
  pthread_barrier_init(&ready, NULL, 2);
  pthread_t thread;
  pthread_create(&thread, NULL, last_word, &ready);
  CHECK(unspool_start(&options) == 0);
  pthread_barrier_wait(&ready);
  pthread_exit(NULL);
}

static void last(const char* output) {
  end_before_thread(output, UNSPOOL_CLOCK_WALL);
}

static void last_by_cpu(const char* output) { end_before_thread(output, 0); }

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(const char*);
  } kModes[] = {{"region", region},
                {"loop", loop},
                {"busy", busy},
                {"errors", errors},
                {"flush", flush},
                {"fork", fork_and_start},
                {"threads", threads},
                {"waits", waits},
                {"last", last},
                {"last-cpu", last_by_cpu},
                {"late", late},
                {"sampled", sampled},
                {"late-wall", late_by_wall},
                {"late-left", leave_to_late}};
  for (size_t i = 0; argc == 3 && i < sizeof(kModes) / sizeof(*kModes); ++i) {
    if (strcmp(kModes[i].name, argv[1]) != 0) continue;
    kModes[i].run(argv[2]);
    return 0;
  }
  return 2;
}
