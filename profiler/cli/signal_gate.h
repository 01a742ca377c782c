// Which signals the tool holds back while it waits for the program, and how the
// program gets all of them as the tool was given them.

#ifndef UNSPOOL_PROFILER_CLI_SIGNAL_GATE_H_
#define UNSPOOL_PROFILER_CLI_SIGNAL_GATE_H_

#include <signal.h>

namespace unspool::profiler {

// From construction on the signals below are blocked, not handled: the tool
// takes them one by one with sigtimedwait(2), and no system call of its own is
// interrupted; a write of its own to a closed pipe or past a limit is an error
// that can be reported. Lives as long as the tool does; nothing is restored in
// the tool itself.
// Not async-signal-safe: changes the process's signal state.
class SignalGate {
 public:
  SignalGate();

  // What to wait for: SIGCHLD, and those that are passed on: all that another
  // process may send, but what stops or continues, and faults.
  const sigset_t& awaited() const { return awaited_; }

  // In the forked child: mask and dispositions as they were before.
  // Async-signal-safe.
  void RestoreInChild() const;

  // Takes one signal that asks the tool itself to end, if one is pending.
  bool TakeRequestToEnd() const;

 private:
  sigset_t awaited_;
  sigset_t original_mask_;
  struct sigaction original_child_action_;
};

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_SIGNAL_GATE_H_
