// One interruption of one thread, as every engine hands it on to the Recorder.

#ifndef UNSPOOL_COLLECTORS_CAPTURE_H_
#define UNSPOOL_COLLECTORS_CAPTURE_H_

#include <cstdint>

#include "unwind/arch/arch.h"
#include "unwind/self_unwinder.h"

namespace unspool::collectors {

struct ThreadState;

struct Capture {
  ThreadState* thread = nullptr;  // found by the tick's cookie, not by TLS
  unwind::Registers registers;    // of the interrupted instruction
  unwind::StackBounds stack;      // of the interrupted thread
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_CAPTURE_H_
