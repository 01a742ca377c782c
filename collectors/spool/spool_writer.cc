// The recording calls: all of this runs in the signal handler.

#include "collectors/spool/spool_writer.h"

#include <cstring>

#include "collectors/spool/atomic_access.h"

namespace unspool::collectors {

namespace {

uint64_t* NameWordsOf(ThreadRecord* record) {
  return reinterpret_cast<uint64_t*>(record->name);
}

bool IsNamed(const ThreadLog& log, const NameWords& name) {
  bool is_same = true;
  for (size_t i = 0; i < NameWords::kCount; ++i) {
    is_same = is_same && LoadRelaxed(log.name_words[i]) == name.words[i];
  }
  return is_same;
}

// What is recorded from now on gets a record of the thread's own. For the
// thread itself, or while it cannot record.
void LeaveShared(ThreadLog& log) {
  const ThreadRecord* record = log.record.load(std::memory_order_relaxed);
  if (record == nullptr || LoadRelaxed(record->tid) != 0) return;
  log.left.store(nullptr, std::memory_order_relaxed);
  log.record.store(nullptr, std::memory_order_release);
  log.level_count = 0;
}

}  // namespace

void SpoolWriter::NoteEnd(uint64_t monotonic_ns, uint64_t cpu_ns) {
  ImageRecord* image = image_.Find();
  if (image == nullptr) return;
  StoreRelaxed(image->end_monotonic_ns, monotonic_ns);
  StoreRelaxed(image->end_cpu_ns, cpu_ns);
}

[[gnu::hot]] void SpoolWriter::NoteTime(uint64_t monotonic_ns) {
  constexpr uint64_t kLateNs = 100'000'000;
  uint64_t& seen = chunks_.control()->seen_monotonic_ns;
  if (monotonic_ns >= LoadRelaxed(seen) + kLateNs) {
    StoreRelaxed(seen, monotonic_ns);
  }
}

[[gnu::hot]] bool SpoolWriter::sampling_wanted() const {
  return chunks_.is_mapped() && LoadAcquire(chunks_.control()->sampling) != 0;
}

bool SpoolWriter::AddModule(unwind::ModuleId id, const unwind::Module& module) {
  return modules_.Add(chunks_, id, module, module_source_.directory);
}

bool SpoolWriter::IsFirstToSay(uint32_t subject) {
  const uint32_t bit = uint32_t{1} << (subject % 32);
  return (FetchOr(chunks_.control()->said, bit) & bit) == 0;
}

void SpoolWriter::AddAudit(unwind::AuditFinding finding) {
  FetchAdd(chunks_.control()->audits[static_cast<size_t>(finding)], 1);
}

void SpoolWriter::AddThread(ThreadLog& log, int32_t tid, const char* name) {
  if (log.generation != generation_) {
    memset(static_cast<void*>(&log), 0, sizeof(log));
    log.generation = generation_;
  }
  ThreadRecord* record = log.record.load(std::memory_order_relaxed);
  if (record != nullptr) {
    const bool is_short = log.samples <= kFewSamples;
    log.left.store(is_short ? record : nullptr, std::memory_order_relaxed);
    log.left_level_count = log.level_count;
    log.record.store(nullptr, std::memory_order_relaxed);
  }
  log.level_count = 0;
  log.samples = 0;
  log.tid = tid;
  SetThreadName(log, name);
}

void SpoolWriter::SetThreadName(ThreadLog& log, const char* name) {
  const NameWords cut = CutName(name);
  if (!IsNamed(log, cut)) LeaveShared(log);
  ThreadRecord* record = log.record.load(std::memory_order_acquire);
  for (size_t i = 0; i < NameWords::kCount; ++i) {
    StoreRelaxed(log.name_words[i], cut.words[i]);
    if (record != nullptr) StoreRelaxed(NameWordsOf(record)[i], cut.words[i]);
  }
  if (log.tid == image_.pid() && *name != '\0') image_.SetComm(cut);
}

void SpoolWriter::SetModules(const ModuleSource& modules) {
  module_source_ = modules;
  if (has_recorded()) AddProgram();
}

void SpoolWriter::AddProgram() {
  uint64_t bias = 0;
  FindOrAddBias(/*id=*/0, &bias);
}

[[gnu::hot]] bool SpoolWriter::FindOrAddBias(unwind::ModuleId id,
                                             uint64_t* bias) {
  if (modules_.FindBias(id, bias)) return true;
  if (id == unwind::kNoModule || module_source_.find == nullptr) return false;
  const unwind::Module* module =
      module_source_.find(module_source_.context, id);
  return module != nullptr &&
         modules_.Add(chunks_, id, *module, module_source_.directory) &&
         modules_.FindBias(id, bias);
}

[[gnu::always_inline]] inline void SpoolWriter::SetFrame(
    const unwind::Frame& frame, ModuleBias& last, PathNode* node) {
  if (frame.module != last.id) {
    last.id = frame.module;
    last.is_known = FindOrAddBias(frame.module, &last.bias);
  }
  const uint32_t flags =
      (frame.exact ? kNodeExact : 0) | (frame.guessed ? kNodeGuessed : 0);
  node->offset = last.is_known ? frame.pc - last.bias : frame.pc;
  node->module_and_flags =
      flags | (last.is_known ? frame.module : kNodeNoModule);
}

NodeId SpoolWriter::AddStack(std::span<const unwind::Frame> frames,
                             unwind::WalkEnd end) {
  StackPath none;
  return AddStack(frames, end, none, 0);
}

[[gnu::hot]] NodeId SpoolWriter::AddStack(std::span<const unwind::Frame> frames,
                                          unwind::WalkEnd end, StackPath& path,
                                          size_t same) {
  constexpr size_t kAtOnce = 16;
  PathNode unkept[kAtOnce];
  const std::span<PathNode> nodes = path.nodes;
  const size_t known = CountKnown(frames, end, path, same);
  path.count = frames.size();
  path.end = end;
  PathNode caller = known == 0 ? StackTree::Root(end) : nodes[known - 1];
  auto left = frames.first(frames.size() - known);
  ModuleBias module;
  while (!left.empty()) {
    const size_t count = left.size() < kAtOnce ? left.size() : kAtOnce;
    const auto part = nodes.empty()
                          ? std::span(unkept).first(count)
                          : nodes.subspan(frames.size() - left.size(), count);
    for (size_t i = 0; i < count; ++i) {
      SetFrame(left[left.size() - 1 - i], module, &part[i]);
    }
    stacks_.FindOrAdd(chunks_, caller, part);
    caller = part.back();
    left = left.first(left.size() - count);
  }
  return caller.id;
}

// How many outer frames have the nodes that `path` has: by what they are, as
// the same functions may have been called at other places of the stack.
[[gnu::hot]] size_t SpoolWriter::CountKnown(
    std::span<const unwind::Frame> frames, unwind::WalkEnd end,
    const StackPath& path, size_t same) {
  if (path.end != end) return 0;
  const size_t count = path.count < frames.size() ? path.count : frames.size();
  size_t known = same < count ? same : count;
  // Where there was no room, there may be now.
  while (known != 0 && path.nodes[known - 1].id == 0) --known;
  ModuleBias module;
  for (; known < count; ++known) {
    PathNode frame;
    SetFrame(frames[frames.size() - 1 - known], module, &frame);
    const PathNode& node = path.nodes[known];
    if (node.id == 0 || node.offset != frame.offset ||
        node.module_and_flags != frame.module_and_flags) {
      break;
    }
  }
  return known;
}

[[gnu::hot]] bool SpoolWriter::AddSample(ThreadLog& log, SampleKind kind,
                                         NodeId stack, uint64_t weight) {
  if (stack == 0) return false;
  if (log.samples++ == kFewSamples) LeaveShared(log);
  CounterSlot* slot = FindOrAddSlot(log, kind, stack);
  if (slot == nullptr) return false;
  // One writer: plain increments, atomic only against torn reads.
  StoreRelaxed(slot->count, LoadRelaxed(slot->count) + 1);
  StoreRelaxed(slot->weight, LoadRelaxed(slot->weight) + weight);
  StoreRelease(slot->node, stack);
  return true;
}

void SpoolWriter::AddLoss(ThreadLog& log, LossCause cause, uint64_t weight) {
  LossCounter& loss = LossOf(log, cause);
  FetchAdd(loss.count, 1);
  FetchAdd(loss.weight, weight);
}

// In the thread's record, else in the image's, else with those of all images
// that have none.
LossCounter& SpoolWriter::LossOf(ThreadLog& log, LossCause cause) {
  ThreadRecord* record = FindOrAddRecord(log);
  if (record != nullptr) return record->losses[static_cast<size_t>(cause)];
  ImageRecord* image = image_.Find();
  if (image != nullptr) return image->losses[static_cast<size_t>(cause)];
  return chunks_.control()->lost;
}

void SpoolWriter::AddUnsampled(ThreadLog& log, uint64_t weight_ns) {
  ThreadRecord* record = FindOrAddRecord(log);
  if (record == nullptr) return AddLoss(log, LossCause::kFull, weight_ns);
  FetchAdd(record->unsampled_ns, weight_ns);
}

ThreadRecord* SpoolWriter::FindOrAddRecord(ThreadLog& log) {
  ThreadRecord* record = log.record.load(std::memory_order_acquire);
  if (record == nullptr) record = TakeOver(log);
  if (record != nullptr) return record;
  if (!has_recorded()) {
    if (image_.FindOrAdd(chunks_) == nullptr) return nullptr;
    AddProgram();
  }
  uint8_t* chunk = chunks_.Allocate(1);
  if (chunk == nullptr) return nullptr;
  auto* ours = reinterpret_cast<ThreadRecord*>(chunk + sizeof(ChunkHeader));
  ours->tid = log.tid;
  for (size_t i = 0; i < NameWords::kCount; ++i) {
    StoreRelaxed(NameWordsOf(ours)[i], LoadRelaxed(log.name_words[i]));
  }
  // A loss may be counted by another thread, or by a tick inside a tick: one of
  // the two wins, and the other's page stays a hole.
  if (!log.record.compare_exchange_strong(record, ours,
                                          std::memory_order_acq_rel)) {
    return record;
  }
  chunks_.Publish(chunk, ChunkType::kThread, 1, /*owner=*/0);
  records_.fetch_add(1, std::memory_order_relaxed);
  return ours;
}

// The record that a thread of this name left, from now on both's and nobody's;
// nullptr: there is none, or no need.
ThreadRecord* SpoolWriter::TakeOver(ThreadLog& log) {
  ThreadRecord* left = log.left.load(std::memory_order_relaxed);
  if (left == nullptr || log.samples > kFewSamples ||
      records_.load(std::memory_order_relaxed) < kOwnRecords) {
    return nullptr;
  }
  NameWords name;
  for (size_t i = 0; i < NameWords::kCount; ++i) {
    name.words[i] = LoadRelaxed(NameWordsOf(left)[i]);
  }
  if (!IsNamed(log, name)) return nullptr;
  StoreRelaxed(left->tid, 0);
  ThreadRecord* record = nullptr;
  return log.record.compare_exchange_strong(record, left,
                                            std::memory_order_acq_rel)
             ? left
             : record;
}

bool SpoolWriter::AddCounterLevel(ThreadLog& log) {
  const uint32_t level = log.level_count;
  if (level == kMaxCounterLevels) return false;
  ThreadRecord* record = FindOrAddRecord(log);
  if (record == nullptr) return false;
  if (level == 0 && log.left_level_count != 0 &&
      record == log.left.load(std::memory_order_relaxed)) {
    log.level_count = log.left_level_count;
    return true;
  }
  uint8_t* slots = reinterpret_cast<uint8_t*>(record + 1);
  size_t size = kSpoolPageSize - kThreadSlotsOffset;
  if (level > 0) {
    const uint32_t pages = CounterLevelPages(level);
    uint8_t* chunk = chunks_.Allocate(pages);
    if (chunk == nullptr) return false;
    const uint8_t* owner =
        reinterpret_cast<uint8_t*>(record) - sizeof(ChunkHeader);
    chunks_.Publish(chunk, ChunkType::kCounters, pages,
                    chunks_.OffsetOf(owner));
    slots = chunk + sizeof(ChunkHeader);
    size = pages * kSpoolPageSize - sizeof(ChunkHeader);
  }
  log.levels[level] = {reinterpret_cast<CounterSlot*>(slots),
                       size / sizeof(CounterSlot)};
  log.level_count = level + 1;
  return true;
}

// A key has one window of eight slots per level. Most counters are on the last
// level, so that is where look-up begins, and where new ones go if their window
// has room. One of a stack that is new to the thread is nowhere yet: it touches
// no other level.
[[gnu::hot]] CounterSlot* SpoolWriter::FindOrAddSlot(ThreadLog& log,
                                                     SampleKind kind,
                                                     NodeId stack) {
  const auto wanted_kind = static_cast<uint16_t>(kind);
  const bool is_new = stack > log.newest;
  CounterSlot* free = nullptr;
  if (log.level_count == 0 && !AddCounterLevel(log)) return nullptr;
  for (uint32_t level = log.level_count; level-- > 0;) {
    for (CounterSlot& slot : CounterWindow(log, level, wanted_kind, stack)) {
      if (slot.node == stack && slot.kind == wanted_kind) return &slot;
      if (slot.node == 0) {
        if (free == nullptr) free = &slot;
        break;
      }
    }
    if (is_new && free != nullptr) break;
  }
  if (free == nullptr) {
    if (!AddCounterLevel(log)) return nullptr;
    free = &CounterWindow(log, log.level_count - 1, wanted_kind, stack)[0];
  }
  StoreRelaxed(free->kind, wanted_kind);  // readers look before it counts
  if (is_new) log.newest = stack;
  return free;
}

// Node ids come in even steps: each level mixes anew, or a level on which they
// fall together would be followed by another.
[[gnu::hot]] CounterLevel SpoolWriter::CounterWindow(ThreadLog& log,
                                                     uint32_t level,
                                                     uint16_t kind,
                                                     NodeId stack) {
  constexpr uint32_t kWindowSlots = 8;
  const uint64_t key = (uint64_t{kind} << 32 | stack) + (uint64_t{level} << 48);
  uint64_t hash = key * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15u;
  const CounterLevel slots = log.levels[level];
  // The high half, scaled to the range of window starts.
  const uint64_t windows = slots.size() - kWindowSlots + 1;
  return slots.subspan(((hash >> 32) * windows) >> 32, kWindowSlots);
}

}  // namespace unspool::collectors
