// Who this process is, for the recording.

#ifndef UNSPOOL_PROFILER_AGENT_IMAGE_FACTS_H_
#define UNSPOOL_PROFILER_AGENT_IMAGE_FACTS_H_

#include <cstdint>

#include "collectors/mapping.h"
#include "collectors/spool/spool_writer.h"

namespace unspool::profiler {

// Nanoseconds of CLOCK_MONOTONIC. Async-signal-safe.
uint64_t MonotonicNs();

// CPU time of the whole process, ended threads included. Async-signal-safe.
uint64_t ProcessCpuNs();

// The facts, and the memory of their strings. A command line is kept to 64 KiB.
class ImageFacts {
 public:
  // What cannot be found out (no /proc) stays empty.
  // Not async-signal-safe: reads files.
  ImageFacts(uint64_t period_ns, const char* engine,
             collectors::SampleClock clock);

  const collectors::ImageInfo& info() const { return info_; }

 private:
  collectors::Mapping memory_;
  collectors::ImageInfo info_;
};

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_AGENT_IMAGE_FACTS_H_
