#include "collectors/tick_source.h"

#include "collectors/tick.h"

namespace unspool::collectors {

bool TickSource::StartTimer(int32_t tid, int signal, uint32_t cookie,
                            uint64_t first_ns, uint64_t period_ns) {
  event_.Close();
  if (!timer_.Create(tid, signal, TickCookie(cookie))) return false;
  timer_.Arm(first_ns, period_ns);
  return true;
}

PerfObstacle TickSource::StartEvent(const PerfEvent::Request& request) {
  event_thread_.store(pthread_self(), std::memory_order_relaxed);
  const PerfObstacle obstacle = event_.Open(request);
  if (obstacle == PerfObstacle::kNone) timer_.Delete();
  return obstacle;
}

[[gnu::hot]] bool TickSource::Sent(const siginfo_t& info) const {
  if (info.si_code == SI_TIMER) return timer_.id() == info.si_timerid;
  return has_event() &&
         pthread_self() == event_thread_.load(std::memory_order_relaxed);
}

void TickSource::Disarm() {
  timer_.Disarm();
  event_.Close();
}

void TickSource::Delete() {
  timer_.Delete();
  event_.Close();
}

void TickSource::ForgetAfterFork() {
  timer_.ForgetAfterFork();
  event_.ForgetAfterFork();
}

}  // namespace unspool::collectors
