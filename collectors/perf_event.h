// A perf task-clock event on one thread that signals that thread: ticks by CPU
// time, at rates above the kernel's own tick.
//
// No descriptor is taken in the program, not even for a moment: the event is
// opened in a child that shares our memory and not our descriptors, lives by
// its first page, which the child maps, and ends with that page
// (perf_event_open(2), Linux kernel/events/core.c: perf_mmap_close).

#ifndef UNSPOOL_COLLECTORS_PERF_EVENT_H_
#define UNSPOOL_COLLECTORS_PERF_EVENT_H_

#include <signal.h>

#include <atomic>
#include <cstdint>
#include <optional>

namespace unspool::collectors {

// Why there can be no event.
enum class PerfObstacle : uint8_t {
  kNone,            // there can
  kNotPermitted,    // perf_event_paranoid, a seccomp or other security filter
  kNoCall,          // ENOSYS: built without, or a seccomp filter
  kNotSupported,    // the kernel has no such event, or is too old for it
  kNoDescriptor,    // RLIMIT_NOFILE's hard limit, or the system's
  kNoLockedMemory,  // RLIMIT_MEMLOCK and kernel.perf_event_mlock_kb
  kNoProcess,       // no child to be had (RLIMIT_NPROC), or it was killed
  // By ChooseEngine alone, of kTrap:
  kTraced,      // a tracer would be told of each SIGTRAP
  kExecUnseen,  // it could end the programs that this one executes
};

// Owns one event. Not inherited by fork. An event of kTrap may signal the
// program that its thread executes: it must be closed before.
class PerfEvent {
 public:
  enum class Delivery : uint8_t {
    // F_SETSIG: `signal` with si_code POLL_IN and the cookie in si_fd. Counts
    // CPU time in the kernel, but ticks outside of it only: all that is allowed
    // to everyone, and the kernel's ticks would interrupt system calls (EINTR).
    kSignal,
    // SIGTRAP with si_code TRAP_PERF and the cookie in si_perf_data, when a
    // system call is over. Before Linux 5.18 a thread that blocks SIGTRAP is
    // killed.
    kTrap,
  };
  struct Request {
    Delivery delivery = Delivery::kSignal;
    int32_t tid = 0;      // whom it counts and signals; of this process
    int signal = 0;       // for kSignal; a standard one
    uint32_t cookie = 0;  // below 2^30
    uint64_t period_ns = 0;
  };

  constexpr PerfEvent() = default;
  PerfEvent(const PerfEvent&) = delete;
  PerfEvent& operator=(const PerfEvent&) = delete;
  ~PerfEvent() { Close(); }

  // Opens the event, which ticks from now on. All signals must be blocked.
  // Costs about 50 µs. Async-signal-safe: waits for the child, which waits for
  // nobody.
  [[nodiscard]] PerfObstacle Open(const Request& request);

  // Opens an event of the calling thread that never ticks, and closes it: what
  // Open() would say. All signals must be blocked. Async-signal-safe.
  [[nodiscard]] static PerfObstacle Try(Delivery delivery);

  // No more ticks, but one that is pending may still be delivered. Any number
  // of times. Async-signal-safe.
  void Close();

  // For the child after fork, which has no events. Async-signal-safe.
  void ForgetAfterFork() {
    tid_.store(0);
    page_ = nullptr;
  }

  // The thread whose event is open; 0 if none is. Sequentially consistent: see
  // invariant 1 of SamplingEngine. Async-signal-safe.
  int32_t tid() const { return tid_.load(); }

 private:
  std::atomic<int32_t> tid_{0};
  void* page_ = nullptr;
};

// The cookie of a signal that an event of ours may have sent; nothing if none
// did. One of kSignal looks like those of a descriptor of the program's that
// was told by F_SETSIG to send this signal. Async-signal-safe.
std::optional<uint32_t> PerfCookie(const siginfo_t& info);

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_PERF_EVENT_H_
