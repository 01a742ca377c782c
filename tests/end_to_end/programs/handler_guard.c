// A library to preload in front of libunspool.so: ends the process with a line
// and SIGABRT as soon as our signal handler allocates, takes a lock or asks the
// loader, be it through libc. Writes "handler runs N" to the file that
// GUARD_REPORT names, so that a run without ticks is told from a good one.
//
// The handler is known by who installs it: libunspool.so calls libc's
// __sigaction, which stands here in front of libc's.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GUARD __attribute__((visibility("default")))

enum { kSignals = 32 };

typedef void (*Handler)(int, siginfo_t*, void*);

static _Atomic(Handler) handlers[kSignals];
static atomic_ulong runs;
// Never allocated late: the library is there when the program starts.
static __thread __attribute__((tls_model("initial-exec"))) int in_handler;

static void forbid(const char* name) {
  if (!in_handler) return;
  char line[128] = "handler_guard: called in our signal handler: ";
  strcat(line, name);
  strcat(line, "\n");
  if (write(STDERR_FILENO, line, strlen(line)) < 0) _exit(97);
  abort();
}

static void run_guarded(int signal, siginfo_t* info, void* context) {
  atomic_fetch_add(&runs, 1);
  ++in_handler;
  handlers[signal](signal, info, context);
  --in_handler;
}

static void* next(const char* name) {
  void* function = dlsym(RTLD_NEXT, name);
  if (function == NULL) _exit(96);
  return function;
}

// Whoever asks gets the handler that was set, not the one around it.
GUARD int __sigaction(int signal, const struct sigaction* action,
                      struct sigaction* old_action) {
  typedef int Function(int, const struct sigaction*, struct sigaction*);
  static Function* real;
  if (real == NULL) real = (Function*)next("__sigaction");
  const int in_table = signal > 0 && signal < kSignals;
  struct sigaction guarded;
  if (in_table && action != NULL && (action->sa_flags & SA_SIGINFO) != 0) {
    handlers[signal] = action->sa_sigaction;
    guarded = *action;
    guarded.sa_sigaction = run_guarded;
    action = &guarded;
  }
  const int result = real(signal, action, old_action);
  if (in_table && old_action != NULL &&
      old_action->sa_sigaction == run_guarded) {
    old_action->sa_sigaction = handlers[signal];
  }
  return result;
}

// libc's own names for the allocator: no look-up is needed to reach it.
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
extern void __libc_free(void*);

GUARD void* malloc(size_t size) {
  forbid("malloc");
  return __libc_malloc(size);
}
GUARD void* calloc(size_t count, size_t size) {
  forbid("calloc");
  return __libc_calloc(count, size);
}
GUARD void* realloc(void* memory, size_t size) {
  forbid("realloc");
  return __libc_realloc(memory, size);
}
GUARD void* memalign(size_t alignment, size_t size) {
  forbid("memalign");
  return __libc_memalign(alignment, size);
}
GUARD void free(void* memory) {
  forbid("free");
  __libc_free(memory);
}

// int NAME(OBJECT*), passed on to libc's.
#define GUARD_CALL(NAME, OBJECT)                     \
  GUARD int NAME(OBJECT* object) {                   \
    typedef int Function(OBJECT*);                   \
    static Function* real;                           \
    forbid(#NAME);                                   \
    if (real == NULL) real = (Function*)next(#NAME); \
    return real(object);                             \
  }
GUARD_CALL(pthread_mutex_lock, pthread_mutex_t)
GUARD_CALL(pthread_mutex_trylock, pthread_mutex_t)
GUARD_CALL(pthread_mutex_unlock, pthread_mutex_t)
GUARD_CALL(pthread_rwlock_rdlock, pthread_rwlock_t)
GUARD_CALL(pthread_rwlock_wrlock, pthread_rwlock_t)
GUARD_CALL(dlclose, void)

GUARD int dl_iterate_phdr(int (*callback)(struct dl_phdr_info*, size_t, void*),
                          void* data) {
  typedef int Function(int (*)(struct dl_phdr_info*, size_t, void*), void*);
  static Function* real;
  forbid("dl_iterate_phdr");
  if (real == NULL) real = (Function*)next("dl_iterate_phdr");
  return real(callback, data);
}

GUARD int dladdr(const void* address, Dl_info* info) {
  typedef int Function(const void*, Dl_info*);
  static Function* real;
  forbid("dladdr");
  if (real == NULL) real = (Function*)next("dladdr");
  return real(address, info);
}

__attribute__((destructor)) static void report(void) {
  const char* path = getenv("GUARD_REPORT");
  if (path == NULL) return;
  FILE* file = fopen(path, "w");
  if (file == NULL) _exit(95);
  fprintf(file, "handler runs %lu\n", atomic_load(&runs));
  fclose(file);
}
