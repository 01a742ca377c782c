#include "profiler/agent/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <type_traits>

#include "collectors/period.h"
#include "profiler/agent/agent_note.h"
#include "profiler/agent/ending.h"
#include "profiler/agent/image_facts.h"
#include "profiler/agent/in_front_of_libc.h"
#include "profiler/agent/profile_file.h"
#include "profiler/agent/sandbox.h"

// ThreadSanitizer's, if it is in the program.
extern "C" [[gnu::weak]] void __tsan_init();

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
  RegisterHandlers();
  if (is_recording_) return MakeProblem(EALREADY, "sampling runs already");
  if (IsOtherCopySampling()) {
    return MakeProblem(EALREADY,
                       "another copy of the agent samples this program");
  }
  // Its memcpy() and clock_gettime() take locks, also when our handler calls
  // them: the program would wait for ever.
  if (&__tsan_init != nullptr) {
    return MakeProblem(ENOTSUP,
                       "ThreadSanitizer is in this program and takes locks in "
                       "what a signal handler calls; build without it");
  }
  const collectors::OptionalCallSet forbidden = AdaptToFilter();
  if (!IsAllowed(OptionalCall::kThreads)) return FilterProblem("timers");
  if (!IsAllowed(OptionalCall::kPopulate)) return FilterProblem("madvise");
  Problem problem = RememberSettings(settings);
  if (problem.ok() && !is_for_tool_) problem = ChooseOutput();
  if (problem.ok()) problem = OpenSpool(settings);
  if (!problem.ok()) return problem;
  problem = StartEngine(settings, lock.previous_mask());
  if (!problem.ok()) CloseSpool(/*keep=*/false);
  is_recording_ = problem.ok();
  SetSampling(is_recording_);
  if (is_recording_) SayWhatIsForbidden(forbidden);
  return problem;
}

// Once, and not before something is started.
void Session::RegisterHandlers() {
  if (has_fork_handler_) return;
  EndRecordingAtQuickExit();
  has_fork_handler_ = pthread_atfork(nullptr, nullptr, [] {
                        GetSession().AfterForkInChild();
                      }) == 0;
}

// Whatever a forked child needs that is not its parent's environment, which the
// program may have overwritten by then.
Problem Session::RememberSettings(const Settings& settings) {
  is_for_tool_ = settings.spool != nullptr;
  is_first_process_ = settings.root_pid == 0 || settings.root_pid == getpid();
  follows_children_ = settings.follows_children;
  frequency_ = settings.frequency;
  output_.text[0] = '\0';
  const uint64_t period_ns = collectors::PeriodNs(frequency_);
  is_told_of_threads_ = IsInFrontOfLibc != nullptr && IsInFrontOfLibc();
  engine_choice_ = collectors::ChooseEngine(settings.engine, period_ns,
                                            /*sees_exec=*/is_told_of_threads_);
  facts_.Read(period_ns, EngineName(engine_choice_.engine), settings.clock);
  wall_config_.period_ns = period_ns;
  wall_config_.max_depth = settings.max_depth;
  facts_.set_lazy(!is_first_process_);
  if (settings.spool_tag != nullptr) {
    snprintf(spool_tag_.text, sizeof(spool_tag_.text), "%s",
             settings.spool_tag);
  } else if (spool_tag_.text[0] == '\0') {
    spool_tag_ = NewSpoolTag();
  }
  const char* pattern =
      settings.output != nullptr ? settings.output : kDefaultOutput;
  const int size =
      snprintf(output_pattern_, sizeof(output_pattern_), "%s", pattern);
  if (static_cast<size_t>(size) >= sizeof(output_pattern_)) {
    return MakeProblem(ENAMETOOLONG,
                       "the output %.64s… is not a file name: it is too long",
                       pattern);
  }
  if (is_for_tool_) {
    snprintf(tool_spool_, sizeof(tool_spool_), "%s", settings.spool);
  }
  if (getcwd(directory_, sizeof(directory_)) != nullptr || is_for_tool_) {
    return {};
  }
  return MakeProblem(errno, "cannot find the current directory: %s",
                     strerrordesc_np(errno));
}

Problem Session::ChooseOutput() {
  utsname host;
  uname(&host);
  OutputFacts facts;
  facts.pid = getpid();
  facts.program = program_invocation_short_name;
  facts.time_s = static_cast<uint64_t>(time(nullptr));
  facts.host = host.nodename;
  facts.is_first_process = is_first_process_;
  facts.directory = directory_;
  const Problem problem = ExpandOutput(output_pattern_, facts, &output_);
  return problem.ok() ? CheckOutput(&output_) : problem;
}

Problem Session::OpenSpool(const Settings& settings) {
  if (!is_for_tool_) return OpenOwnSpool();
  SpoolFile file;
  const Problem problem = OpenToolSpool(settings.spool, &file);
  return problem.ok() ? MapSpool(file) : problem;
}

Problem Session::OpenOwnSpool() {
  SpoolFile file;
  Problem problem =
      CreateSpool(spool_tag_.text, /*is_quiet=*/!is_first_process_, &file);
  if (!problem.ok()) return problem;
  problem = MapSpool(file);
  if (!problem.ok() && file.path[0] != '\0') unlink(file.path);
  return problem;
}

Problem Session::MapSpool(const SpoolFile& file) {
  const auto at_fork = is_for_tool_ && follows_children_
                           ? collectors::AtFork::kKeep
                           : collectors::AtFork::kUnmap;
  const SpoolStatus status =
      writer_.Open(file.fd.get(), facts_.info(), at_fork);
  if (status != SpoolStatus::kOk) return DescribeSpool(status, file.path);
  memcpy(spool_path_, file.path, sizeof(spool_path_));
  is_resumed_ = file.is_resumed;
  return {};
}

