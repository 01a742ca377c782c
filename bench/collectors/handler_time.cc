// Times our signal handler in a real program. Preloaded in front of
// libunspool.so, whose start comes before this one's:
//
//   HANDLER_TIME_REPORT=FILE    at exit: "calls total_ns late"
//
// total_ns leaves out `late` calls of over 64 µs, in which something else ran.
// A program that sets a handler of its own afterwards, or ends by _exit, is
// none for this.

#include <signal.h>
#include <x86intrin.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

// glibc's own name: libunspool.so stands in front of the other.
extern "C" int __sigaction(int signal, const struct sigaction* action,
                           struct sigaction* old_action) noexcept;

namespace unspool::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLateNs = 65536;

using Handler = void (*)(int signal, siginfo_t* info, void* context);
Handler engines_handler;
std::atomic<uint64_t> calls{0};
std::atomic<uint64_t> late{0};
std::atomic<uint64_t> total_ticks{0};
uint64_t late_ticks;  // of the processor's counter

double ticks_per_ns;

double MeasureRate() {
  const Clock::time_point begin = Clock::now();
  const uint64_t ticks = __rdtsc();
  while (Clock::now() - begin < std::chrono::milliseconds(5)) {
  }
  const std::chrono::duration<double, std::nano> passed = Clock::now() - begin;
  return static_cast<double>(__rdtsc() - ticks) / passed.count();
}

void OnSignal(int signal, siginfo_t* info, void* context) {
  const uint64_t begin = __rdtsc();
  engines_handler(signal, info, context);
  const uint64_t ticks = __rdtsc() - begin;
  calls.fetch_add(1, std::memory_order_relaxed);
  if (ticks < late_ticks) {
    total_ticks.fetch_add(ticks, std::memory_order_relaxed);
  } else {
    late.fetch_add(1, std::memory_order_relaxed);
  }
}

[[gnu::constructor]] void AtLoad() {
  if (getenv("HANDLER_TIME_REPORT") == nullptr) return;
  ticks_per_ns = MeasureRate();
  late_ticks = static_cast<uint64_t>(kLateNs * ticks_per_ns);
  for (const int signal : {SIGPROF, SIGTRAP}) {
    struct sigaction action;
    if (__sigaction(signal, nullptr, &action) != 0 ||
        (action.sa_flags & SA_SIGINFO) == 0) {
      continue;
    }
    engines_handler = action.sa_sigaction;
    action.sa_sigaction = &OnSignal;
    __sigaction(signal, &action, nullptr);
  }
}

[[gnu::destructor]] void AtExit() {
  const char* path = getenv("HANDLER_TIME_REPORT");
  FILE* file = path == nullptr ? nullptr : fopen(path, "w");
  if (file == nullptr) return;
  fprintf(file, "%llu %.0f %llu\n",
          static_cast<unsigned long long>(calls.load()),
          static_cast<double>(total_ticks.load()) / ticks_per_ns,
          static_cast<unsigned long long>(late.load()));
  fclose(file);
}

}  // namespace
}  // namespace unspool::bench
