// The recording's layout in bytes, shared by writer and reader. FORMAT.md in
// this folder is the same in words and drawings, and is the reference.
//
// A spool is one sparse file: a header page, a control page, then chunks. It is
// mapped whole by who writes, and it is complete at every instant: a writer that
// dies by SIGKILL loses nothing that was recorded.
// Little-endian, natural alignment, no padding that is not named.

#ifndef UNSPOOL_COLLECTORS_SPOOL_SPOOL_FORMAT_H_
#define UNSPOOL_COLLECTORS_SPOOL_SPOOL_FORMAT_H_

#include <cstddef>
#include <cstdint>

namespace unspool::collectors {

inline constexpr uint64_t kSpoolMagic = 0x314c4f4f50534e55;  // "UNSPOOL1"
inline constexpr uint32_t kSpoolVersion = 1;
inline constexpr size_t kSpoolPageSize = 4096;

// Page 0. Written once by who creates the file, but for next_free_page.
struct SpoolHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t header_size;      // sizeof(SpoolHeader)
  uint64_t capacity_pages;   // of the whole file
  uint64_t next_free_page;   // atomic bump allocator; first chunk is at page 2
};

// Page 1: the handshake between tool and agent.
struct SpoolControl {
  uint32_t sampling;   // atomic: 1 = sample, 0 = the tool asked to stop (-d)
  uint32_t next_image; // atomic: images that have opened this spool
};

// An image is one program in one process: a new one starts at exec (and, when
// process trees are followed, at fork). Every chunk but the image's own belongs
// to exactly one.
enum class ChunkType : uint16_t {
  kFree = 0,
  kImage = 1,     // ImageRecord and strings: who ran, how it was sampled
  kModules = 2,   // a run of ModuleRecord
  kNodes = 3,     // stack tree nodes, fixed size
  kThread = 4,    // ThreadRecord: tid, name, loss counters of one thread
  kCounters = 5,  // CounterSlot hash levels of one thread
  // Reserved from version 1; a reader of version 1 skips them.
  kTimeline = 6,
  kLabelSets = 7,
  kCode = 8,
  kStrings = 9,
};

enum class SampleKind : uint8_t {
  kCpu = 1,   // weight: nanoseconds of CPU time
  kWall = 2,  // reserved: nanoseconds of wall-clock time
  kOffCpu = 3,
  kAlloc = 4,
  kLock = 5,
};

// Why a sample, or its stack, is not in the recording. Names are those of the
// "[lost: …]" pseudo-frames.
enum class LossCause : uint8_t {
  kFull = 0,     // no room in the spool
  kReentry = 1,  // a tick inside our own handler
  kBlocked = 2,  // the thread had the signal blocked
  kNoStack = 3,  // too little stack left for our handler
};
inline constexpr size_t kLossCauseCount = 4;

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_SPOOL_FORMAT_H_
