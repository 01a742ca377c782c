#include "profiler/agent/image_facts.h"

#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "collectors/cpu_timer.h"
#include "collectors/pid_namespace.h"
#include "collectors/task_list.h"
#include "profiler/agent/unique_fd.h"
#include "unwind/mapped_memory.h"
#include "unwind/own_files.h"

namespace unspool::profiler {
namespace {

constexpr size_t kMaxCommandLine = 64 << 10;

// At most `size` bytes of a file of /proc.
size_t ReadProcFile(const char* path, char* buffer, size_t size) {
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  size_t used = 0;
  while (fd.is_valid() && used != size) {
    const ssize_t count = read(fd.get(), buffer + used, size - used);
    if (count <= 0) break;
    used += static_cast<size_t>(count);
  }
  return used;
}

}  // namespace

uint64_t MonotonicNs() { return collectors::ClockNs(CLOCK_MONOTONIC); }

uint64_t ProcessCpuNs() {
  return collectors::ClockNs(CLOCK_PROCESS_CPUTIME_ID);
}

void ImageFacts::Read(uint64_t period_ns, const char* engine,
                      collectors::SampleClock clock) {
  info_ = {};
  info_.period_ns = period_ns;
  info_.engine = engine;
  info_.clock = clock;
  ReadProcess();
  ReadStrings();
}

void ImageFacts::NoteFork() { ReadProcess(); }

void ImageFacts::ReadProcess() {
  info_.pid = getpid();
  info_.parent_pid = getppid();
  info_.pid_namespace = collectors::OwnPidNamespace();
  info_.start_realtime_ns = collectors::ClockNs(CLOCK_REALTIME);
  info_.start_monotonic_ns = MonotonicNs();
  start_cpu_ns_ = ProcessCpuNs();
  collectors::TaskName name{};
  if (gettid() == info_.pid) {
    collectors::ReadOwnTaskName(name);
  } else {
    collectors::ReadTaskName(info_.pid, name);
  }
  memcpy(info_.comm, name.data(), sizeof(info_.comm));
}

void ImageFacts::ReadStrings() {
  constexpr size_t kSize = unwind::kMaxPathSize + kMaxCommandLine + 1;
  if (strings_ == nullptr) {
    strings_ = static_cast<char*>(unwind::MapZeroed(kSize));
    if (strings_ == nullptr) return;
  }
  char* executable = strings_;
  char* command_line = executable + unwind::kMaxPathSize;
  // Where the program's headers are: /proc/self/exe is the loader, if that was
  // started with the program as its argument.
  auto& path = *reinterpret_cast<unwind::PathBuffer*>(executable);
  if (!unwind::FindMappedPath(getauxval(AT_PHDR), path)) path[0] = '\0';
  info_.executable = executable;
  size_t size =
      ReadProcFile("/proc/self/cmdline", command_line, kMaxCommandLine);
  if (size != 0 && command_line[size - 1] != '\0') command_line[size++] = '\0';
  info_.command_line = {command_line, size};
}

}  // namespace unspool::profiler
