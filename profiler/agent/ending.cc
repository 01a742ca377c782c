#include "profiler/agent/ending.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "collectors/arch/calls.h"
#include "profiler/agent/message.h"
#include "profiler/agent/session.h"
#include "unwind/mapped_memory.h"

namespace unspool::profiler {
namespace {

// What writing a profile takes is a few paths and buffers of a page each.
constexpr size_t kStackBytes = 256 << 10;

void StopAndSay(void*) {
  const Problem problem = GetSession().Stop();
  // Another thread was faster.
  if (problem.ok() || problem.error == ESRCH) return;
  Say("%s", problem.text);
}

[[gnu::destructor]] void AtExit() { EndRecording(); }

}  // namespace

void EndRecording() {
  if (!GetSession().is_running()) return;
  void* stack = unwind::MapZeroed(kStackBytes);
  if (stack == nullptr) return StopAndSay(nullptr);
  unspool_call_on_stack(&StopAndSay, nullptr,
                        static_cast<char*>(stack) + kStackBytes);
  munmap(stack, kStackBytes);
}

void EndRecordingAtQuickExit() { at_quick_exit(&EndRecording); }

}  // namespace unspool::profiler
