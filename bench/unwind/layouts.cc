// Each function is there in 64 sizes, so that a chain has many PCs.

#include "bench/unwind/layouts.h"

#include <alloca.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace unspool::bench {
namespace {

constexpr size_t kSizes = 64;
using Functions = std::array<ChainFunction, kSizes>;

// Has `memory` exist; after a call, keeps that from being a jump.
void Keep(void* memory) { asm volatile("" ::"r"(memory) : "memory"); }

template <size_t kSize>
[[gnu::noinline]] void CallFromAlloca(const void* const* list) {
  const size_t varying = reinterpret_cast<uintptr_t>(list) & 0xf0;
  void* const room = alloca(16 + 16 * kSize + varying);
  Keep(room);
  CallNext(list);
  Keep(room);
}

// With both alignment and alloca(), GCC keeps the caller's SP in a register of
// its choice (DRAP) and in memory, from where the CFA is read.
template <size_t kSize>
[[gnu::noinline]] void CallFromRealigned(const void* const* list) {
  alignas(64) char block[64 + 16 * kSize];
  void* const room = alloca(16 + (reinterpret_cast<uintptr_t>(list) & 0x30));
  Keep(room);
  Keep(block);
  CallNext(list);
  Keep(block);
}

struct Cleanup {
  volatile size_t& value;
  ~Cleanup() { value = value + 1; }
};

template <size_t kSize>
[[gnu::noinline]] void CallFromCxx(const void* const* list) {
  volatile size_t values[kSize + 1];
  values[0] = 0;
  try {
    const Cleanup cleanup{values[0]};
    CallNext(list);
  } catch (int thrown) {
    values[0] = static_cast<size_t>(thrown);
  }
}

template <size_t... kIndex>
Functions AllocaOfSizes(std::index_sequence<kIndex...>) {
  return {&CallFromAlloca<kIndex>...};
}

template <size_t... kIndex>
Functions RealignedOfSizes(std::index_sequence<kIndex...>) {
  return {&CallFromRealigned<kIndex>...};
}

template <size_t... kIndex>
Functions CxxOfSizes(std::index_sequence<kIndex...>) {
  return {&CallFromCxx<kIndex>...};
}

thread_local const void* const* list_of_signal;

void OnSignal(int) {
  CallNext(list_of_signal);
  asm volatile("");  // not a tail call
}

}  // namespace

std::span<const ChainFunction> AllocaFunctions() {
  static const Functions functions =
      AllocaOfSizes(std::make_index_sequence<kSizes>());
  return functions;
}

std::span<const ChainFunction> RealignedFunctions() {
  static const Functions functions =
      RealignedOfSizes(std::make_index_sequence<kSizes>());
  return functions;
}

std::span<const ChainFunction> CxxFunctions() {
  static const Functions functions =
      CxxOfSizes(std::make_index_sequence<kSizes>());
  return functions;
}

// The system call stands here, not in libc, whose functions use rbp for data.
[[gnu::noinline]] void CallFromSignal(const void* const* list) {
  list_of_signal = list;
  long result = SYS_tgkill;
  asm volatile("syscall"
               : "+a"(result)
               : "D"(static_cast<long>(getpid())),
                 "S"(static_cast<long>(gettid())),
                 "d"(static_cast<long>(SIGUSR1))
               : "rcx", "r11", "memory");
}

void InitSignal() {
  struct sigaction action {};
  action.sa_handler = &OnSignal;
  sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace unspool::bench
