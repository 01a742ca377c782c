// From an interruption to a sample in the spool: the end of the signal fence.

#ifndef UNSPOOL_COLLECTORS_RECORDER_H_
#define UNSPOOL_COLLECTORS_RECORDER_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectors/capture.h"
#include "collectors/spool/spool_format.h"
#include "collectors/spool/spool_writer.h"
#include "collectors/thread_state.h"
#include "unwind/self_unwinder.h"

namespace unspool::collectors {

// The one way in which every engine records. Any number of threads at once, one
// call per ThreadState.
class Recorder {
 public:
  constexpr Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Begins with an open `writer`, and an `unwinder` after Init(); both outlive
  // the recording. A module is recorded with the first frame in it.
  // Not async-signal-safe: nothing may record at that time.
  void Begin(unwind::SelfUnwinder& unwinder, SpoolWriter& writer);

  // Begins the log of thread `tid`, whose name is found out with its first
  // sample. Async-signal-safe.
  void AddThread(ThreadState& thread, int32_t tid);

  // Walks the captured thread's stack and adds a sample of `weight` (in the
  // kind's unit) for it; counts a loss where the spool has no room. Outer
  // frames that are those of the thread's last sample are neither walked nor
  // looked up again. About one stack in 1,024 is walked again whole, without
  // the rule cache; what that finds is counted, and is what is recorded.
  // Async-signal-safe.
  void Record(const Capture& capture, SampleKind kind, uint64_t weight);

  // Walks a stack of this process from `registers` and adds it to the spool,
  // with the modules that it needs; `bounds` as for SelfUnwinder::Walk, `room`
  // for its frames. 0: no room in the spool. Async-signal-safe.
  NodeId AddStack(const unwind::Registers& registers,
                  const unwind::StackBounds& bounds,
                  unwind::WalkScratch& scratch, std::span<unwind::Frame> room);

  // Counts a sample that was not taken. Async-signal-safe.
  void RecordLoss(ThreadState& thread, LossCause cause, uint64_t weight);

  // Adds CPU time that no sample stands for. Async-signal-safe.
  void RecordUnsampled(ThreadState& thread, uint64_t weight_ns);

  // Gives the spool the thread's name, if it changed. Async-signal-safe; on the
  // thread itself, or while it cannot record.
  void UpdateName(ThreadState& thread, const TaskName& name);

  // Notes that the program lives. Async-signal-safe.
  void NoteTime(uint64_t monotonic_ns) { writer_->NoteTime(monotonic_ns); }

  // False once the tool asked to stop. Async-signal-safe.
  bool sampling_wanted() const { return writer_->sampling_wanted(); }

 private:
  bool AddSample(const Capture& capture, SampleKind kind, uint64_t weight);
  void LookAtOwnName(ThreadState& thread);
  NodeId AddAudited(const Capture& capture,
                    std::span<const unwind::Frame> frames, unwind::WalkEnd end);
  static long PresentDirectory(char* out, size_t room);

  unwind::SelfUnwinder* unwinder_ = nullptr;
  SpoolWriter* writer_ = nullptr;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_RECORDER_H_
