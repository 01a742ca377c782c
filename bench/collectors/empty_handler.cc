// The comparator of every cost: ticks as ours, from the same sources with the
// same set-up per thread, and a handler that returns at once. Preloaded:
//
//   EMPTY_HANDLER_ENGINE=timer|perf|trap EMPTY_HANDLER_FREQUENCY=HZ
//   EMPTY_HANDLER_REPORT=FILE    at exit: how many ticks came
//
// What cannot be had is replaced as in ours (engine_choice.h). exec is not
// prepared for, and the sample signal is SIGPROF.

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "collectors/engine_choice.h"
#include "collectors/period.h"
#include "collectors/signal_action.h"
#include "collectors/tick.h"
#include "collectors/tick_source.h"
#include "collectors/try_lock.h"

namespace unspool::bench {
namespace {

using collectors::Engine;

constexpr uint32_t kMaxThreads = 1 << 15;

struct Source {
  collectors::TickSource ticks;
  bool lacks_event = false;
};

constinit std::array<Source, kMaxThreads> sources;
constinit std::atomic<uint64_t> ticks{0};
Engine engine = Engine::kTimer;
uint64_t period_ns = 0;  // 0: off
pthread_key_t key;
std::mutex mutex;  // over those below
std::vector<uint32_t> free_indexes;
uint32_t used = 0;
uint64_t random_state = 1;

void StartEvent(uint32_t index) {
  Source& source = sources[index];
  collectors::PerfEvent::Request request;
  request.delivery = engine == Engine::kTrap
                         ? collectors::PerfEvent::Delivery::kTrap
                         : collectors::PerfEvent::Delivery::kSignal;
  request.tid = gettid();
  request.signal = SIGPROF;
  request.cookie = index;
  request.period_ns = period_ns;
  source.lacks_event =
      source.ticks.StartEvent(request) != collectors::PerfObstacle::kNone;
}

// 0 would be no value.
void* KeyValue(uint32_t index) {
  return reinterpret_cast<void*>(uintptr_t{index} + 1);
}

void OnTick(int, siginfo_t* info, void*) {
  const std::optional<uint32_t> index = collectors::TickIndex(*info);
  if (!index.has_value() || *index >= kMaxThreads) return;
  // A tick that was under way when the thread gave its index back.
  if (pthread_getspecific(key) != KeyValue(*index)) return;
  ticks.fetch_add(1, std::memory_order_relaxed);
  const Source& source = sources[*index];
  if (engine == Engine::kTimer || source.ticks.has_event() ||
      source.lacks_event) {
    return;
  }
  StartEvent(*index);
}

uint32_t TakeIndex() {
  const std::lock_guard<std::mutex> lock(mutex);
  if (free_indexes.empty()) return used++;
  const uint32_t index = free_indexes.back();
  free_indexes.pop_back();
  return index;
}

void BeginThread() {
  const uint32_t index = TakeIndex();
  if (index >= kMaxThreads) return;
  pthread_setspecific(key, KeyValue(index));
  sources[index].lacks_event = !sources[index].ticks.StartTimer(
      gettid(), SIGPROF, index,
      collectors::FirstPeriodNs(period_ns, collectors::NextRandom(random_state),
                                collectors::KernelTickNs()),
      period_ns);
}

void EndThread(void* value) {
  const auto index =
      static_cast<uint32_t>(reinterpret_cast<uintptr_t>(value) - 1);
  const collectors::SignalBlock block;
  sources[index].ticks.Delete();
  const std::lock_guard<std::mutex> lock(mutex);
  free_indexes.push_back(index);
}

struct Start {
  void* (*routine)(void*);
  void* argument;
};

void* RunThread(void* argument) {
  const Start start = *static_cast<Start*>(argument);
  delete static_cast<Start*>(argument);
  BeginThread();
  return start.routine(start.argument);
}

[[gnu::constructor]] void AtLoad() {
  const char* name = getenv("EMPTY_HANDLER_ENGINE");
  const char* frequency = getenv("EMPTY_HANDLER_FREQUENCY");
  if (name == nullptr || frequency == nullptr) return;
  if (!collectors::ParseEngine(name, &engine) || atoi(frequency) <= 0) {
    fprintf(stderr, "empty_handler: bad engine or frequency\n");
    return;
  }
  period_ns = collectors::PeriodNs(static_cast<uint32_t>(atoi(frequency)));
  {
    const collectors::SignalBlock block;
    engine = collectors::ChooseEngine(engine, period_ns, true).engine;
  }
  if (pthread_key_create(&key, &EndThread) != 0 ||
      !collectors::InstallHandler(SIGPROF, &OnTick) ||
      !collectors::InstallHandler(SIGTRAP, &OnTick)) {
    abort();
  }
  BeginThread();
}

[[gnu::destructor]] void AtExit() {
  const char* path = getenv("EMPTY_HANDLER_REPORT");
  FILE* file = path == nullptr ? nullptr : fopen(path, "w");
  if (file == nullptr) return;
  fprintf(file, "%llu\n", static_cast<unsigned long long>(ticks.load()));
  fclose(file);
}

}  // namespace
}  // namespace unspool::bench

extern "C" [[gnu::visibility("default")]] int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes,
    void* (*routine)(void*), void* argument) {
  namespace bench = unspool::bench;
  static const auto next = reinterpret_cast<decltype(&pthread_create)>(
      dlsym(RTLD_NEXT, "pthread_create"));
  if (bench::period_ns == 0) {
    return next(thread, attributes, routine, argument);
  }
  auto* start = new bench::Start{routine, argument};
  const int result = next(thread, attributes, &bench::RunThread, start);
  if (result != 0) delete start;
  return result;
}
