#include "profiler/cli/process_tree.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <utility>

#include "profiler/agent/unique_fd.h"
#include "profiler/cli/message.h"
#include "profiler/cli/recorded_process.h"

namespace unspool::profiler {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Most of what a command leaves behind is about to end.
constexpr milliseconds kMoment(300);

// Entries of an environment end in NUL.
bool IsTold(const std::string& process, const std::string& spool_path) {
  const std::string entry = "UNSPOOL_SPOOL=" + spool_path + '\0';
  const std::string environment = '\0' + ReadProc(process + "/environ");
  return environment.find('\0' + entry) != std::string::npos;
}

struct Recorder {
  pid_t pid;
  UniqueFd fd;  // pidfd
};

std::vector<Recorder> OpenAll(const std::vector<pid_t>& pids) {
  std::vector<Recorder> recorders;
  for (const pid_t pid : pids) {
    UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    if (fd.is_valid()) recorders.push_back({pid, std::move(fd)});
  }
  return recorders;
}

std::string Describe(const std::vector<Recorder>& recorders) {
  constexpr size_t kNamed = 3;
  std::string text;
  for (size_t i = 0; i < std::min(recorders.size(), kNamed); ++i) {
    const std::string pid = std::to_string(recorders[i].pid);
    std::string name = ReadProc("/proc/" + pid + "/comm");
    if (name.ends_with('\n')) name.pop_back();
    text += (i == 0 ? "" : ", ") + name + " (pid " + pid + ")";
  }
  const size_t more = recorders.size() - std::min(recorders.size(), kNamed);
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

bool IsRequestToEnd(int signal) {
  return signal == SIGHUP || signal == SIGINT || signal == SIGQUIT ||
         signal == SIGTERM;
}

class Waiter {
 public:
  Waiter(const SignalGate& gate, std::optional<steady_clock::time_point> until,
         const Chore& chore)
      : signals_(signalfd(-1, &gate.awaited(), SFD_CLOEXEC | SFD_NONBLOCK)),
        until_(until),
        chore_(chore) {}

  // Whether it is over before they all have ended.
  bool Wait(std::vector<Recorder> recorders);

 private:
  int TimeoutMs() const;
  void DoChore();
  bool TakeSignals();

  UniqueFd signals_;
  const std::optional<steady_clock::time_point> until_;
  const Chore& chore_;
  steady_clock::time_point chore_due_{};
  const steady_clock::time_point speak_at_ = steady_clock::now() + kMoment;
  bool has_spoken_ = false;
};

// Until the next thing that happens by itself; -1: there is none.
int Waiter::TimeoutMs() const {
  auto next = steady_clock::time_point::max();
  if (!has_spoken_) next = speak_at_;
  if (until_.has_value()) next = std::min(next, *until_);
  if (chore_) next = std::min(next, chore_due_);
  if (next == steady_clock::time_point::max()) return -1;
  const auto left =
      std::chrono::ceil<milliseconds>(next - steady_clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
}

// If it is due.
void Waiter::DoChore() {
  if (!chore_ || steady_clock::now() < chore_due_) return;
  const auto pause = chore_();
  chore_due_ = steady_clock::now() + pause;
}

bool Waiter::TakeSignals() {
  bool is_over = false;
  signalfd_siginfo info;
  while (read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    const int signal = static_cast<int>(info.ssi_signo);
    is_over = is_over || IsRequestToEnd(signal);
    if (signal == SIGTSTP) raise(SIGSTOP);
  }
  return is_over;
}

bool Waiter::Wait(std::vector<Recorder> recorders) {
  while (!recorders.empty()) {
    DoChore();
    std::vector<pollfd> polled = {{signals_.get(), POLLIN, 0}};
    for (const Recorder& recorder : recorders) {
      polled.push_back({recorder.fd.get(), POLLIN, 0});
    }
    if (poll(polled.data(), polled.size(), TimeoutMs()) > 0) {
      if (polled[0].revents != 0 && TakeSignals()) return true;
      size_t i = 0;  // erase_if goes in order
      std::erase_if(recorders,
                    [&](const Recorder&) { return polled[++i].revents != 0; });
    }
    const auto now = steady_clock::now();
    if (until_.has_value() && now >= *until_) return true;
    if (!has_spoken_ && now >= speak_at_ && !recorders.empty()) {
      has_spoken_ = true;
      Tell("the command has ended; waiting for " + Describe(recorders) +
           ": Ctrl-C ends that and writes the profile");
    }
  }
  return false;
}

}  // namespace

std::vector<pid_t> FindRecorders(const RecordingSpool& spool) {
  std::vector<pid_t> pids;
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc", error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string process = entry->path().string();
    const std::string name = entry->path().filename().string();
    pid_t pid = 0;
    const auto [rest, status] =
        std::from_chars(name.data(), name.data() + name.size(), pid);
    if (status != std::errc() || rest != name.data() + name.size()) continue;
    if (pid == getpid()) continue;
    // The environment of a process that shows its state there (setproctitle)
    // says nothing any more; its mappings do.
    if (IsTold(process, spool.path()) || HasSpool(ReadMaps(pid), spool)) {
      pids.push_back(pid);
    }
  }
  return pids;
}

void WaitForRecorders(RecordingSpool& spool, const SignalGate& gate,
                      std::optional<steady_clock::time_point> deadline,
                      const Chore& chore) {
  Waiter waiter(gate, deadline, chore);
  // Again and again: those that ended may have left others behind.
  for (;;) {
    std::vector<Recorder> recorders = OpenAll(FindRecorders(spool));
    if (recorders.empty()) return;
    if (waiter.Wait(std::move(recorders))) return spool.StopSampling();
  }
}

}  // namespace unspool::profiler
