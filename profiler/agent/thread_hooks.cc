// The beginning of a thread that pthread_create() made and, by a
// thread-specific key whose destructor runs in it, its end.

#include <pthread.h>

#include "profiler/agent/session.h"
#include "profiler/agent/start_routine.h"

namespace unspool::profiler {
namespace {

constinit pthread_once_t key_once = PTHREAD_ONCE_INIT;
constinit pthread_key_t key = 0;
constinit bool has_key = false;

void OnThreadEnd(void* state) {
  GetSession().engine().EndThread(static_cast<collectors::ThreadState*>(state));
}

// A program may have used up all keys: ends are then found by looking.
void MakeKey() { has_key = pthread_key_create(&key, &OnThreadEnd) == 0; }

}  // namespace

void PrepareThreadEnds() { pthread_once(&key_once, &MakeKey); }

collectors::ThreadState::Start EnterThread(collectors::ThreadState& state) {
  const collectors::ThreadState::Start start = state.start;
  if (has_key) pthread_setspecific(key, &state);
  GetSession().engine().BeginThread(state);
  GetSession().wall_clock().helper().BeginThread();
  return start;
}

}  // namespace unspool::profiler
