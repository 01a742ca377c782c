// The record of the image that this process writes: prepared at start, put into
// the spool by whoever first has something to record. A process that records
// nothing takes nothing of the spool.

#ifndef UNSPOOL_COLLECTORS_SPOOL_IMAGE_LOG_H_
#define UNSPOOL_COLLECTORS_SPOOL_IMAGE_LOG_H_

#include <atomic>
#include <cstdint>
#include <span>

#include "collectors/spool/chunk_allocator.h"
#include "collectors/spool/spool_format.h"

namespace unspool::collectors {

// Facts of an image.
struct ImageInfo {
  int32_t pid = 0;
  int32_t parent_pid = 0;
  uint32_t pid_namespace = 0;       // where they count; 0: unknown
  uint64_t start_realtime_ns = 0;   // CLOCK_REALTIME
  uint64_t start_monotonic_ns = 0;  // CLOCK_MONOTONIC
  uint64_t period_ns = 0;
  SampleClock clock = SampleClock::kCpu;
  char comm[16] = {};           // the process's name; ends in NUL
  bool is_lazy = false;         // also where it is the spool's first
  const char* engine = "";      // "timer"
  const char* executable = "";  // absolute path
  // As in /proc/self/cmdline: arguments separated and ended by NUL.
  std::span<const char> command_line;
};

// A name of at most 15 bytes as words, for atomic access.
struct NameWords {
  static constexpr size_t kCount = 2;
  uint64_t words[kCount] = {};
};
// The first 15 bytes; the rest is zero. Async-signal-safe.
NameWords CutName(const char* text);

// Invariant 1: record_ is set once (release) to a record that is complete and
//   published; acquire elsewhere.
class ImageLog {
 public:
  constexpr ImageLog() = default;
  ImageLog(const ImageLog&) = delete;
  ImageLog& operator=(const ImageLog&) = delete;

  // Keeps the facts, the strings cut to 4096 bytes each and the command line to
  // 8192. Not async-signal-safe: asks for the host's name.
  void Prepare(const ImageInfo& info);
  // For a forked child, whose strings are its parent's: takes the rest of
  // `info`. Async-signal-safe.
  void PrepareAfterFork(const ImageInfo& info);
  void Reset();

  // nullptr: nothing was recorded yet. Async-signal-safe.
  ImageRecord* Find() const { return record_.load(std::memory_order_acquire); }
  // nullptr: no room. Async-signal-safe; any number of threads.
  ImageRecord* FindOrAdd(ChunkAllocator& chunks);

  // The name last seen counts. Async-signal-safe; any thread.
  void SetComm(const NameWords& name);

  int32_t pid() const { return info_.pid; }

 private:
  static constexpr size_t kTexts = 4;
  static constexpr size_t kMaxCommandLine = 8192;
  static constexpr size_t kMaxText = 4096;
  using Text = std::span<const char>;

  void KeepFacts(const ImageInfo& info);
  uint8_t* Fill(ChunkAllocator& chunks, uint32_t pages);

  ImageInfo info_;      // without its strings: these are in bytes_
  Text texts_[kTexts];  // engine, executable, command line, host
  // Copies: the record may be written long after the caller's are gone.
  char bytes_[3 * kMaxText + kMaxCommandLine] = {};
  NameWords comm_;
  std::atomic<ImageRecord*> record_{nullptr};
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_IMAGE_LOG_H_
