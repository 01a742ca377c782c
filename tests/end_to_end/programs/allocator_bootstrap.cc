// A library to preload beside libunspool.so: an allocator whose first call
// looks libc's up, which allocates in turn, and throws while it is at it.
// Requests that come meanwhile are served from an arena, as such allocators do.

#include <dlfcn.h>

#include <cstddef>
#include <cstring>

namespace {

using Malloc = void*(size_t);
using Free = void(void*);

Malloc* real_malloc = nullptr;
Free* real_free = nullptr;
bool is_starting = false;
alignas(16) char arena[1 << 17];
size_t arena_used = 0;

bool IsOfArena(const void* memory) {
  return memory >= arena && memory < arena + sizeof(arena);
}

void* FromArena(size_t size) {
  void* memory = arena + arena_used;
  arena_used += (size + 15) / 16 * 16;
  return arena_used <= sizeof(arena) ? memory : nullptr;
}

void Start() {
  is_starting = true;
  real_free = reinterpret_cast<Free*>(dlsym(RTLD_NEXT, "free"));
  dlsym(RTLD_NEXT, "no such function");  // its error is allocated
  auto* found = reinterpret_cast<Malloc*>(dlsym(RTLD_NEXT, "malloc"));
  try {
    throw 1;
  } catch (int) {
  }
  real_malloc = found;
  is_starting = false;
}

}  // namespace

extern "C" {

[[gnu::visibility("default")]] void* malloc(size_t size) {
  if (is_starting) return FromArena(size);
  if (real_malloc == nullptr) Start();
  return real_malloc(size);
}

[[gnu::visibility("default")]] void free(void* memory) {
  if (memory == nullptr || IsOfArena(memory)) return;
  real_free(memory);
}

[[gnu::visibility("default")]] void* calloc(size_t count, size_t size) {
  void* memory = malloc(count * size);
  if (memory != nullptr) memset(memory, 0, count * size);
  return memory;
}

[[gnu::visibility("default")]] void* realloc(void* old, size_t size) {
  void* memory = malloc(size);
  // Reads beyond the old block's end, which nobody's guard page follows here.
  if (memory != nullptr && old != nullptr) memmove(memory, old, size);
  free(old);
  return memory;
}
}
