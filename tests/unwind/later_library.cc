// A shared library to be loaded and unloaded; several are built from this file,
// all of one size.

extern "C" {

// The number that this one was built with.
__attribute__((visibility("default"))) int later_number() {
  return LATER_NUMBER;
}

// Calls back with a frame of this library on the stack.
__attribute__((visibility("default"), noinline)) int later_call(
    int (*callback)(void*), void* argument) {
  return callback(argument) + LATER_NUMBER;
}
}
