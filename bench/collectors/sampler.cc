#include "bench/collectors/sampler.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <mutex>

#include "collectors/period.h"
#include "collectors/sampling_engine.h"
#include "collectors/spool/spool_writer.h"

namespace unspool::bench {
namespace {

constexpr uint64_t kSpoolBytes = uint64_t{4} << 30;
constexpr uint32_t kFrequency = 100;

constinit collectors::SpoolWriter writer;
constinit collectors::Recorder recorder;
constinit collectors::SamplingEngine engine;

std::mutex catching;  // over SIGPROF's action
struct sigaction engine_action;
thread_local siginfo_t tick;
thread_local volatile sig_atomic_t has_tick = 0;

void KeepTick(int, siginfo_t* info, void*) {
  tick = *info;
  has_tick = 1;
}

// A tick of the calling thread, from the engine's timer; it does not reach the
// engine, and no other will come.
void CatchTick() {
  struct sigaction action {};
  action.sa_sigaction = &KeepTick;
  action.sa_flags = SA_SIGINFO;
  const std::lock_guard<std::mutex> lock(catching);
  sigaction(SIGPROF, &action, &engine_action);
  while (has_tick == 0) {
  }
  const itimerspec off{};
  syscall(SYS_timer_settime, tick.si_timerid, 0, &off, nullptr);
  sigaction(SIGPROF, &engine_action, nullptr);
}

[[gnu::noinline]] size_t RecordSample(const ucontext_t& context,
                                      std::span<uint64_t>) {
  engine_action.sa_sigaction(SIGPROF, &tick, const_cast<ucontext_t*>(&context));
  return 1;
}

void InitNothing() {}

}  // namespace

const Walker kSampler = {"sample", RecordSample, InitNothing, true, false};

Recording::Recording(uint32_t max_depth) {
  const int fd = memfd_create("unspool_bench", MFD_CLOEXEC);
  collectors::ImageInfo info;
  info.pid = getpid();
  info.period_ns = collectors::PeriodNs(kFrequency);
  if (fd < 0 ||
      collectors::SpoolWriter::Create(fd, kSpoolBytes) !=
          collectors::SpoolStatus::kOk ||
      writer.Open(fd, info) != collectors::SpoolStatus::kOk) {
    Fail("cannot open a spool in memory");
  }
  close(fd);
  recorder.Begin(self_unwinder(), writer);
  collectors::SamplingEngine::Config config;
  config.period_ns = info.period_ns;
  config.max_depth = max_depth;
  config.signal = SIGPROF;
  if (engine.Start(config, recorder) !=
      collectors::SamplingEngine::StartStatus::kOk) {
    Fail("cannot start the sampling engine");
  }
}

collectors::ThreadState* Recording::PrepareThread() {
  collectors::ThreadState* state =
      engine.PrepareThread({}, collectors::RequestedStack(nullptr));
  if (state == nullptr) Fail("no memory for a thread's state");
  return state;
}

void Recording::EnterThread(collectors::ThreadState& state) {
  engine.BeginThread(state);
  CatchTick();
}

void Recording::LeaveThread(collectors::ThreadState& state) {
  if (state.samples.load() == 0) Fail("the handler took no sample");
  engine.EndThread(&state);
}

std::span<const uint8_t> Recording::bytes() const { return writer.bytes(); }

Recording::~Recording() {
  sigset_t mask;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  engine.Stop(mask);
  writer.Close();
}

}  // namespace unspool::bench
