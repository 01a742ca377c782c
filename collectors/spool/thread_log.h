// What one thread records into: where its record and counters are in the spool.
// Lives outside the spool; owned by the caller, all zero before its first
// AddThread. One after the other, many threads may have it.

#ifndef UNSPOOL_COLLECTORS_SPOOL_THREAD_LOG_H_
#define UNSPOOL_COLLECTORS_SPOOL_THREAD_LOG_H_

#include <atomic>
#include <cstdint>
#include <span>

#include "collectors/spool/spool_format.h"

namespace unspool::collectors {

// A run of counter slots. Level 0 is the rest of the thread's own page; then
// come 16 KiB, 64 KiB, 256 KiB, 1 MiB, and 4 MiB each: a larger one would hold
// up its thread for milliseconds while it is populated. All levels together
// keep 7.8 million stacks of one thread.
using CounterLevel = std::span<CounterSlot>;
inline constexpr uint32_t kMaxCounterLevels = 64;
constexpr uint32_t CounterLevelPages(uint32_t level) {
  return level == 0 ? 1 : level > 4 ? 1024 : 4u << (2 * (level - 1));
}

// Invariant 1: `record` is set once, by whoever first has something to record
//   (release; acquire elsewhere). A thread without samples takes no page.
// Invariant 2: `name_words` are loaded and stored word by word, relaxed; a name
//   made of two is possible and harmless.
// Invariant 3: `levels`, `level_count`, `samples` and `newest` belong to the
//   thread that samples.
// Invariant 4: `levels` have no counter of a stack that is newer than `newest`,
//   as ids ascend. It stays when another thread has the log.
// Invariant 5: `left` is what the thread before left in `levels`: taken over by
//   this one (it is then `record`, too, and its tid is 0), or not.
struct ThreadLog {
  uint32_t generation = 0;  // of the writer's opening that it is for
  int32_t tid = 0;
  uint64_t name_words[2] = {};  // ThreadRecord::name, for atomic access
  std::atomic<ThreadRecord*> record = nullptr;
  uint32_t samples = 0;      // this thread's
  NodeId newest = 0;         // of all stacks that were counted
  uint32_t level_count = 0;  // 0: level 0 was not looked at yet
  std::atomic<ThreadRecord*> left = nullptr;
  uint32_t left_level_count = 0;
  CounterLevel levels[kMaxCounterLevels] = {};
};

// Threads with more samples than that keep a record of their own.
inline constexpr uint32_t kFewSamples = 64;
// So many records a thread of few samples gets for itself, too. From then on it
// goes on in that of one before it with the same name, if that has ended: a
// program that starts threads for ever does not fill the spool.
inline constexpr uint32_t kOwnRecords = 1024;

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_THREAD_LOG_H_
