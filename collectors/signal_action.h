// Our signal handler's place in the process, and what was there before us.
//
// A handler of ours is never taken away again: a tick may be pending when
// sampling stops, and the default action of SIGPROF ends the process. Instead
// it does nothing then, and goes on to hand signals that are not ours to
// whoever had the signal before.

#ifndef UNSPOOL_COLLECTORS_SIGNAL_ACTION_H_
#define UNSPOOL_COLLECTORS_SIGNAL_ACTION_H_

#include <signal.h>

namespace unspool::collectors {

using SignalHandler = void (*)(int, siginfo_t*, void*);

// True for signals that may carry ticks: the standard ones that can be caught
// and that no instruction raises. Real-time signals queue, and a full queue can
// turn into a deadly SIGIO. Async-signal-safe.
bool IsSampleSignal(int signal);

// Makes `handler` the one of `signal`, which IsSampleSignal accepts, with
// SA_RESTART, SA_ONSTACK (see README.md) and every signal blocked while it
// runs. Remembers the handler before it. A no-op if it is ours already. False:
// the kernel refused. Not async-signal-safe: one caller at a time.
[[nodiscard]] bool InstallHandler(int signal, SignalHandler handler);

// False if the program has replaced `handler` since. Async-signal-safe.
bool IsHandlerInstalled(int signal, SignalHandler handler);

// Hands a signal that is not ours to the handler that was there before
// InstallHandler, under the mask that it asked for. A default action is not
// taken: that would end the process. Async-signal-safe, if that handler is.
void ForwardSignal(int signal, siginfo_t* info, void* context);

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SIGNAL_ACTION_H_
