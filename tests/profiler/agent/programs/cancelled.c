// 500 threads that may be cancelled at any instruction, and are while they
// spin. Prints "cancelled N".

#include <pthread.h>
#include <stdio.h>

static void spin(long rounds) {
  for (volatile long i = 0; i < rounds; ++i) {
  }
}

static void* spin_for_ever(void* argument) {
  pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
  for (;;) spin(1000);
  return argument;
}

int main(void) {
  int cancelled = 0;
  for (int i = 0; i < 500; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, spin_for_ever, NULL) != 0) return 1;
    spin(100000);
    pthread_cancel(thread);
    void* result = NULL;
    pthread_join(thread, &result);
    cancelled += result == PTHREAD_CANCELED;
  }
  printf("cancelled %d\n", cancelled);
  return 7;
}
