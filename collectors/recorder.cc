#include "collectors/recorder.h"

#include <sys/syscall.h>

#include "collectors/optional_calls.h"
#include "unwind/arch/arch.h"
#include "unwind/stack_audit.h"

namespace unspool::collectors {
namespace {

// Only its own thread adds; others may read.
void Add(std::atomic<uint64_t>& counter, uint64_t amount) {
  counter.store(counter.load(std::memory_order_relaxed) + amount,
                std::memory_order_relaxed);
}

// Multiples of the golden ratio fall into each 1,024th of the range equally
// often, after 610 to 1,597 others; where a thread begins is up to where its
// state was mapped.
bool IsAuditDue(const ThreadState& thread) {
  constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;  // times 2^64
  const uint64_t start = reinterpret_cast<uintptr_t>(&thread) >> 12;
  // With those that found no room, or one of them would be due at each tick.
  const uint64_t ticks = thread.samples.load(std::memory_order_relaxed) +
                         thread.losses.load(std::memory_order_relaxed);
  return (start + ticks) * kGoldenRatio >> (64 - 10) == 0;
}

const unwind::Module* FindModule(void* unwinder, unwind::ModuleId id) {
  return static_cast<const unwind::SelfUnwinder*>(unwinder)->FindModule(id);
}

}  // namespace

long Recorder::PresentDirectory(char* out, size_t room) {
  return IsAllowed(OptionalCall::kFiles)
             ? unwind::RawSyscall(SYS_getcwd, reinterpret_cast<long>(out),
                                  static_cast<long>(room))
             : 0;
}

void Recorder::Begin(unwind::SelfUnwinder& unwinder, SpoolWriter& writer) {
  unwinder_ = &unwinder;
  writer_ = &writer;
  writer.SetModules({&FindModule, &unwinder, &PresentDirectory});
}

void Recorder::AddThread(ThreadState& thread, int32_t tid) {
  writer_->AddThread(thread.log, tid, "");
  thread.memo.Forget();
  thread.path.count = 0;  // its nodes may be another image's
}

// Inlined: the deepest path of a tick leads through it.
[[gnu::always_inline]] inline bool Recorder::AddSample(const Capture& capture,
                                                       SampleKind kind,
                                                       uint64_t weight) {
  ThreadState& thread = *capture.thread;
  const unwind::WalkResult walk = unwinder_->Walk(
      capture.registers, capture.stack, thread.scratch, thread.memo);
  const std::span<const unwind::Frame> frames =
      thread.memo.frames().first(walk.depth);
  const NodeId stack =
      IsAuditDue(thread)
          ? AddAudited(capture, frames, walk.end)
          : writer_->AddStack(frames, walk.end, thread.path, walk.same);
  return stack != 0 && writer_->AddSample(thread.log, kind, stack, weight);
}

[[gnu::hot]] void Recorder::Record(const Capture& capture, SampleKind kind,
                                   uint64_t weight) {
  ThreadState& thread = *capture.thread;
  // A thread is often named a moment after it began: look again after 0, 1, 3,
  // 7… samples.
  const uint64_t samples = thread.samples.load(std::memory_order_relaxed);
  if ((samples & (samples + 1)) == 0) LookAtOwnName(thread);
  if (AddSample(capture, kind, weight)) {
    Add(thread.samples, 1);
    Add(thread.weight_ns, weight);
  } else {
    RecordLoss(thread, LossCause::kFull, weight);
  }
}

// Not inlined: the deepest path of a tick does not lead through it.
[[gnu::noinline]] void Recorder::LookAtOwnName(ThreadState& thread) {
  TaskName name{};
  if (ReadOwnTaskName(name)) UpdateName(thread, name);
}

NodeId Recorder::AddAudited(const Capture& capture,
                            std::span<const unwind::Frame> frames,
                            unwind::WalkEnd end) {
  ThreadState& thread = *capture.thread;
  const std::span<unwind::Frame> again = thread.audit_frames();
  const uint64_t wrong_before = thread.scratch.counters.wrong_rules;
  const unwind::WalkResult walk =
      unwinder_->Walk(capture.registers, capture.stack, thread.scratch, again,
                      unwind::SelfUnwinder::RuleUse::kFresh);
  writer_->AddAudit(
      unwind::CompareWalks(frames, end, again.first(walk.depth), walk.end,
                           thread.scratch.counters.wrong_rules - wrong_before));
  thread.memo.Forget();  // it gets no nodes, and may be what is wrong
  return writer_->AddStack(again.first(walk.depth), walk.end);
}

NodeId Recorder::AddStack(const unwind::Registers& registers,
                          const unwind::StackBounds& bounds,
                          unwind::WalkScratch& scratch,
                          std::span<unwind::Frame> room) {
  const unwind::WalkResult walk =
      unwinder_->Walk(registers, bounds, scratch, room);
  const std::span<const unwind::Frame> frames = room.first(walk.depth);
  return writer_->AddStack(frames, walk.end);
}

void Recorder::RecordLoss(ThreadState& thread, LossCause cause,
                          uint64_t weight) {
  writer_->AddLoss(thread.log, cause, weight);
  Add(thread.losses, 1);
  Add(thread.weight_ns, weight);
}

void Recorder::RecordUnsampled(ThreadState& thread, uint64_t weight_ns) {
  writer_->AddUnsampled(thread.log, weight_ns);
}

void Recorder::UpdateName(ThreadState& thread, const TaskName& name) {
  if (name == thread.name) return;
  thread.name = name;
  writer_->SetThreadName(thread.log, name.data());
}

}  // namespace unspool::collectors
