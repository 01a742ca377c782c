// What a recording knows of the program's modules: at its start, and when the
// program loads others.

#include <errno.h>

#include "profiler/agent/session.h"
#include "unwind/load/own_cfi.h"

namespace unspool::profiler {
namespace {

using collectors::IsAllowed;
using collectors::OptionalCall;

unwind::AddSources FilesIfAllowed() {
  return IsAllowed(OptionalCall::kFiles) ? &unwind::AddCfiFromFiles : nullptr;
}

}  // namespace

// False: no memory.
bool Session::PrepareUnwinder() {
  if (unwinder_.Init(FilesIfAllowed()) !=
      unwind::SelfUnwinder::InitStatus::kOk) {
    return false;
  }
  CompleteModules();
  return true;
}

void Session::LookAtLoadedModules() {
  if (!is_running()) return;  // Start() will look
  const int saved_errno = errno;
  CompleteModules();
  errno = saved_errno;
}

// Never waits for the lock: its holder may wait for one of the loader's that
// this thread has. The holder looks again for those who came meanwhile.
void Session::CompleteModules() {
  const collectors::SignalBlock signals;
  wants_module_look_.store(true);
  while (wants_module_look_.load() && module_lock_.Try()) {
    wants_module_look_.store(false);
    if (unwinder_.CompleteLaterModules(FilesIfAllowed())) {
      has_loaded_by_name_.store(false);
    }
    module_lock_.Unlock();
  }
}

}  // namespace unspool::profiler
