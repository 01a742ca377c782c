// Reads a spool that somebody else wrote, or still writes: everything in it is
// hostile. Bounded, libc only (the agent uses it too, to write a profile at
// exit).

#ifndef UNSPOOL_COLLECTORS_SPOOL_SPOOL_READER_H_
#define UNSPOOL_COLLECTORS_SPOOL_SPOOL_READER_H_

#include <cstdint>
#include <span>

#include "collectors/spool/spool_format.h"
#include "collectors/spool/spool_writer.h"
#include "unwind/frame.h"
#include "unwind/module.h"

// The helper that builds the spool defines the reading API here: open over a
// span of bytes, iterate images, modules, nodes, threads, counters, losses.

#endif  // UNSPOOL_COLLECTORS_SPOOL_SPOOL_READER_H_
