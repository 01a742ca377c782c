// The recording's layout in bytes, shared by writer and reader. FORMAT.md in
// this folder says the same in words and drawings, and is the reference.
//
// A spool is one sparse file: a header page, a control page, then chunks. It is
// mapped whole by who writes, and it is complete at every instant: a writer
// that dies by SIGKILL loses nothing that was recorded. Little-endian, natural
// alignment, no padding that is not named.

#ifndef UNSPOOL_COLLECTORS_SPOOL_SPOOL_FORMAT_H_
#define UNSPOOL_COLLECTORS_SPOOL_SPOOL_FORMAT_H_

#include <cstddef>
#include <cstdint>

#include "unwind/frame.h"

namespace unspool::collectors {

inline constexpr uint64_t kSpoolMagic = 0x314c4f4f50534e55;  // "UNSPOOL1"
inline constexpr uint32_t kSpoolVersion = 1;
inline constexpr size_t kSpoolPageSize = 4096;
inline constexpr uint64_t kFirstChunkPage = 2;

// Page 0. Written once by who creates the file, but for next_free_page.
struct SpoolHeader {
  uint64_t magic;
  uint32_t version;
  uint32_t header_size;     // sizeof(SpoolHeader)
  uint64_t capacity_pages;  // of the whole file
  uint64_t next_free_page;  // atomic bump allocator, starts at kFirstChunkPage
};
static_assert(sizeof(SpoolHeader) == 32);
static_assert(offsetof(SpoolHeader, version) == 8);
static_assert(offsetof(SpoolHeader, header_size) == 12);
static_assert(offsetof(SpoolHeader, capacity_pages) == 16);
static_assert(offsetof(SpoolHeader, next_free_page) == 24);

struct LossCounter {
  uint64_t count;   // atomic: ticks
  uint64_t weight;  // atomic: what they stood for
};
static_assert(sizeof(LossCounter) == 16);

// Page 1: the handshake between tool and agent.
struct SpoolControl {
  uint32_t sampling;    // atomic: 1 = sample, 0 = the tool asked to stop (-d)
  uint32_t next_image;  // atomic: images that have opened this spool
  LossCounter lost;     // of images that found no room for their record
  uint32_t said;        // atomic: what a process has told the user, by bit
  uint32_t modules;     // atomic: module records written, by all images
  uint64_t audits[8];   // atomic: stacks walked twice, by AuditFinding
  uint64_t seen_monotonic_ns;  // atomic: when something recorded; 0: never
  uint64_t reserved[3];
  uint64_t free_runs[64];  // atomic: pages to take again (PageRun); 0: none
};
static_assert(sizeof(SpoolControl) == 640);
static_assert(offsetof(SpoolControl, free_runs) == 128);
static_assert(offsetof(SpoolControl, audits) == 32);
static_assert(offsetof(SpoolControl, seen_monotonic_ns) == 96);
static_assert(offsetof(SpoolControl, said) == 24);
static_assert(offsetof(SpoolControl, modules) == 28);
static_assert(offsetof(SpoolControl, next_image) == 4);
static_assert(offsetof(SpoolControl, lost) == 8);

// Pages of the file. As one word, so that whoever takes some of them leaves the
// rest by a compare-and-swap.
struct PageRun {
  static constexpr unsigned kCountBits = 24;
  static constexpr uint64_t kMostPages = (uint64_t{1} << kCountBits) - 1;

  uint64_t first = 0;
  uint64_t pages = 0;  // <= kMostPages where it is to be a word

