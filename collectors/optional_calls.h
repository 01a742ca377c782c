// The system calls that sampling can do without, and which of them it must: a
// seccomp filter may refuse a call, or kill for it. seccomp_probe.h finds out.

#ifndef UNSPOOL_COLLECTORS_OPTIONAL_CALLS_H_
#define UNSPOOL_COLLECTORS_OPTIONAL_CALLS_H_

#include <cstddef>
#include <cstdint>

namespace unspool::collectors {

// What sampling does without each is said at its name.
enum class OptionalCall : uint8_t {
  kCopyMemory,  // process_vm_readv: stacks end where memory is not surely there
  kPopulate,    // madvise: the recording has the room that it has by then
  kPerfEvent,   // perf_event_open: timers instead
  kThreads,     // what a thread's beginning and end takes: those there go on
  kFiles,       // open, write…: no look for threads, no profile at the end
  kThreadName,  // prctl: threads keep the names they had
};
inline constexpr size_t kOptionalCallCount = 6;

// One bit per OptionalCall.
class OptionalCallSet {
 public:
  constexpr OptionalCallSet() = default;
  static constexpr OptionalCallSet All() {
    return OptionalCallSet((uint32_t{1} << kOptionalCallCount) - 1);
  }
  static constexpr OptionalCallSet FromBits(uint32_t bits) {
    return OptionalCallSet(bits);
  }

  constexpr bool Has(OptionalCall call) const {
    return (bits_ >> static_cast<uint32_t>(call) & 1) != 0;
  }
  constexpr void Add(OptionalCall call) {
    bits_ |= uint32_t{1} << static_cast<uint32_t>(call);
  }
  constexpr uint32_t bits() const { return bits_; }
  friend constexpr OptionalCallSet operator|(OptionalCallSet a,
                                             OptionalCallSet b) {
    return OptionalCallSet(a.bits_ | b.bits_);
  }

 private:
  explicit constexpr OptionalCallSet(uint32_t bits) : bits_(bits) {}
  uint32_t bits_ = 0;
};

// Whether sampling may make this call, from now on. Any thread.
// Async-signal-safe.
bool IsAllowed(OptionalCall call);
// Async-signal-safe, both.
OptionalCallSet ForbiddenCalls();
void SetForbiddenCalls(OptionalCallSet calls);

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_OPTIONAL_CALLS_H_
