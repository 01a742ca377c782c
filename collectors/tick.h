// How a tick says which thread it is for.
//
// Every source of ticks carries the thread's index in the ThreadTable: the
// signal's si_value, si_perf_data or si_fd.

#ifndef UNSPOOL_COLLECTORS_TICK_H_
#define UNSPOOL_COLLECTORS_TICK_H_

#include <signal.h>

#include <cstdint>
#include <optional>

namespace unspool::collectors {

// The value that our timers and traps send: a tag that tells them from those of
// the program, and the index. Not a pointer: a stranger's value must never be
// followed.
inline constexpr uint64_t kCookieTag = 0x756e7370;  // "unsp"

constexpr uint64_t TickCookie(uint32_t index) {
  return kCookieTag << 32 | index;
}

// The index; nothing if the value is not one of ours. Async-signal-safe.
constexpr std::optional<uint32_t> ParseTickCookie(uint64_t value) {
  if (value >> 32 != kCookieTag) return std::nullopt;
  return static_cast<uint32_t>(value);
}

// The index in a signal that a source of ours may have sent; nothing if none
// did. Async-signal-safe.
std::optional<uint32_t> TickIndex(const siginfo_t& info);

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_TICK_H_
