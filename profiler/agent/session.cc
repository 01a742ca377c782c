#include "profiler/agent/session.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <type_traits>

#include "collectors/period.h"
#include "profiler/agent/image_facts.h"
#include "profiler/agent/profile_file.h"
#include "profiler/agent/sandbox.h"

namespace unspool::profiler {
namespace {

using collectors::IsAllowed;
using collectors::OptionalCall;
using collectors::QuietLock;
using collectors::SpoolStatus;
using StartStatus = collectors::SamplingEngine::StartStatus;

constexpr char kDefaultOutput[] = "profile.pb.gz";

Problem DescribeSpool(SpoolStatus status, const char* path) {
  const char* name = *path != '\0' ? path : "in memory";
  switch (status) {
    case SpoolStatus::kNotASpool:
    case SpoolStatus::kWrongVersion:
      return MakeProblem(EINVAL,
                         "the recording %s is of another version of unspool; "
                         "use the tool and the library of one build",
                         name);
    case SpoolStatus::kNoMemory:
      return MakeProblem(ENOMEM, "cannot map the recording %s; raise ulimit -v",
                         name);
    default:
      return MakeProblem(ENOSPC, "no room for the recording %s", name);
  }
}

Problem FilterProblem(const char* what) {
  return MakeProblem(EPERM, "the seccomp filter of this program forbids %s",
                     what);
}

Problem DescribeEngine(StartStatus status, int signal) {
  switch (status) {
    case StartStatus::kOk:
      return {};
    case StartStatus::kNoHandler:
      return MakeProblem(EINVAL, "cannot handle signal %d", signal);
    case StartStatus::kNoMemory:
      return MakeProblem(ENOMEM, "not enough memory to sample threads");
    case StartStatus::kNoTimer:
      return MakeProblem(EAGAIN,
                         "the kernel gives no timer; raise the limit of "
                         "pending signals (ulimit -i)");
  }
  return {};
}

}  // namespace

Session& GetSession() {
  static_assert(std::is_trivially_destructible_v<Session>,
                "ticks may come after exit() ran destructors");
  static constinit Session session;
  return session;
}

Problem Session::Start(const Settings& settings) {
  QuietLock lock(lock_);
  ForgetIfForked();
  RegisterForkHandler();
  if (is_recording_) return MakeProblem(EALREADY, "sampling runs already");
  const collectors::OptionalCallSet forbidden = AdaptToFilter();
  if (!IsAllowed(OptionalCall::kThreads)) return FilterProblem("timers");
  if (!IsAllowed(OptionalCall::kPopulate)) return FilterProblem("madvise");
  is_first_process_ = settings.root_pid == 0 || settings.root_pid == getpid();
  is_for_tool_ = settings.spool != nullptr && settings.root_pid == getpid();
  frequency_ = settings.frequency;
  engine_choice_ = collectors::ChooseEngine(settings.engine,
                                            collectors::PeriodNs(frequency_));
  if (!is_for_tool_) {
    const Problem problem = ChooseOutput(settings);
    if (!problem.ok()) return problem;
  }
  Problem problem = OpenSpool(settings);
  if (!problem.ok()) return problem;
  problem = StartEngine(settings, lock.previous_mask());
  if (!problem.ok()) CloseSpool(/*keep=*/false);
  is_recording_ = problem.ok();
  if (is_recording_) SayWhatIsForbidden(forbidden);
  return problem;
}

// Once, and not before something is started.
void Session::RegisterForkHandler() {
  if (has_fork_handler_) return;
  has_fork_handler_ = pthread_atfork(nullptr, nullptr, [] {
                        GetSession().AfterForkInChild();
                      }) == 0;
}

Problem Session::ChooseOutput(const Settings& settings) {
  utsname host;
  uname(&host);
  char directory[PATH_MAX];
  OutputFacts facts;
  facts.pid = getpid();
  facts.program = program_invocation_short_name;
  facts.time_s = static_cast<uint64_t>(time(nullptr));
  facts.host = host.nodename;
  facts.is_first_process = is_first_process_;
  facts.directory = getcwd(directory, sizeof(directory));
  if (facts.directory == nullptr) {
    return MakeProblem(errno, "cannot find the current directory: %s",
                       strerrordesc_np(errno));
  }
  const char* pattern =
      settings.output != nullptr ? settings.output : kDefaultOutput;
  const Problem problem = ExpandOutput(pattern, facts, &output_);
  return problem.ok() ? CheckOutput(&output_) : problem;
}

Problem Session::OpenSpool(const Settings& settings) {
  SpoolFile file;
  if (is_for_tool_) {
    const Problem problem = OpenToolSpool(settings.spool, &file);
    return problem.ok() ? MapSpool(settings, file) : problem;
  }
  if (settings.resume != nullptr && OpenResumedSpool(settings.resume, &file) &&
      MapSpool(settings, file).ok()) {
    return {};
  }
  const Problem problem = CreateSpool(&file);
  if (!problem.ok()) return problem;
  const Problem mapped = MapSpool(settings, file);
  if (!mapped.ok() && file.path[0] != '\0') unlink(file.path);
  return mapped;
}

Problem Session::MapSpool(const Settings& settings, const SpoolFile& file) {
  const ImageFacts facts(collectors::PeriodNs(settings.frequency),
                         EngineName(engine_choice_.engine), settings.clock);
  const SpoolStatus status = writer_.Open(file.fd.get(), facts.info());
  if (status != SpoolStatus::kOk) return DescribeSpool(status, file.path);
  memcpy(spool_path_, file.path, sizeof(spool_path_));
  return {};
}

Problem Session::StartEngine(const Settings& settings,
                             const sigset_t& own_mask) {
  if (unwinder_.Init() != unwind::SelfUnwinder::InitStatus::kOk) {
    return MakeProblem(ENOMEM, "not enough memory for the unwinder");
  }
  recorder_.Begin(unwinder_, writer_);
  if (settings.clock == collectors::SampleClock::kWall) {
    const Problem problem = StartWallClock(settings, own_mask);
    if (!problem.ok()) return problem;
  }
  collectors::SamplingEngine::Config config;
  config.engine = engine_choice_.engine;
  config.period_ns = collectors::PeriodNs(settings.frequency);
  config.max_depth = settings.max_depth;
  config.signal = settings.signal;
  config.helper_tid = wall_clock_.tid();
  const Problem problem =
      DescribeEngine(engine_.Start(config, recorder_), settings.signal);
  if (!problem.ok()) wall_clock_.Stop();
  return problem;
}

// Before the engine, which must know that this thread is not the program's.
Problem Session::StartWallClock(const Settings& settings,
                                const sigset_t& own_mask) {
  if (!IsAllowed(OptionalCall::kFiles)) return FilterProblem("reading /proc");
  const collectors::WallClock::Config config = {
      .period_ns = collectors::PeriodNs(settings.frequency),
      .max_depth = settings.max_depth,
      .own_mask = own_mask};
  switch (wall_clock_.Start(config, recorder_, writer_)) {
    case collectors::WallClock::StartStatus::kOk:
      return {};
    case collectors::WallClock::StartStatus::kNoMemory:
      return MakeProblem(ENOMEM, "not enough memory to look at threads");
    case collectors::WallClock::StartStatus::kNoThread:
      return MakeProblem(EAGAIN,
                         "the wall clock gets no thread; raise the limit of "
                         "processes (ulimit -u)");
  }
  return {};
}

Problem Session::Stop() {
  if (!IsAllowed(OptionalCall::kThreads)) return FilterProblem("ending it");
  QuietLock lock(lock_);
  ForgetIfForked();
  if (!is_recording_) return MakeProblem(ESRCH, "sampling does not run");
  wall_clock_.Stop();
  engine_.Stop(lock.previous_mask());
  is_recording_ = false;
  NoteEnd();
  Problem problem = is_for_tool_ ? Problem{} : WriteProfileNow();
  if (!problem.ok() && spool_path_[0] != '\0') {
    const Problem cause = problem;
    problem = MakeProblem(cause.error,
                          "%.380s; the recording is kept, for: unspool export "
                          "%.500s -o profile.pb.gz",
                          cause.text, spool_path_);
  }
  CloseSpool(/*keep=*/!problem.ok());
  return problem;
}

Problem Session::Flush() {
  if (!IsAllowed(OptionalCall::kThreads)) return FilterProblem("flushing");
  QuietLock lock(lock_);
  ForgetIfForked();
  if (!is_recording_) return MakeProblem(ESRCH, "sampling does not run");
  NoteEnd();
  return is_for_tool_ ? Problem{} : WriteProfileNow();
}

void Session::GetState(unspool_state* state) {
  QuietLock lock(lock_);
  ForgetIfForked();
  state->running = is_recording_ ? 1 : 0;
  state->frequency = frequency_;
  const collectors::SamplingEngine::Totals totals = engine_.totals();
  const collectors::WallClock::Totals waits = wall_clock_.totals();
  state->samples = totals.samples + waits.samples;
  state->lost = totals.losses + waits.losses;
}

Problem Session::WriteProfileNow() {
  if (!IsAllowed(OptionalCall::kFiles)) return FilterProblem("writing files");
  return WriteProfile(writer_.bytes(), MonotonicNs(), output_);
}

bool Session::IsFirstToSay(Notice notice) {
  return (is_for_tool_ || is_first_process_) &&
         writer_.IsFirstToSay(static_cast<uint32_t>(notice));
}

void Session::StopGrowing() {
  QuietLock lock(lock_);
  if (is_recording_ && !is_forked_) writer_.StopGrowing();
}

void Session::NoteEnd() { writer_.NoteEnd(MonotonicNs(), ProcessCpuNs()); }

void Session::CloseSpool(bool keep) {
  writer_.Close();
  if (!keep && spool_path_[0] != '\0') unlink(spool_path_);
  spool_path_[0] = '\0';
}

void Session::AfterForkInChild() {
  is_forked_ = true;
  // Another thread of the parent may have held it.
  lock_.ForgetAfterFork();
}

void Session::ForgetIfForked() {
  if (!is_forked_) return;
  is_forked_ = false;
  is_recording_ = false;
  spool_path_[0] = '\0';
  writer_.ForgetAfterFork();
  engine_.ForgetAfterFork();
  wall_clock_.ForgetAfterFork();
}

}  // namespace unspool::profiler
