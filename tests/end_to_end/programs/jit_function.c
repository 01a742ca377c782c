// What jit_objects.c puts into memory: main -> enter_jit() -> jit_outer_1 ->
// jit_inner_1 -> callback. Compiled to an object, never linked.

#include "burn.h"

// Frames of different kinds and sizes, without frame pointer.
static NOINLINE int jit_inner_1(void (*callback)(void), const char* text) {
  callback();
  return text[3];
}

int jit_outer_1(void (*callback)(void), int size) {
  char text[size];
  for (int i = 0; i < size; ++i) text[i] = (char)i;
  return jit_inner_1(callback, text) + text[size - 1];
}
