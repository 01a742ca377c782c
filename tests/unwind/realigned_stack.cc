// Compiled with -O2 -mstackrealign -mforce-drap: the CFA is found through a
// pointer that the function saved, and registers by expressions on rbp.

extern "C" {

void (*realigned_callback)() = nullptr;

__attribute__((noinline)) void call_realigned() {
  alignas(64) volatile char local[64] = {};
  volatile int values[6] = {1, 2, 3, 4, 5, 6};
  // Alive across the call, so that every register is saved.
  const int a = values[0], b = values[1], c = values[2], d = values[3];
  local[0] = 1;
  realigned_callback();
  values[5] = a + b * c - d * local[0];
}
}
