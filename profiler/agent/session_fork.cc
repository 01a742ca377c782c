// The recording in a forked child, and before exec.

#include <errno.h>
#include <unistd.h>

#include "profiler/agent/agent_note.h"
#include "profiler/agent/session.h"

namespace unspool::profiler {

// Runs in every forked child, before the program does: must be cheap. Signals
// of the program wait, because a handler may call exit().
void Session::AfterForkInChild() {
  const int saved_errno = errno;
  const collectors::SignalBlock signals;
  // Other threads of the parent may have held them.
  lock_.ForgetAfterFork();
  unwinder_.registered_code().Unlock();
  module_lock_.ForgetAfterFork();
  is_first_process_ = false;
  if (is_recording_ && !ContinueAfterFork(signals.previous())) {
    ForgetAfterFork();
  }
  errno = saved_errno;
}

// Under `unspool record` into the same spool, which is still mapped; otherwise
// into one of its own. False: no room, or sampling is over; then there is
// nobody to tell.
bool Session::ContinueAfterFork(const sigset_t& own_mask) {
  if (!follows_children_) return false;
  facts_.NoteFork();
  facts_.set_lazy(true);
  output_.text[0] = '\0';
  if (is_for_tool_) {
    writer_.BeginAfterFork(facts_.info());
  } else {
    spool_path_[0] = '\0';
    writer_.ForgetAfterFork();
    if (!OpenOwnSpool().ok()) return false;
    recorder_.Begin(unwinder_, writer_);
  }
  wall_clock_.ForgetAfterFork();
  thread_finder_.ForgetAfterFork();
  return StartHelper(own_mask).ok() && engine_.ContinueAfterFork(helper_tid());
}

// Everything is off until the child starts a recording of its own.
void Session::ForgetAfterFork() {
  is_recording_ = false;
  SetSampling(false);
  if (!is_for_tool_ && spool_path_[0] != '\0' && follows_children_) {
    unlink(spool_path_);
  }
  spool_path_[0] = '\0';
  writer_.ForgetAfterFork();
  engine_.ForgetAfterFork();
  wall_clock_.ForgetAfterFork();
  thread_finder_.ForgetAfterFork();
}

void Session::PrepareExec() {
  engine_.NoteBeforeExec();
  if (!is_running() || is_for_tool_ || is_first_process_ || is_resumed_ ||
      writer_.has_recorded() || spool_path_[0] == '\0') {
    return;
  }
  unlink(spool_path_);
  spool_path_[0] = '\0';
}

}  // namespace unspool::profiler
