// Keeps ticks from taking all of a thread's time: where one takes longer than
// its period, the next is there before the program has run an instruction.

#ifndef UNSPOOL_COLLECTORS_TICK_BRAKE_H_
#define UNSPOOL_COLLECTORS_TICK_BRAKE_H_

#include <cstddef>
#include <cstdint>

namespace unspool::collectors {

// After a long tick, ticks are passed over until it was a quarter of the
// thread's CPU time. Of one thread; async-signal-safe.
//
// How much of that a tick took is asked if the one before seemed long: the
// thread's clock costs a system call, that of time does not.
class TickBrake {
 public:
  // Only of deep stacks.
  static constexpr bool MayBeLong(size_t depth) { return depth >= 256; }

  // Is the CPU time of the tick at hand to be noted?
  bool is_asking() const { return is_asking_; }

  // So much passed during a tick, the CPU time of others included.
  void NoteElapsed(uint64_t elapsed_ns, uint64_t period_ns) {
    is_asking_ = kLeastRatio * elapsed_ns >= period_ns;
  }

  // Is the tick that has come to be passed over? It stands for `weight_ns`,
  // which then are the next one's.
  bool Passes(uint64_t weight_ns) {
    if (to_pass_ns_ < weight_ns) return false;
    to_pass_ns_ -= weight_ns;
    passed_ns_ += weight_ns;
    return true;
  }

  // Since the last call.
  uint64_t TakePassedNs() {
    const uint64_t passed_ns = passed_ns_;
    passed_ns_ = 0;
    return passed_ns;
  }

  // The thread's CPU clock at a tick's beginning and end.
  void Begin(uint64_t cpu_ns) { begin_cpu_ns_ = cpu_ns; }
  void End(uint64_t cpu_ns) {
    to_pass_ns_ = kLeastRatio * (cpu_ns - begin_cpu_ns_);
  }

 private:
  static constexpr uint64_t kLeastRatio = 4;  // of all time to that of ticks

  bool is_asking_ = false;
  uint64_t begin_cpu_ns_ = 0;
  uint64_t to_pass_ns_ = 0;
  uint64_t passed_ns_ = 0;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_TICK_BRAKE_H_