  static constexpr PageRun FromWord(uint64_t word) {
    return {word >> kCountBits, word & kMostPages};
  }
  constexpr uint64_t word() const { return first << kCountBits | pages; }
  constexpr uint64_t end() const { return first + pages; }
};

// An image is one program in one process: a new one starts at exec (and, when
// process trees are followed, at fork). Every chunk but the image's own belongs
// to exactly one.
enum class ChunkType : uint16_t {
  kFree = 0,
  kImage = 1,     // ImageRecord and strings: who ran, how it was sampled
  kModules = 2,   // a run of ModuleRecord
  kNodes = 3,     // stack tree nodes, fixed size
  kThread = 4,    // ThreadRecord, then CounterSlots to the chunk's end
  kCounters = 5,  // more CounterSlots of one thread
  // Reserved from version 1; a reader of version 1 skips them.
  kTimeline = 6,
  kLabelSets = 7,
  kCode = 8,
  kStrings = 9,
  // Of images that ended, condensed:
  kArchive = 10,         // ArchivedImage records
  kArchivedNodes = 11,   // owner: the chunk's number, from 0
  kArchivedFrames = 12,  // the same
};

// Begins every chunk, on a page boundary. `magic` is written last: without it
// the page is a hole that a writer left when it died, and the next page is
// looked at.
inline constexpr uint32_t kChunkMagic = 0x4b4e4843;  // "CHNK"
struct ChunkHeader {
  uint32_t magic;
  uint16_t type;  // ChunkType
  uint16_t reserved;
  uint32_t image;   // index, as given out by SpoolControl::next_image
  uint32_t pages;   // whole size, this header included
  uint64_t offset;  // of this header in the file
  uint64_t owner;   // kNodes: chunk number of the image, from 0.
                    // kCounters: file offset of the thread's kThread chunk
};
static_assert(sizeof(ChunkHeader) == 32);
static_assert(offsetof(ChunkHeader, type) == 4);
static_assert(offsetof(ChunkHeader, image) == 8);
static_assert(offsetof(ChunkHeader, pages) == 12);
static_assert(offsetof(ChunkHeader, offset) == 16);
static_assert(offsetof(ChunkHeader, owner) == 24);

enum class SampleKind : uint8_t {
  kCpu = 1,     // weight: nanoseconds of CPU time
  kWall = 2,    // reserved: nanoseconds of wall-clock time
  kOffCpu = 3,  // nanoseconds that a thread did not run
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
  kNoTimer = 4,  // the kernel gave the thread no timer (RLIMIT_SIGPENDING)
};
inline constexpr size_t kLossCauseCount = 5;
inline constexpr size_t kLossSlots = 8;  // room for causes to come

// Bytes of the chunk that holds the reference.
struct ChunkBytes {
  uint32_t offset;  // from the chunk's start
  uint32_t size;
};

// What the time between two samples is measured in, and their weights.
enum class SampleClock : uint32_t {
  kCpu = 1,   // CPU time of threads that run
  kWall = 2,  // wall-clock time of every thread, kCpu and kOffCpu samples
};

// Follows the ChunkHeader of a kImage chunk; the strings follow it.
struct ImageRecord {
  int32_t pid;
  int32_t parent_pid;
  uint64_t start_realtime_ns;   // CLOCK_REALTIME
  uint64_t start_monotonic_ns;  // CLOCK_MONOTONIC
  uint64_t period_ns;
  uint64_t end_monotonic_ns;  // atomic; 0: it did not say
  uint64_t end_cpu_ns;        // atomic; 0: it did not say
  ChunkBytes engine;
  ChunkBytes executable;
  ChunkBytes command_line;  // arguments, each ended by NUL
  ChunkBytes hostname;
  uint32_t clock;          // SampleClock
  uint32_t pid_namespace;  // in which pid and parent_pid count; 0: unknown
  char comm[16];  // the process's name last seen; NUL-padded, may be torn
  LossCounter losses[kLossSlots];  // of threads that have no record
};
static_assert(sizeof(ImageRecord) == 232);
static_assert(offsetof(ImageRecord, start_realtime_ns) == 8);
static_assert(offsetof(ImageRecord, start_monotonic_ns) == 16);
static_assert(offsetof(ImageRecord, period_ns) == 24);
static_assert(offsetof(ImageRecord, end_monotonic_ns) == 32);
static_assert(offsetof(ImageRecord, end_cpu_ns) == 40);
static_assert(offsetof(ImageRecord, engine) == 48);
static_assert(offsetof(ImageRecord, executable) == 56);
static_assert(offsetof(ImageRecord, command_line) == 64);
static_assert(offsetof(ImageRecord, hostname) == 72);
static_assert(offsetof(ImageRecord, clock) == 80);
static_assert(offsetof(ImageRecord, pid_namespace) == 84);
static_assert(offsetof(ImageRecord, comm) == 88);
static_assert(offsetof(ImageRecord, losses) == 104);

// One module in a kModules chunk, on a kModuleAlign boundary. `magic` is
// written last; where it is missing, the next boundary is looked at. The record
// is followed by segments (ModuleSegment), build id, and path (no NUL).
inline constexpr uint32_t kModuleMagic = 0x444f4d55;  // "UMOD"
inline constexpr size_t kModuleAlign = 32;
enum ModuleFlags : uint16_t {
  kModuleMain = 1,
  kModuleVdso = 2,
  kModuleLibcOrLoader = 4,
  kModuleRegistered = 8,  // no file: the path is the name of code
};
struct ModuleRecord {
  uint32_t magic;
  uint32_t size;  // of the whole, a multiple of kModuleAlign
  uint32_t id;    // < kMaxModules, unique in its image
  uint16_t flags;
  uint16_t path_size;
  uint64_t start;  // mapped range, [start, end)
  uint64_t end;
  uint64_t bias;  // run-time address minus ELF virtual address
  uint8_t segment_count;
  uint8_t build_id_size;
  uint8_t reserved[6];
};
static_assert(sizeof(ModuleRecord) == 48);
static_assert(offsetof(ModuleRecord, id) == 8);
static_assert(offsetof(ModuleRecord, flags) == 12);
static_assert(offsetof(ModuleRecord, path_size) == 14);
static_assert(offsetof(ModuleRecord, start) == 16);
static_assert(offsetof(ModuleRecord, end) == 24);
static_assert(offsetof(ModuleRecord, bias) == 32);
static_assert(offsetof(ModuleRecord, segment_count) == 40);
static_assert(offsetof(ModuleRecord, build_id_size) == 41);

struct ModuleSegment {
  uint64_t start;  // run-time addresses
  uint64_t end;
  uint64_t file_offset;  // of `start`
};
static_assert(sizeof(ModuleSegment) == 24);

inline constexpr uint32_t kMaxModules = 1u << 20;

// A frame of the stack tree: its path to the root is a stack. `parent`, the
// caller's node, is written last and is always smaller than the node's own id.
inline constexpr uint32_t kNodeModuleMask = 0x00ffffff;
inline constexpr uint32_t kNodeNoModule = 0x00ffffff;
inline constexpr uint32_t kNodeExact = 1u << 24;    // unwind::Frame::exact
inline constexpr uint32_t kNodeGuessed = 1u << 25;  // unwind::Frame::guessed
struct StackNode {
  uint32_t parent;            // node id; 0: this node was never completed
  uint32_t module_and_flags;  // module id in the low 24 bits
  uint64_t offset;  // Frame::pc minus the module's bias; Frame::pc if no module
};
static_assert(sizeof(StackNode) == 16);
static_assert(offsetof(StackNode, module_and_flags) == 4);
static_assert(offsetof(StackNode, offset) == 8);

// Node ids. 0 is none; the roots say how the walk ended; then the nodes of the
// image's kNodes chunks, in the order of their numbers.
using NodeId = uint32_t;
inline constexpr uint32_t kFirstNode = 16;
inline constexpr uint32_t kMaxNodes = 1u << 26;  // ids are below
constexpr uint32_t RootNode(unwind::WalkEnd end) {
  return 1 + static_cast<uint32_t>(end);
}
// Stands for a stack: of a thread that could run, and waited for a CPU.
inline constexpr uint32_t kRunnableNode = kFirstNode - 1;
static_assert(RootNode(static_cast<unwind::WalkEnd>(unwind::kWalkEndCount)) <=
              kRunnableNode);

// kNodes chunk 0 is small, so that a short program takes little; all others are
// as large as kNodeChunkPages.
inline constexpr uint32_t kFirstNodeChunkPages = 1;
inline constexpr uint32_t kNodeChunkPages = 16;
constexpr uint32_t NodeChunkPages(uint64_t number) {
  return number == 0 ? kFirstNodeChunkPages : kNodeChunkPages;
}
constexpr uint32_t NodesPerChunk(uint64_t number) {
  return (NodeChunkPages(number) * kSpoolPageSize - sizeof(ChunkHeader)) /
         sizeof(StackNode);
}
struct NodePlace {
  uint32_t chunk;  // number
  uint32_t slot;   // index in it
};
// Where node `id` ≥ kFirstNode lives. Async-signal-safe.
constexpr NodePlace PlaceOfNode(uint32_t id) {
  const uint32_t index = id - kFirstNode;
  if (index < NodesPerChunk(0)) return {0, index};
  const uint32_t rest = index - NodesPerChunk(0);
  return {1 + rest / NodesPerChunk(1), rest % NodesPerChunk(1)};
}
static_assert(NodesPerChunk(0) == 254 && NodesPerChunk(1) == 4094);

// One (stack, kind, label set) of one thread. `node` is written last; 0: free.
struct CounterSlot {
  uint32_t node;
  uint16_t kind;  // SampleKind
  uint16_t reserved;
  uint32_t label_set;  // 0: none; sets come with kLabelSets
  uint32_t reserved2;
  uint64_t count;   // samples
  uint64_t weight;  // their sum, in the kind's unit
};
static_assert(sizeof(CounterSlot) == 32);
static_assert(offsetof(CounterSlot, kind) == 4);
static_assert(offsetof(CounterSlot, label_set) == 8);
static_assert(offsetof(CounterSlot, count) == 16);
static_assert(offsetof(CounterSlot, weight) == 24);

// Follows the ChunkHeader of a kThread chunk; CounterSlots fill the rest.
struct ThreadRecord {
  int32_t tid;
  uint32_t reserved;
  char name[16];          // name last seen; NUL-padded, may be torn
  uint64_t unsampled_ns;  // atomic: CPU time that no sample stands for
  LossCounter losses[kLossSlots];
};
static_assert(sizeof(ThreadRecord) == 160);
static_assert(offsetof(ThreadRecord, name) == 8);
static_assert(offsetof(ThreadRecord, unsampled_ns) == 24);
static_assert(offsetof(ThreadRecord, losses) == 32);

// What frames of archived stacks are: numbered from 0 through kArchivedFrames.
struct ArchivedFrame {
  uint64_t offset;
  uint32_t module_and_flags;  // as in a StackNode
  uint32_t reserved;
};
static_assert(sizeof(ArchivedFrame) == 16);
static_assert(offsetof(ArchivedFrame, module_and_flags) == 8);

// Their nodes: ids as those of StackNodes, from kFirstNode through
// kArchivedNodes.
struct ArchivedNode {
  uint32_t parent;  // written last; 0: never completed
  uint32_t frame;
};
static_assert(sizeof(ArchivedNode) == 8);
static_assert(offsetof(ArchivedNode, frame) == 4);

// Of both kinds of chunks, of kNodeChunkPages each.
template <typename Record>
constexpr uint32_t RecordsPerChunk() {
  return (kNodeChunkPages * kSpoolPageSize - sizeof(ChunkHeader)) /
         sizeof(Record);
}

// An image that ended, in a kArchive chunk, on multiples of kArchiveAlign.
// `magic` is written last. Stacks and modules are those of the image that the
// chunk is of, which has no record of its own. Then come the threads.
inline constexpr uint32_t kArchiveMagic = 0x43524155;  // "UARC"
inline constexpr size_t kArchiveAlign = 8;
struct ArchivedImage {
  uint32_t magic;
  uint32_t size;   // of the whole, a multiple of kArchiveAlign
  uint32_t image;  // index; what else there is of that image does not count
  int32_t pid;
  uint32_t pid_namespace;
  uint32_t clock;  // SampleClock
  uint64_t start_realtime_ns;
  uint64_t start_monotonic_ns;
  uint64_t period_ns;
  uint64_t end_monotonic_ns;
  uint64_t end_cpu_ns;
  char comm[16];     // never empty: else its executable's
  uint32_t threads;  // how many
  uint32_t reserved;
  LossCounter losses[kLossSlots];
};
static_assert(sizeof(ArchivedImage) == 216);
static_assert(offsetof(ArchivedImage, start_realtime_ns) == 24);
static_assert(offsetof(ArchivedImage, comm) == 64);
static_assert(offsetof(ArchivedImage, threads) == 80);
static_assert(offsetof(ArchivedImage, losses) == 88);

// Followed by its counters and padding to kArchiveAlign. A counter is varints
// (varint.h): of its leaf's caller, the node id minus that of the counter
// before; LeafBits() × 2, and 1 if the next but one is kArchivedSingle and left
// out; the leaf's offset minus that of the leaf before, zigzag; count × 8 +
// kind; the weight minus count × period, zigzag. A leaf is mostly seen once,
// and then smaller than a node.
struct ArchivedThread {
  ThreadRecord record;
  uint32_t counters;      // how many
  uint32_t counter_size;  // their bytes
};
static_assert(sizeof(ArchivedThread) == 168);
static_assert(offsetof(ArchivedThread, counters) == 160);
inline constexpr unsigned kArchivedKindBits = 3;
inline constexpr uint64_t kArchivedSingle =
    uint64_t{1} << kArchivedKindBits | static_cast<uint64_t>(SampleKind::kCpu);
// A leaf's module and flags, so that most of them take a byte; 0: there is no
// leaf, and the counter's node is the stack.
constexpr uint64_t LeafBits(uint32_t module_and_flags) {
  const uint64_t module = module_and_flags & kNodeModuleMask;
  const uint64_t number = module == kNodeNoModule ? 0 : module + 1;
  return (number << 2 | (module_and_flags >> 24 & 3)) + 1;
}

inline constexpr size_t kThreadSlotsOffset =
    sizeof(ChunkHeader) + sizeof(ThreadRecord);
static_assert((kSpoolPageSize - kThreadSlotsOffset) % sizeof(CounterSlot) == 0);

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_SPOOL_FORMAT_H_
