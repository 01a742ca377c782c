// Who this process is, for the recording.

#ifndef UNSPOOL_PROFILER_AGENT_IMAGE_FACTS_H_
#define UNSPOOL_PROFILER_AGENT_IMAGE_FACTS_H_

#include <cstdint>

#include "collectors/spool/spool_writer.h"

namespace unspool::profiler {

// Nanoseconds of CLOCK_MONOTONIC. Async-signal-safe.
uint64_t MonotonicNs();

// CPU time of the whole process, ended threads included. Async-signal-safe.
uint64_t ProcessCpuNs();

// The facts, and the memory of their strings, which is never given back: what
// is recorded from a signal handler refers to it.
class ImageFacts {
 public:
  constexpr ImageFacts() = default;
  ImageFacts(const ImageFacts&) = delete;
  ImageFacts& operator=(const ImageFacts&) = delete;

  // What cannot be found out (no /proc) stays empty; a command line is kept to
  // 64 KiB. `engine` must outlive this object.
  // Not async-signal-safe: reads files.
  void Read(uint64_t period_ns, const char* engine,
            collectors::SampleClock clock);

  // In a forked child: what differs from the parent. Async-signal-safe.
  void NoteFork();

  void set_lazy(bool is_lazy) { info_.is_lazy = is_lazy; }
  const collectors::ImageInfo& info() const { return info_; }
  // CPU time of the process since then. Async-signal-safe.
  uint64_t CpuNs() const { return ProcessCpuNs() - start_cpu_ns_; }

 private:
  void ReadProcess();
  void ReadStrings();

  char* strings_ = nullptr;
  uint64_t start_cpu_ns_ = 0;
  collectors::ImageInfo info_;
};

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_IMAGE_FACTS_H_