Problem Session::StartEngine(const Settings& settings,
                             const sigset_t& own_mask) {
  if (!PrepareUnwinder()) {
    return MakeProblem(ENOMEM, "not enough memory for the unwinder");
  }
  recorder_.Begin(unwinder_, writer_);
  Problem problem = StartHelper(own_mask);
  if (!problem.ok()) return problem;
  collectors::SamplingEngine::Config config;
  config.engine = engine_choice_.engine;
  config.period_ns = collectors::PeriodNs(settings.frequency);
  config.max_depth = settings.max_depth;
  config.signal = settings.signal;
  config.helper_tid = helper_tid();
  problem = DescribeEngine(engine_.Start(config, recorder_), settings.signal);
  if (!problem.ok()) StopHelper();
  return problem;
}

// Before the engine, which must know that this thread is not the program's.
// Without a finder, ticks find threads.
Problem Session::StartHelper(const sigset_t& own_mask) {
  if (facts_.info().clock == collectors::SampleClock::kWall) {
    return StartWallClock(own_mask);
  }
  if (!is_told_of_threads_ && IsAllowed(OptionalCall::kFiles)) {
    (void)thread_finder_.Start(engine_, own_mask);
  }
  return {};
}

void Session::StopHelper() {
  wall_clock_.Stop();
  thread_finder_.Stop();
}

int32_t Session::helper_tid() const {
  return wall_clock_.tid() != 0 ? wall_clock_.tid() : thread_finder_.tid();
}

Problem Session::StartWallClock(const sigset_t& own_mask) {
  if (!IsAllowed(OptionalCall::kFiles)) return FilterProblem("reading /proc");
  wall_config_.own_mask = own_mask;
  wall_config_.engine = &engine_;
  switch (wall_clock_.Start(wall_config_, recorder_, writer_)) {
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
  if (!is_recording_) return MakeProblem(ESRCH, "sampling does not run");
  StopHelper();
  engine_.Stop(lock.previous_mask());
  SayWithoutEvent();
  is_recording_ = false;
  SetSampling(false);
  NoteEnd();
  Problem problem = has_nothing_to_write() ? Problem{} : WriteProfileNow();
  if (!problem.ok() && spool_path_[0] != '\0') {
    const Problem cause = problem;
    problem = MakeProblem(cause.error,
                          "%.380s; the recording is kept, for: unspool export "
                          "%.500s -o profile.pb.gz",
                          cause.text, spool_path_);
  }
  if (problem.ok() && StandsInForTool()) {
    Say("unspool record was killed; the program itself wrote its profile: %s",
        output_.text);
  }
  CloseSpool(/*keep=*/!problem.ok());
  return problem;
}

// Where some threads only could not be given what was chosen; by one process.
void Session::SayWithoutEvent() {
  const collectors::SamplingEngine::Totals totals = engine_.totals();
  if (totals.without_event == 0 || !IsFirstToSay(Notice::kEngine)) return;
  Say("%llu threads sampled by timer and not by %s: %s",
      static_cast<unsigned long long>(totals.without_event),
      EngineName(engine_choice_.engine),
      collectors::DescribeObstacle(totals.obstacle));
}

Problem Session::Flush() {
  if (!IsAllowed(OptionalCall::kThreads)) return FilterProblem("flushing");
  QuietLock lock(lock_);
  if (!is_recording_) return MakeProblem(ESRCH, "sampling does not run");
  NoteEnd();
  return has_nothing_to_write() ? Problem{} : WriteProfileNow();
}

// Of all processes but the first one only those that were sampled leave a
// profile.
bool Session::has_nothing_to_write() const {
  if (is_for_tool_) return !StandsInForTool();
  return !is_first_process_ && !is_resumed_ && !writer_.has_recorded();
}

// The first process writes for all, as far as they have come, if the tool was
// killed; not if it asked to stop: then it has the profile.
bool Session::StandsInForTool() const {
  return is_for_tool_ && is_first_process_ && writer_.sampling_wanted() &&
         IsToolGone(tool_spool_);
}

void Session::GetState(unspool_state* state) {
  QuietLock lock(lock_);
  state->running = is_recording_ ? 1 : 0;
  state->frequency = frequency_;
  const collectors::SamplingEngine::Totals totals = engine_.totals();
  const collectors::WallClock::Totals waits = wall_clock_.totals();
  state->samples = totals.samples + waits.samples;
  state->lost = totals.losses + waits.losses;
}

Problem Session::WriteProfileNow() {
  if (!IsAllowed(OptionalCall::kFiles)) return FilterProblem("writing files");
  // A forked child has not chosen it yet, nor who stands in for the tool.
  const Problem problem = output_.text[0] == '\0' ? ChooseOutput() : Problem{};
  if (!problem.ok()) return problem;
  return WriteProfile(writer_.bytes(), MonotonicNs(), output_);
}

bool Session::IsFirstToSay(Notice notice) {
  return (is_for_tool_ || is_first_process_) &&
         writer_.IsFirstToSay(static_cast<uint32_t>(notice));
}

void Session::StopGrowing() {
  QuietLock lock(lock_);
  if (is_recording_) writer_.StopGrowing();
}

void Session::StopWallClock() {
  QuietLock lock(lock_);
  if (!is_recording_ || wall_clock_.tid() == 0) return;
  wall_clock_.Stop();
  Say("from here on waiting time is not recorded: it takes what the program's "
      "seccomp filter forbids");
}

void Session::NoteEnd() { writer_.NoteEnd(MonotonicNs(), facts_.CpuNs()); }

void Session::CloseSpool(bool keep) {
  writer_.Close();
  if (!keep && spool_path_[0] != '\0') unlink(spool_path_);
  spool_path_[0] = '\0';
}

}  // namespace unspool::profiler
