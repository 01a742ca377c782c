#include "collectors/signal_action.h"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "collectors/try_lock.h"

// glibc's own name for sigaction(): libunspool.so stands in front of the other.
extern "C" int __sigaction(int signal, const struct sigaction* action,
                           struct sigaction* old_action) noexcept;

namespace unspool::collectors {
namespace {

constexpr int kLastStandardSignal = 31;
const auto kIgnore = reinterpret_cast<uint64_t>(SIG_IGN);

// The program's action for a signal. Each word for itself is atomic: handlers
// are called with all three arguments, whichever kind they are, so flags and
// mask of another moment do no harm.
struct ProgramAction {
  std::atomic<uint64_t> handler;
  std::atomic<int> flags;
  std::atomic<uint64_t> mask;
  std::atomic<pid_t> pid;  // in which our handler is in place; 0: nowhere
};
constinit std::array<ProgramAction, kLastStandardSignal + 1> actions{};

// Ours, for all signals.
constinit std::atomic<SignalHandler> our_handler{nullptr};

int KernelSigaction(int signal, const struct sigaction* action,
                    struct sigaction* old_action) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // Sanitizers must know of handlers.
  return sigaction(signal, action, old_action);
#else
  return __sigaction(signal, action, old_action);
#endif
}

// The kernel's part of a sigset_t is its first word, bit n - 1 for signal n.
uint64_t ToWord(const sigset_t& set) {
  uint64_t word = 0;
  std::memcpy(&word, &set, sizeof(word));
  return word;
}

sigset_t FromWord(uint64_t word) {
  sigset_t set;
  sigemptyset(&set);
  std::memcpy(&set, &word, sizeof(word));
  return set;
}

void Store(const struct sigaction& from, ProgramAction& to) {
  // The union's members share their place.
  to.handler.store(reinterpret_cast<uint64_t>(from.sa_handler));
  to.flags.store(from.sa_flags);
  to.mask.store(ToWord(from.sa_mask));
}

struct sigaction Load(const ProgramAction& from) {
  struct sigaction to {};
  to.sa_handler = reinterpret_cast<sighandler_t>(from.handler.load());
  to.sa_flags = from.flags.load();
  to.sa_mask = FromWord(from.mask.load());
  return to;
}

bool HasHandler(const struct sigaction& action) {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

// On the alternate stack, as coroutines need it; but a handler of the program's
// that was never meant to run there may need more room than there is.
int StackFlag(const struct sigaction& program) {
  return HasHandler(program) && (program.sa_flags & SA_ONSTACK) == 0
             ? 0
             : SA_ONSTACK;
}

// Where our handler runs follows the program's action, which it calls.
void FollowStack(int signal, const struct sigaction& program) {
  struct sigaction current;
  if (KernelSigaction(signal, nullptr, &current) != 0 ||
      current.sa_sigaction != our_handler.load()) {
    return;
  }
  const int flags = (current.sa_flags & ~SA_ONSTACK) | StackFlag(program);
  if (flags == current.sa_flags) return;
  current.sa_flags = flags;
  KernelSigaction(signal, &current, nullptr);
}

// Where the program ignores a signal that we handle, or did: `to` replaces
// `from`, each a handler's address, in the kernel.
void ReplaceIgnored(uint64_t from, uint64_t to) {
  for (int signal = 1; signal <= kLastStandardSignal; ++signal) {
    const ProgramAction& program = actions[static_cast<size_t>(signal)];
    struct sigaction current;
    if (program.pid.load() == 0 || program.handler.load() != kIgnore ||
        KernelSigaction(signal, nullptr, &current) != 0 ||
        reinterpret_cast<uint64_t>(current.sa_handler) != from) {
      continue;
    }
    current.sa_handler = reinterpret_cast<sighandler_t>(to);
    KernelSigaction(signal, &current, nullptr);
  }
}

uint64_t OurAddress() { return reinterpret_cast<uint64_t>(our_handler.load()); }

bool IsIgnoredByDefault(int signal) {
  return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG ||
         signal == SIGWINCH;
}

// Ends the process as the default action does, unless that is to do nothing.
void TakeDefaultAction(int signal) {
  if (IsIgnoredByDefault(signal)) return;
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  KernelSigaction(signal, &action, nullptr);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  syscall(SYS_tgkill, getpid(), gettid(), signal);
}

// The mask that the kernel would have given the handler (sigaction(2)), had it
// been called for this signal.
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
  constexpr int kRefused[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS,
                              SIGFPE,  SIGILL,  SIGTRAP, SIGABRT,
                              SIGSYS,  SIGTSTP, SIGTTIN, SIGTTOU};
  for (const int refused : kRefused) {
    if (signal == refused) return false;
  }
  return true;
}

bool InstallHandler(int signal, SignalHandler handler) {
  ProgramAction& program = actions[static_cast<size_t>(signal)];
  if (IsHandlerInstalled(signal, handler)) {
    program.pid.store(getpid());
    return true;
  }
  struct sigaction current;
  if (KernelSigaction(signal, nullptr, &current) != 0) return false;
  Store(current, program);
  struct sigaction ours {};
  ours.sa_sigaction = handler;
  ours.sa_flags = SA_SIGINFO | SA_RESTART | StackFlag(current);
  ours.sa_mask = EverySignal();
  our_handler.store(handler);
  if (KernelSigaction(signal, &ours, nullptr) != 0) return false;
  program.pid.store(getpid());
  return true;
}

bool IsHandlerInstalled(int signal, SignalHandler handler) {
  struct sigaction current;
  return KernelSigaction(signal, nullptr, &current) == 0 &&
         (current.sa_flags & SA_SIGINFO) != 0 &&
         current.sa_sigaction == handler;
}

int ProgramSigaction(int signal, const struct sigaction* action,
                     struct sigaction* old_action) {
  if (!MayBeOurs(signal)) {
    return KernelSigaction(signal, action, old_action);
  }
  ProgramAction& program = actions[static_cast<size_t>(signal)];
  const pid_t pid = program.pid.load();
  if (pid == 0 || pid != getpid()) {
    return KernelSigaction(signal, action, old_action);
  }
  const struct sigaction old = Load(program);
  // `action` may be *old_action.
  if (action != nullptr) {
    Store(*action, program);
    FollowStack(signal, Load(program));
  }
  if (old_action != nullptr) *old_action = old;
  return 0;
}

void IgnoreBeforeExec() { ReplaceIgnored(OurAddress(), kIgnore); }

void HandleAfterExec() { ReplaceIgnored(kIgnore, OurAddress()); }

void ForwardSignal(int signal, siginfo_t* info, void* context) {
  ProgramAction& program = actions[static_cast<size_t>(signal)];
  const struct sigaction action = Load(program);
  // What the kernel sends for an instruction cannot be ignored (force_sig_info
  // in kernel/signal.c); si_code is above 0 then.
  const bool is_forced = signal == SIGTRAP && info->si_code > 0;
  if (action.sa_handler == SIG_DFL ||
      (action.sa_handler == SIG_IGN && is_forced)) {
    TakeDefaultAction(signal);
    return;
  }
  if (action.sa_handler == SIG_IGN) return;
  if ((action.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) {
    program.handler.store(reinterpret_cast<uint64_t>(SIG_DFL));
  }
  const auto* interrupted = static_cast<const ucontext_t*>(context);
  const sigset_t mask = MaskFor(signal, action, interrupted->uc_sigmask);
  sigset_t ours;
  pthread_sigmask(SIG_SETMASK, &mask, &ours);
  action.sa_sigaction(signal, info, context);
  pthread_sigmask(SIG_SETMASK, &ours, nullptr);
}

}  // namespace unspool::collectors
