// The recording calls: all of this runs in the signal handler.

#include "collectors/spool/spool_writer.h"

#include <bit>

#include "collectors/spool/atomic_access.h"

namespace unspool::collectors {

namespace {

constexpr size_t kNameWords = std::size(ThreadLog{}.name_words);

uint64_t* NameWords(ThreadRecord* record) {
  return reinterpret_cast<uint64_t*>(record->name);
}

struct Name {
  uint64_t words[kNameWords] = {};
};

// The first 15 bytes; the rest is zero.
Name CutName(const char* text) {
  char bytes[sizeof(Name)] = {};
  for (size_t i = 0; i < sizeof(bytes) - 1 && text[i] != '\0'; ++i) {
    bytes[i] = text[i];
  }
  return std::bit_cast<Name>(bytes);
}

}  // namespace

void SpoolWriter::NoteEnd(uint64_t monotonic_ns, uint64_t cpu_ns) {
  StoreRelaxed(image_->end_monotonic_ns, monotonic_ns);
  StoreRelaxed(image_->end_cpu_ns, cpu_ns);
}

bool SpoolWriter::sampling_wanted() const {
  return chunks_.is_mapped() && LoadAcquire(chunks_.control()->sampling) != 0;
}

bool SpoolWriter::AddModule(unwind::ModuleId id, const unwind::Module& module) {
  return modules_.Add(chunks_, id, module);
}

void SpoolWriter::AddThread(ThreadLog& log, int32_t tid, const char* name) {
  log.tid = tid;
  SetThreadName(log, name);
}

void SpoolWriter::SetThreadName(ThreadLog& log, const char* name) {
  const Name cut = CutName(name);
  ThreadRecord* record = log.record.load(std::memory_order_acquire);
  for (size_t i = 0; i < kNameWords; ++i) {
    StoreRelaxed(log.name_words[i], cut.words[i]);
    if (record != nullptr) StoreRelaxed(NameWords(record)[i], cut.words[i]);
  }
}

NodeId SpoolWriter::AddStack(std::span<const unwind::Frame> frames,
                             unwind::WalkEnd end) {
  NodeId node = RootNode(end);
  for (size_t i = frames.size(); i > 0 && node != 0; --i) {
    const unwind::Frame& frame = frames[i - 1];
    uint32_t module =
        (frame.exact ? kNodeExact : 0) | (frame.guessed ? kNodeGuessed : 0);
    uint64_t offset = frame.pc;
    uint64_t bias = 0;
    if (modules_.FindBias(frame.module, &bias)) {
      module |= frame.module;
      offset -= bias;
    } else {
      module |= kNodeNoModule;
    }
    node = stacks_.FindOrAdd(chunks_, node, module, offset);
  }
  return node;
}

bool SpoolWriter::AddSample(ThreadLog& log, SampleKind kind, NodeId stack,
                            uint64_t weight) {
  if (stack == 0) return false;
  CounterSlot* slot = FindOrAddSlot(log, kind, stack);
  if (slot == nullptr) return false;
  // One writer: plain increments, atomic only against torn reads.
  StoreRelaxed(slot->count, LoadRelaxed(slot->count) + 1);
  StoreRelaxed(slot->weight, LoadRelaxed(slot->weight) + weight);
  StoreRelease(slot->node, stack);
  return true;
}

void SpoolWriter::AddLoss(ThreadLog& log, LossCause cause, uint64_t weight) {
  ThreadRecord* record = FindOrAddRecord(log);
  LossCounter* losses = record != nullptr ? record->losses : image_->losses;
  LossCounter& loss = losses[static_cast<size_t>(cause)];
  FetchAdd(loss.count, 1);
  FetchAdd(loss.weight, weight);
}

void SpoolWriter::AddUnsampled(ThreadLog& log, uint64_t weight_ns) {
  ThreadRecord* record = FindOrAddRecord(log);
  if (record == nullptr) return AddLoss(log, LossCause::kFull, weight_ns);
  FetchAdd(record->unsampled_ns, weight_ns);
}

ThreadRecord* SpoolWriter::FindOrAddRecord(ThreadLog& log) {
  ThreadRecord* record = log.record.load(std::memory_order_acquire);
  if (record != nullptr) return record;
  uint8_t* chunk = chunks_.Allocate(1);
  if (chunk == nullptr) return nullptr;
  auto* ours = reinterpret_cast<ThreadRecord*>(chunk + sizeof(ChunkHeader));
  ours->tid = log.tid;
  for (size_t i = 0; i < kNameWords; ++i) {
    StoreRelaxed(NameWords(ours)[i], LoadRelaxed(log.name_words[i]));
  }
  // A loss may be counted by another thread, or by a tick inside a tick: one of
  // the two wins, and the other's page stays a hole.
  if (!log.record.compare_exchange_strong(record, ours,
                                          std::memory_order_acq_rel)) {
    return record;
  }
  chunks_.Publish(chunk, ChunkType::kThread, 1, /*owner=*/0);
  return ours;
}

bool SpoolWriter::AddCounterLevel(ThreadLog& log) {
  const uint32_t level = log.level_count;
  if (level == kMaxCounterLevels) return false;
  ThreadRecord* record = FindOrAddRecord(log);
  if (record == nullptr) return false;
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

// As in StackTree's index: one window of eight slots per level, in level order,
// up to the first free slot. A free slot is returned with its key in place but
// for `node`.
CounterSlot* SpoolWriter::FindOrAddSlot(ThreadLog& log, SampleKind kind,
                                        NodeId stack) {
  constexpr uint32_t kWindowSlots = 8;
  const auto wanted_kind = static_cast<uint16_t>(kind);
  uint64_t hash = uint64_t{wanted_kind} << 32 | stack;
  for (uint32_t level = 0;; ++level) {
    if (level == log.level_count && !AddCounterLevel(log)) return nullptr;
    // Node ids come in even steps: each level mixes anew, or a level on which
    // they fall together would be followed by another.
    hash = (hash ^ (hash >> 32)) * 0x9e3779b97f4a7c15u;
    const CounterLevel slots = log.levels[level];
    // The high half, scaled to the range of window starts.
    const uint64_t windows = slots.size() - kWindowSlots + 1;
    CounterSlot* window = &slots[((hash >> 32) * windows) >> 32];
    for (uint32_t i = 0; i < kWindowSlots; ++i) {
      CounterSlot& slot = window[i];
      if (slot.node == stack && slot.kind == wanted_kind) return &slot;
      if (slot.node == 0) {
        slot.kind = wanted_kind;
        return &slot;
      }
    }
  }
}

}  // namespace unspool::collectors
