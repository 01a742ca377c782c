#include "profiler/cli/record.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "profiler/agent/settings.h"
#include "profiler/cli/agent_library.h"
#include "profiler/cli/child_environment.h"
#include "profiler/cli/ended_images.h"
#include "profiler/cli/finish.h"
#include "profiler/cli/kept_files.h"
#include "profiler/cli/launch.h"
#include "profiler/cli/message.h"
#include "profiler/cli/output_file.h"
#include "profiler/cli/process_tree.h"
#include "profiler/cli/program.h"
#include "profiler/cli/recording_spool.h"
#include "profiler/cli/signal_gate.h"
#include "profiler/cli/supervise.h"

namespace unspool::profiler {
namespace {

// A descriptor of ours must not become number 0, 1 or 2 where the tool was
// started without: what we say on stderr would land in it. The program still
// finds them closed.
void FillStandardDescriptors() {
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
}

// Variables that the tool has no flag for are checked by the agent's own rules,
// before the program starts.
void CheckAgentVariables() {
  Settings settings;
  const Problem problem = ReadSettings(
      [](const char* name) -> const char* {
        for (const char* checked :
             {"UNSPOOL_OUTPUT", "UNSPOOL_FREQUENCY", "UNSPOOL_MAX_DEPTH",
              "UNSPOOL_ENGINE", "UNSPOOL_CLOCK", "UNSPOOL_SPOOL",
              "UNSPOOL_SPOOL_TAG", "UNSPOOL_ROOT_PID", "UNSPOOL_CHILDREN"}) {
          if (strcmp(name, checked) == 0) return nullptr;
        }
        return getenv(name);
      },
      &settings);
  if (!problem.ok()) {
    throw Failure(kExitUsage, std::string(problem.text) +
                                  ": correct or unset the variable");
  }
}

ChildEnvironment AgentEnvironment(const RecordOptions& options,
                                  const std::string& agent,
                                  const std::string& spool) {
  ChildEnvironment environment(environ);
  environment.Preload(agent);
  // With a spool given, the agent writes no profile: its name only says that
  // sampling is wanted.
  environment.Set("UNSPOOL_OUTPUT", options.output);
  environment.Set("UNSPOOL_SPOOL", spool);
  environment.Set("UNSPOOL_FREQUENCY", std::to_string(options.frequency));
  environment.Set("UNSPOOL_MAX_DEPTH", std::to_string(options.max_depth));
  environment.Set("UNSPOOL_ENGINE", options.engine);
  environment.Set("UNSPOOL_CLOCK", options.clock);
  environment.Set("UNSPOOL_CHILDREN", options.follows_children ? "on" : "off");
  environment.Unset("UNSPOOL_SPOOL_TAG");
  return environment;
}

int FailureUnlessFailed(int exit_status) {
  return exit_status == kExitOk ? kExitFailure : exit_status;
}

int RunUnprofiled(const RecordOptions& options, const ResolvedProgram& program,
                  const std::string& why, const SignalGate& gate) {
  Tell(why);
  ChildEnvironment environment(environ);
  const pid_t pid =
      StartProgram(program, options.command, environment, "", gate);
  const ProgramEnd end = Supervise(
      pid, gate, std::nullopt, [] {}, /*chore=*/nullptr);
  return FailureUnlessFailed(ExitStatusOf(end.wait_status));
}

// The program's end, and that of all that it left behind and that records. With
// -d nothing is left to wait for when the time is over.
ProgramEnd RunToEnd(pid_t pid, const RecordOptions& options,
                    RecordingSpool& spool, KeptFiles& files,
                    const SignalGate& gate) {
  using std::chrono::steady_clock;
  std::optional<steady_clock::time_point> deadline;
  if (options.duration.has_value()) {
    deadline = steady_clock::now() + *options.duration;
  }
  bool is_sampling = true;
  const auto stop = [&] {
    spool.StopSampling();
    is_sampling = false;
  };
  EndedImages ended(spool);
  steady_clock::time_point files_due{};
  steady_clock::time_point ended_due{};
  // Each when it wants to.
  const Chore chore = [&]() -> std::chrono::nanoseconds {
    if (steady_clock::now() >= files_due) {
      const auto pause = files.Look();
      files_due = steady_clock::now() + pause;
    }
    if (steady_clock::now() >= ended_due) {
      const auto pause = ended.Look();
      ended_due = steady_clock::now() + pause;
    }
    return std::max(std::min(files_due, ended_due) - steady_clock::now(),
                    steady_clock::duration(0));
  };
  const ProgramEnd end = Supervise(pid, gate, options.duration, stop, chore);
  if (is_sampling && options.follows_children) {
    WaitForRecorders(spool, gate, deadline, chore);
  }
  spool.WithdrawUnused();
  return end;
}

}  // namespace

int RunRecord(const RecordOptions& options) {
  FillStandardDescriptors();
  CheckAgentVariables();
  const ResolvedProgram program =
      ResolveProgram(options.command[0], getenv("PATH"));
  const std::string agent = FindAgentLibrary();
  const auto output_for = [&](pid_t pid) {
    return ResolveOutput(ExpandPattern(options.output, pid, program.path));
  };
  CheckWritable(output_for(getpid()));  // but for %p it is the name itself

  const SignalGate gate;
  if (program.obstacle.has_value()) {
    return RunUnprofiled(options, program, *program.obstacle, gate);
  }
  std::optional<RecordingSpool> kept;
  try {
    kept.emplace();
  } catch (const Failure& failure) {
    return RunUnprofiled(
        options, program,
        std::string(failure.what()) + "; the program runs unprofiled", gate);
  }
  RecordingSpool& spool = *kept;
  ChildEnvironment environment = AgentEnvironment(options, agent, spool.path());
  const pid_t pid = StartProgram(program, options.command, environment,
                                 "UNSPOOL_ROOT_PID", gate);
  const std::string output = output_for(pid);
  KeptFiles files(spool);
  const ProgramEnd end = RunToEnd(pid, options, spool, files, gate);
  spool.CloseDescriptor();
  const int exit_status = ExitStatusOf(end.wait_status);
  try {
    FinishRecording(options, output, spool, files, end, gate);
  } catch (const Failure& failure) {
    Tell(failure.what());
    return FailureUnlessFailed(exit_status);
  }
  return exit_status;
}

}  // namespace unspool::profiler
