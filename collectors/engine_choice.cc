#include "collectors/engine_choice.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>

#include "collectors/cpu_timer.h"
#include "collectors/optional_calls.h"

namespace unspool::collectors {
namespace {

constexpr const char* kNames[] = {"auto", "timer", "perf", "trap"};

// Reads a decimal number, and moves on behind it.
int TakeNumber(const char*& text) {
  int number = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    number = number * 10 + (*text - '0');
  }
  return number;
}

// Before Linux 5.18 the SIGTRAP of an event ends a thread that blocks it
// (commit 78ed93d72ded, "signal: Deliver SIGTRAP on perf event asynchronously
// if blocked").
bool IsTrapHarmless() {
  utsname system;
  if (uname(&system) != 0) return false;
  const char* release = system.release;
  const int major = TakeNumber(release);
  if (*release == '.') ++release;
  const int minor = TakeNumber(release);
  return major > 5 || (major == 5 && minor >= 18);
}

// TracerPid in /proc/thread-self/status (proc(5)): a debugger's or strace's.
// Raw calls: open() and read() are cancellation points.
bool IsTraced() {
  char status[512];
  const long fd = syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/status",
                          O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const long size = syscall(SYS_read, fd, status, sizeof(status) - 1);
  syscall(SYS_close, fd);
  status[size < 0 ? 0 : size] = '\0';
  const char* field = std::strstr(status, "\nTracerPid:\t");
  if (field == nullptr) return false;
  const char* value = field + std::strlen("\nTracerPid:\t");
  return TakeNumber(value) != 0;
}

PerfObstacle FindObstacle(Engine engine, bool sees_exec) {
  if (engine == Engine::kTimer) return PerfObstacle::kNone;
  if (!IsAllowed(OptionalCall::kPerfEvent)) {
    return PerfObstacle::kNotPermitted;
  }
  if (engine == Engine::kTrap) {
    if (!IsTrapHarmless()) return PerfObstacle::kNotSupported;
    if (!sees_exec) return PerfObstacle::kExecUnseen;
    if (IsTraced()) return PerfObstacle::kTraced;
    return PerfEvent::Try(PerfEvent::Delivery::kTrap);
  }
  return PerfEvent::Try(PerfEvent::Delivery::kSignal);
}

}  // namespace

const char* EngineName(Engine engine) {
  return kNames[static_cast<size_t>(engine)];
}

bool ParseEngine(const char* name, Engine* engine) {
  for (size_t i = 0; i < sizeof(kNames) / sizeof(*kNames); ++i) {
    if (std::strcmp(name, kNames[i]) != 0) continue;
    *engine = static_cast<Engine>(i);
    return true;
  }
  return false;
}

const char* DescribeObstacle(PerfObstacle obstacle) {
  switch (obstacle) {
    case PerfObstacle::kNone:
      break;
    case PerfObstacle::kNotPermitted:
      return "perf_event_open is not permitted (kernel.perf_event_paranoid, or "
             "a seccomp filter)";
    case PerfObstacle::kNoCall:
      return "there is no perf_event_open (kernel, or a seccomp filter)";
    case PerfObstacle::kNotSupported:
      return "this kernel has no such event";
    case PerfObstacle::kNoDescriptor:
      return "too many open files (ulimit -Hn)";
    case PerfObstacle::kNoLockedMemory:
      return "too much locked memory (ulimit -l, kernel.perf_event_mlock_kb)";
    case PerfObstacle::kNoProcess:
      return "no process to open an event in (ulimit -u, or a seccomp filter)";
    case PerfObstacle::kTraced:
      return "a debugger or tracer is attached";
    case PerfObstacle::kExecUnseen:
      return "exec is not seen by a library that is not loaded first";
  }
  return "";
}

EngineChoice ChooseEngine(Engine asked, uint64_t period_ns, bool sees_exec) {
  const bool is_fast = period_ns < KernelTickNs();
  // In the order in which they are tried.
  const bool wanted[] = {
      asked == Engine::kTrap || (asked == Engine::kAuto && is_fast),
      asked == Engine::kPerf || (asked != Engine::kTimer && is_fast), true};
  constexpr Engine kOrder[] = {Engine::kTrap, Engine::kPerf, Engine::kTimer};
  EngineChoice choice;
  for (size_t i = 0; i < 3; ++i) {
    if (!wanted[i]) continue;
    const PerfObstacle obstacle = FindObstacle(kOrder[i], sees_exec);
    choice.engine = kOrder[i];
    if (obstacle == PerfObstacle::kNone) break;
    if (choice.missed != Engine::kAuto) continue;
    choice.missed = kOrder[i];
    choice.obstacle = obstacle;
  }
  // Who asks for nothing in particular misses nothing that another event gives.
  if (asked == Engine::kAuto && choice.engine == Engine::kPerf) {
    choice.missed = Engine::kAuto;
  }
  return choice;
}

}  // namespace unspool::collectors
