// A spool as a pprof profile without names: mappings, addresses, samples and
// labels. The one place that knows what a recording means in pprof's terms; the
// tool reads spools through it too and adds names after.
//
// libc (and zlib, linked in) only: the agent calls it at stop and at exit.

#ifndef UNSPOOL_EXPORTERS_RAW_RAW_PPROF_H_
#define UNSPOOL_EXPORTERS_RAW_RAW_PPROF_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectors/spool/spool_format.h"

namespace unspool::exporters {

// Where bytes go; a plain callback, so that neither side needs to allocate.
struct ByteSink {
  bool (*write)(void* context, const void* data, size_t size);
  void* context;
};

enum class RawStatus : uint8_t {
  kOk,
  kNotASpool,
  kWrongVersion,
  kCorrupt,  // no image in it that can be read
  kNoMemory,
  kSinkFailed,  // the sink said false; errno is the sink's
};

struct RawOptions {
  // CLOCK_MONOTONIC end of the recording for images that did not note their
  // own; 0: unknown.
  uint64_t end_monotonic_ns = 0;
  bool gzip = false;
  // Pages of the spool that are in no chunk, ascending, as far as is known.
  std::span<const collectors::PageRun> unused = {};
  // More comments, each "unspool.key=value"; NUL-terminated strings.
  std::span<const char* const> comments = {};
};

// Writes the whole profile of `spool` (the file's bytes). Gives the totals that
// a summary line needs in *totals if not null.
// Not async-signal-safe: allocates.
struct RawTotals {
  uint64_t samples = 0;          // handler runs that gave a stack
  uint64_t truncated = 0;        // of these, not walked to the root
  uint64_t lost = 0;             // ticks that gave none
  uint64_t lost_ns = 0;          // what they stood for
  const char* lost_cause = "";   // of most of that, as in "[lost: …]"; static
  uint64_t weight_ns = 0;        // of all threads, lost samples included
  uint64_t waiting_ns = 0;       // of these, by the wall clock; else 0
  bool is_wall = false;          // by the wall clock, not CPU time
  uint64_t audited = 0;          // stacks that were walked twice
  uint64_t audit_differs = 0;    // of these, where the walks did not agree
  const char* audit_cause = "";  // of most of them; static
  uint32_t images = 0;
  uint32_t threads = 0;
  char engine[16] = {};  // of the first image
};
[[nodiscard]] RawStatus WriteRawPprof(std::span<const uint8_t> spool,
                                      const RawOptions& options, ByteSink sink,
                                      RawTotals* totals);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_RAW_RAW_PPROF_H_
