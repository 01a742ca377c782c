// Signals that end programs wait, so that what must not stay half done is not.

#ifndef UNSPOOL_EXPORTERS_HELD_SIGNALS_H_
#define UNSPOOL_EXPORTERS_HELD_SIGNALS_H_

#include <pthread.h>
#include <signal.h>

namespace unspool::exporters {

// Holds back the signals by which users end programs, from the calling thread,
// while this lives. Async-signal-safe.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
      sigaddset(&signals, number);
    }
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_HELD_SIGNALS_H_
