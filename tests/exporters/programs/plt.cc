// Calls into other modules, by every kind of stub that its linker makes.

#include <cstdio>
#include <cstdlib>
#include <cstring>

int main(int argc, char**) {
  // An address that is taken and a function that is called share a GOT slot.
  void* (*volatile allocate)(std::size_t) = std::malloc;
  void* const memory = argc > 1 ? allocate(16) : std::malloc(16);
  std::memset(memory, argc, 16);
  int* volatile number = new int(argc);
  std::printf("%zu %p\n", std::strlen(static_cast<char*>(memory)), memory);
  delete number;
  std::free(memory);
}
