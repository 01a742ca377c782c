#include "collectors/signal_action.h"

#include <ucontext.h>

#include <array>

namespace unspool::collectors {
namespace {

constexpr int kLastStandardSignal = 31;

// By signal number. Written before the handler is in place, by one thread; read
// by the handler.
constinit std::array<struct sigaction, kLastStandardSignal + 1> previous{};

// The mask that the kernel would have given the handler of `action`
// (sigaction(2)), had it been called for this signal.
sigset_t MaskFor(int signal, const struct sigaction& action,
                 const sigset_t& interrupted) {
  sigset_t mask;
  sigorset(&mask, &interrupted, &action.sa_mask);
  if ((action.sa_flags & SA_NODEFER) == 0) sigaddset(&mask, signal);
  return mask;
}

}  // namespace

bool IsSampleSignal(int signal) {
  if (signal < 1 || signal > kLastStandardSignal) return false;
  constexpr int kRefused[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE,
                              SIGILL,  SIGTRAP, SIGABRT, SIGSYS};
  for (const int refused : kRefused) {
    if (signal == refused) return false;
  }
  return true;
}

bool InstallHandler(int signal, SignalHandler handler) {
  struct sigaction current;
  if (sigaction(signal, nullptr, &current) != 0) return false;
  if ((current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == handler) {
    return true;
  }
  previous[static_cast<size_t>(signal)] = current;
  struct sigaction ours {};
  ours.sa_sigaction = handler;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
  sigfillset(&ours.sa_mask);
  return sigaction(signal, &ours, nullptr) == 0;
}

bool IsHandlerInstalled(int signal, SignalHandler handler) {
  struct sigaction current;
  return sigaction(signal, nullptr, &current) == 0 &&
         (current.sa_flags & SA_SIGINFO) != 0 &&
         current.sa_sigaction == handler;
}

void ForwardSignal(int signal, siginfo_t* info, void* context) {
  const struct sigaction& action = previous[static_cast<size_t>(signal)];
  const bool wants_info = (action.sa_flags & SA_SIGINFO) != 0;
  if (!wants_info &&
      (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)) {
    return;
  }
  const auto* interrupted = static_cast<const ucontext_t*>(context);
  const sigset_t mask = MaskFor(signal, action, interrupted->uc_sigmask);
  sigset_t ours;
  pthread_sigmask(SIG_SETMASK, &mask, &ours);
  if (wants_info) {
    action.sa_sigaction(signal, info, context);
  } else {
    action.sa_handler(signal);
  }
  pthread_sigmask(SIG_SETMASK, &ours, nullptr);
}

}  // namespace unspool::collectors
