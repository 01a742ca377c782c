// Threads: their start, their ends (return, pthread_exit, cancellation), their
// locks, and thread-local storage of a library that is loaded later.

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int turn;
static int (*next_number)(void);
static __thread int own;

static void forget(void* value) { own += value != NULL; }
static void create_key(void) { pthread_key_create(&key, forget); }
static void clean_up(void* argument) { own += argument != NULL; }

static void* take_turns(void* argument) {
  const int me = argument != NULL;
  pthread_once(&once, create_key);
  pthread_setspecific(key, &turn);
  for (int i = 0; i < 3; ++i) {
    pthread_mutex_lock(&lock);
    while (turn != me) pthread_cond_wait(&changed, &lock);
    turn = !me;
    own += next_number();
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
  }
  if (me) pthread_exit(NULL);
  return NULL;
}

static void* wait_for_ever(void* argument) {
  pthread_cleanup_push(clean_up, argument);
  for (;;) pthread_testcancel();
  pthread_cleanup_pop(0);
  return NULL;
}

int main(int argc, char** argv) {
  void* library = argc > 1 ? dlopen(argv[1], RTLD_LAZY) : NULL;
  if (library == NULL) abort();
  next_number = (int (*)(void))dlsym(library, "next_number");
  pthread_t threads[2];
  for (size_t i = 0; i < 2; ++i) {
    pthread_create(&threads[i], NULL, take_turns, i == 0 ? NULL : &turn);
  }
  for (size_t i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  pthread_create(&threads[0], NULL, wait_for_ever, &turn);
  pthread_cancel(threads[0]);
  pthread_join(threads[0], NULL);
  dlclose(library);
  return 0;
}
