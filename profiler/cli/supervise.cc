#include "profiler/cli/supervise.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

#include "profiler/cli/message.h"

namespace unspool::profiler {
namespace {

using std::chrono::nanoseconds;

nanoseconds MonotonicNow() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
}

uint64_t CpuTimeNs(const rusage& usage) {
  const auto nanos = [](const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<uint64_t>(time.tv_usec) * 1'000;
  };
  return nanos(usage.ru_utime) + nanos(usage.ru_stime);
}

bool IsFromTerminal(int signal) {
  return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT ||
         signal == SIGTSTP || signal == SIGWINCH;
}

class Supervisor {
 public:
  Supervisor(pid_t program, const SignalGate& gate, const Chore& chore)
      : program_(program), gate_(gate), chore_(chore) {}

  // Takes signals until the program ends or, with a deadline, until then.
  // Returns whether it ended.
  bool Run(std::optional<nanoseconds> deadline);

  const ProgramEnd& end() const { return end_; }

 private:
  std::optional<nanoseconds> DoChore();
  bool Reap();
  void PassOn(const siginfo_t& info);
  bool HasOwnCopy(const siginfo_t& info) const;
  void StopWithProgram();  // if it is time to

  const pid_t program_;
  const SignalGate& gate_;
  const Chore& chore_;
  nanoseconds chore_due_{0};
  // Both must be true for the tool to stop; either may come first.
  bool asked_to_stop_ = false;
  bool program_stopped_ = false;
  ProgramEnd end_;
};

bool Supervisor::Run(std::optional<nanoseconds> deadline) {
  for (;;) {
    std::optional<nanoseconds> until = DoChore();
    if (deadline.has_value() && (!until.has_value() || *deadline < *until)) {
      until = deadline;
    }
    timespec timeout{};
    if (until.has_value()) {
      const nanoseconds left =
          std::max(*until - MonotonicNow(), nanoseconds(0));
      timeout.tv_sec = left.count() / 1'000'000'000;
      timeout.tv_nsec = left.count() % 1'000'000'000;
    }
    siginfo_t info{};
    const int signal = sigtimedwait(&gate_.awaited(), &info,
                                    until.has_value() ? &timeout : nullptr);
    if (signal < 0 && errno == EAGAIN && until == deadline) return false;
    if (signal == SIGCHLD) {
      if (Reap()) return true;
    } else if (signal > 0) {
      PassOn(info);
    }
  }
}

// When it is due, and when it is due next.
std::optional<nanoseconds> Supervisor::DoChore() {
  if (!chore_) return std::nullopt;
  if (MonotonicNow() >= chore_due_) {
    const nanoseconds pause = chore_();
    chore_due_ = MonotonicNow() + pause;
  }
  return chore_due_;
}

// Signals of one number merge, so one SIGCHLD may stand for several changes.
bool Supervisor::Reap() {
  int status = 0;
  rusage usage{};
  while (wait4(program_, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage) ==
         program_) {
    if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
      program_stopped_ = WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP;
      StopWithProgram();
      continue;
    }
    end_.wait_status = status;
    end_.cpu_time_ns = CpuTimeNs(usage);
    end_.monotonic_ns = static_cast<uint64_t>(MonotonicNow().count());
    return true;
  }
  return false;
}

// The kernel sends what a terminal asks for to a whole process group, but the
// hangup to a session's leader alone; its other signals are about the tool. So
// are those that come from the tool itself: SIGPIPE, SIGXFSZ.
bool Supervisor::HasOwnCopy(const siginfo_t& info) const {
  if (info.si_code <= 0) {
    return info.si_pid == program_ || info.si_pid == getpid();
  }
  if (!IsFromTerminal(info.si_signo)) return true;
  if (info.si_signo == SIGHUP && getsid(0) == getpid()) return false;
  return getpgid(program_) == getpgrp();
}

void Supervisor::PassOn(const siginfo_t& info) {
  if (!HasOwnCopy(info)) {
    if (info.si_code == SI_QUEUE) {
      sigqueue(program_, info.si_signo, info.si_value);
    } else {
      kill(program_, info.si_signo);
    }
  }
  if (info.si_signo != SIGTSTP) return;
  asked_to_stop_ = true;
  StopWithProgram();
}

void Supervisor::StopWithProgram() {
  if (!asked_to_stop_ || !program_stopped_) return;
  asked_to_stop_ = false;
  program_stopped_ = false;
  raise(SIGSTOP);
  siginfo_t continued{};
  const bool goes_on = waitid(P_PID, static_cast<id_t>(program_), &continued,
                              WCONTINUED | WNOHANG) == 0 &&
                       continued.si_pid == program_;
  if (!goes_on) kill(program_, SIGCONT);
}

}  // namespace

ProgramEnd Supervise(pid_t program, const SignalGate& gate,
                     std::optional<nanoseconds> deadline,
                     const std::function<void()>& at_deadline,
                     const Chore& chore) {
  Supervisor supervisor(program, gate, chore);
  if (deadline.has_value() && !supervisor.Run(MonotonicNow() + *deadline)) {
    at_deadline();
    supervisor.Run(std::nullopt);
  } else if (!deadline.has_value()) {
    supervisor.Run(std::nullopt);
  }
  return supervisor.end();
}

int ExitStatusOf(int wait_status) {
  return WIFSIGNALED(wait_status) ? kExitSignalBase + WTERMSIG(wait_status)
                                  : WEXITSTATUS(wait_status);
}

}  // namespace unspool::profiler
