// C++ exceptions in flight: over frames with and without clean-up, rethrown,
// out of callbacks that C code calls, from a recursion into itself.

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int cleanups = 0;

struct Guard {
  ~Guard() { ++cleanups; }
};

[[gnu::noinline]] void Throw(int depth) {
  if (depth == 0) throw std::runtime_error("a message that is not short");
  const Guard guard;
  Throw(depth - 1);
  ++cleanups;  // no tail call
}

// A frame with a size that is known at run time only.
[[gnu::noinline]] void ThrowThroughAlloca(size_t size) {
  auto* bytes = static_cast<volatile char*>(__builtin_alloca(size));
  bytes[0] = 1;
  Throw(2);
  bytes[1] = 2;
}

[[gnu::noinline]] int Rethrow(int depth) {
  try {
    Throw(depth);
  } catch (const std::exception& error) {
    if (depth > 1) throw;
    return static_cast<int>(std::string(error.what()).size());
  }
  return 0;
}

// Caught in the frame that another one of the same function called.
[[gnu::noinline]] int CatchEverySecond(int depth) {
  if (depth == 0) throw 1;
  if (depth % 2 == 0) {
    const int result = CatchEverySecond(depth - 1);
    ++cleanups;
    return result;
  }
  try {
    return CatchEverySecond(depth - 1) + 1;
  } catch (int value) {
    throw value + 1;
  }
}

int CompareOrThrow(const void* a, const void* b) {
  const int left = *static_cast<const int*>(a);
  if (left == 7) throw left;
  return left - *static_cast<const int*>(b);
}

}  // namespace

int main() {
  for (int depth = 0; depth < 4; ++depth) {
    try {
      Rethrow(depth);
    } catch (const std::runtime_error&) {
    }
  }
  try {
    ThrowThroughAlloca(static_cast<size_t>(100 + cleanups));
  } catch (...) {
  }
  try {
    CatchEverySecond(5);
  } catch (int) {
  }
  std::vector<int> numbers = {5, 3, 7, 1, 9};
  try {
    std::qsort(numbers.data(), numbers.size(), sizeof(int), CompareOrThrow);
  } catch (int) {
  }
  try {
    numbers.at(99);
  } catch (const std::out_of_range&) {
  }
  return cleanups == 0;
}
