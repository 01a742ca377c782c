// The one line that ends a recording.

#ifndef UNSPOOL_PROFILER_CLI_SUMMARY_H_
#define UNSPOOL_PROFILER_CLI_SUMMARY_H_

#include <cstdint>
#include <string>

#include "exporters/raw/raw_pprof.h"

namespace unspool::profiler {

struct SummaryFacts {
  exporters::RawTotals totals;
  std::string engine;      // that took the samples, such as "timer"
  uint32_t frequency = 0;  // asked for, in Hz
  bool follows_children = true;
  uint64_t cpu_time_ns = 0;  // of the program and its waited-for children;
                             // 0: unknown, or it was not all to be sampled
  std::string output;        // as the user named it
};

// "1234 samples, 0 lost, 0.00 % truncated, timer at 100 Hz -> profile.pb.gz
// (next: unspool report profile.pb.gz)", and between them what the user would
// else miss: a rate that the kernel did not give, CPU time that was not
// profiled, a program that used none. Any thread.
// Not async-signal-safe: allocates.
std::string SummaryLine(const SummaryFacts& facts);

// `text` so that a shell reads it as one word.
// Not async-signal-safe: allocates.
std::string ShellWord(const std::string& text);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_SUMMARY_H_
