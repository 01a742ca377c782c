// Functions that realign their stack through a DRAP (GCC's -mforce-drap),
// called by one that needs its frame pointer: its size is known at run time
// only.

#include <stdlib.h>

static volatile int sum;

__attribute__((noinline)) static int with_few_registers(int number) {
  volatile char local[64] __attribute__((aligned(64)));
  local[number % 64] = 1;
  return abs(-number) + local[0];
}

// All of them are alive across the call.
__attribute__((noinline)) static int with_all_registers(
    const volatile int* in) {
  volatile char local[64] __attribute__((aligned(64)));
  const int a = in[0], b = in[1], c = in[2], d = in[3], e = in[4];
  local[a % 64] = 1;
  return a + b * with_few_registers(c) - d * local[0] + e;
}

__attribute__((noinline)) static void call_both(size_t size) {
  volatile int* numbers = __builtin_alloca(size * sizeof(int));
  for (size_t i = 0; i < size; ++i) numbers[i] = (int)i;
  sum += with_few_registers(numbers[1]) + with_all_registers(numbers);
}

int main(void) {
  for (size_t size = 5; size < 9; ++size) call_both(size);
  return 0;
}
