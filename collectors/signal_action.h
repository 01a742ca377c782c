// Our signal handler's place in the process, beside the program's own.
//
// A handler of ours is never taken away again: a tick may be pending when
// sampling stops, and the default action of SIGPROF ends the process. Nor may
// the program take it away: many set a handler for every signal that could end
// them (sort and ls of coreutils do, for SIGPROF too), and would take a tick
// for such an end. So the program's action is kept here, and signals that are
// not ticks are handed on to it.

#ifndef UNSPOOL_COLLECTORS_SIGNAL_ACTION_H_
#define UNSPOOL_COLLECTORS_SIGNAL_ACTION_H_

#include <signal.h>

namespace unspool::collectors {

using SignalHandler = void (*)(int, siginfo_t*, void*);

// True for signals that may carry ticks: the standard ones that can be caught
// and that no instruction raises. Real-time signals queue, and a full queue can
// turn into a deadly SIGIO. Async-signal-safe.
bool IsSampleSignal(int signal);

// True for signals that may have a handler of ours: those, and SIGTRAP.
// Async-signal-safe.
inline bool MayBeOurs(int signal) {
  return signal == SIGTRAP || IsSampleSignal(signal);
}

// Makes `handler` the one of `signal`, which MayBeOurs accepts, with
// SA_RESTART, SA_ONSTACK (see README.md) and every signal blocked while it
// runs. What was there becomes the program's action. A no-op if it is ours
// already. False: the kernel refused. Not async-signal-safe: one caller at a
// time.
[[nodiscard]] bool InstallHandler(int signal, SignalHandler handler);

// False if the program has replaced `handler` since, in a way that
// ProgramSigaction did not see. Async-signal-safe.
bool IsHandlerInstalled(int signal, SignalHandler handler);

// What sigaction(2) is to do for the program: exchanges the program's action
// where our handler is in place, else asks the kernel. The child of a fork or
// vfork gets the kernel's answer: nothing ticks there. Async-signal-safe.
int ProgramSigaction(int signal, const struct sigaction* action,
                     struct sigaction* old_action);

// Around exec in the calling process: signals that the program ignores are to
// be ignored in the next one too (exec(3p)), but a handler's place becomes the
// default. The child of a fork or vfork may call both. No system call where no
// such signal is ignored. Async-signal-safe.
void IgnoreBeforeExec();
void HandleAfterExec();

// Hands a signal that is not ours to the program's action, under the mask that
// it asked for; the default action included. An instruction's SIGTRAP that the
// program ignores ends it, as it would without us. Async-signal-safe, if the
// program's handler is.
void ForwardSignal(int signal, siginfo_t* info, void* context);

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SIGNAL_ACTION_H_
