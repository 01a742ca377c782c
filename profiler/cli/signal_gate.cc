#include "profiler/cli/signal_gate.h"

#include <initializer_list>

namespace unspool::profiler {
namespace {

sigset_t SetOf(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

}  // namespace

SignalGate::SignalGate()
    : awaited_(SetOf({SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1,
                      SIGUSR2, SIGTSTP, SIGWINCH})) {
  sigset_t blocked = awaited_;
  sigaddset(&blocked, SIGPIPE);
  sigaddset(&blocked, SIGXFSZ);
  sigprocmask(SIG_BLOCK, &blocked, &original_mask_);
  // An inherited SIG_IGN would reap the program before we can ask how it ended.
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &action, &original_child_action_);
}

void SignalGate::RestoreInChild() const {
  sigaction(SIGCHLD, &original_child_action_, nullptr);
  sigprocmask(SIG_SETMASK, &original_mask_, nullptr);
}

bool SignalGate::TakeRequestToEnd() const {
  const sigset_t ending = SetOf({SIGHUP, SIGINT, SIGQUIT, SIGTERM});
  const timespec now{};
  return sigtimedwait(&ending, nullptr, &now) > 0;
}

}  // namespace unspool::profiler
