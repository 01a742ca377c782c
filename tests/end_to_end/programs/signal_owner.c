// signal_owner before|sigwait|sigwaitinfo|sigtimedwait|signalfd [AGENT]: a
// program with a use of its own for SIGPROF. `before`: a handler that is there
// when the agent is loaded and started. The others: the signal is blocked
// everywhere, and one thread takes those that the program sends to itself, 20
// of them; it must get no other. Prints "got N strange N".

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "burn.h"

enum { kSent = 20 };

static volatile int got, strange;

static void count(int is_own) {
  if (is_own) {
    ++got;
  } else {
    ++strange;
  }
}

static void on_signal(int signal, siginfo_t* info, void* context) {
  (void)signal;
  (void)context;
  count(info->si_code == SI_USER || info->si_code == SI_TKILL);
}

static sigset_t only_it(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPROF);
  return set;
}

static const char* mode = "before";

// One signal's si_code; 0, which is SI_USER's, where it is not told.
static int wait_once(const sigset_t* set) {
  const struct timespec timeout = {20, 0};
  siginfo_t info = {0};
  int signal = 0;
  if (strcmp(mode, "sigwait") == 0) {
    if (sigwait(set, &signal) != 0) exit(6);
  } else if (strcmp(mode, "sigwaitinfo") == 0) {
    signal = sigwaitinfo(set, &info);
  } else {
    signal = sigtimedwait(set, &info, &timeout);
  }
  if (signal != SIGPROF) exit(7);
  return info.si_code;
}

static void* wait_for_signals(void* unused) {
  const sigset_t set = only_it();
  while (got < kSent) {
    count(wait_once(&set) == SI_USER);
    burn(3000000);  // this thread has CPU time too
  }
  return unused;
}

static void* read_signals(void* unused) {
  const sigset_t set = only_it();
  const int fd = signalfd(-1, &set, SFD_CLOEXEC);
  while (got < kSent) {
    struct signalfd_siginfo info;
    if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info)) exit(4);
    count(info.ssi_code == SI_USER);
    burn(3000000);
  }
  return unused;
}

NOINLINE static void work(void) { burn(300000000); }

static void send_and_await(int with_thread, pthread_t thread) {
  for (int i = 0; i < kSent; ++i) {
    const int before = got;
    kill(getpid(), SIGPROF);
    while (got == before) burn(1000);
  }
  if (with_thread) pthread_join(thread, NULL);
}

static void start(const char* agent) {
  void* library = dlopen(agent, RTLD_NOW);
  if (library == NULL) exit(3);
  int (*function)(void*) = (int (*)(void*))dlsym(library, "unspool_start");
  if (function == NULL || function(NULL) != 0) exit(5);
}

int main(int argc, char** argv) {
  pthread_t thread = 0;
  if (argc > 1) mode = argv[1];
  const int is_handler = strcmp(mode, "before") == 0;
  if (is_handler) {
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_RESTART};
    action.sa_sigaction = on_signal;
    sigaction(SIGPROF, &action, NULL);
    if (argc > 2) start(argv[2]);
  } else {
    const sigset_t set = only_it();
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(
        &thread, NULL,
        strcmp(mode, "signalfd") == 0 ? read_signals : wait_for_signals, NULL);
  }
  work();
  send_and_await(!is_handler, thread);
  printf("got %d strange %d\n", got, strange);
  report_rusage();
  return 0;
}
