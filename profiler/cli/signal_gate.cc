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

// All that may come to the tool and could be meant for the program. Not: what
// cannot be blocked; what a fault of our own raises; the stops that a terminal
// answers the tool's own reads and writes with, and the end of every stop.
sigset_t AwaitedSignals() {
  sigset_t set;
  sigfillset(&set);
  for (const int signal :
       {SIGKILL, SIGSTOP, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV,
        SIGSYS, SIGTTIN, SIGTTOU, SIGCONT}) {
    sigdelset(&set, signal);
  }
  return set;
}

}  // namespace

SignalGate::SignalGate() : awaited_(AwaitedSignals()) {
  sigprocmask(SIG_BLOCK, &awaited_, &original_mask_);
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
