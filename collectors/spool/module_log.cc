// Recording modules: runs in the handler, once per module.

#include "collectors/spool/module_log.h"

#include <cstring>
#include <span>

#include "collectors/spool/atomic_access.h"

namespace unspool::collectors {

namespace {

constexpr size_t kMaxPath = 4095;  // PATH_MAX without its NUL

constexpr uint32_t RoundUp(uint32_t size, uint32_t unit) {
  return (size + unit - 1) / unit * unit;
}

uint16_t PathSize(const char* path) {
  size_t size = 0;
  while (size < kMaxPath && path[size] != '\0') ++size;
  return static_cast<uint16_t>(size);
}

// The loader keeps the name that dlopen(3) was given, which may be relative.
bool IsRelative(const unwind::Module& module) {
  return !module.is_vdso && !module.is_registered && module.path[0] != '/' &&
         module.path[0] != '\0';
}

// The room that the path may take.
uint16_t PathRoom(const unwind::Module& module, DirectoryFunction directory) {
  return IsRelative(module) && directory != nullptr ? kMaxPath
                                                    : PathSize(module.path);
}

// Its size. A relative path is taken to be below the present directory, which
// is where it was loaded from, unless the program went elsewhere since.
uint16_t CopyPath(const unwind::Module& module, DirectoryFunction directory,
                  uint16_t room, char* out) {
  const uint16_t size = PathSize(module.path);
  size_t before = 0;
  if (room > size) {
    const long cwd = directory(out, room);
    // With its NUL, whose place the slash takes. Not "(unreachable)…".
    if (cwd > 0 && out[0] == '/' && static_cast<size_t>(cwd) + size <= room) {
      before = static_cast<size_t>(cwd);
      out[before - 1] = '/';
    }
  }
  memcpy(out + before, module.path, size);
  return static_cast<uint16_t>(before + size);
}

uint16_t FlagsOf(const unwind::Module& module) {
  return (module.is_main ? kModuleMain : 0) |
         (module.is_vdso ? kModuleVdso : 0) |
         (module.is_registered ? kModuleRegistered : 0) |
         (module.is_libc_or_loader ? kModuleLibcOrLoader : 0);
}

uint8_t* AppendSegments(std::span<const unwind::Segment> segments,
                        uint8_t* out) {
  for (const unwind::Segment& segment : segments) {
    const ModuleSegment copy{segment.start, segment.end, segment.file_offset};
    memcpy(out, &copy, sizeof(copy));
    out += sizeof(copy);
  }
  return out;
}

// Everything but the size and the magic.
void FillRecord(unwind::ModuleId id, const unwind::Module& module,
                DirectoryFunction directory, uint16_t path_room,
                ModuleRecord* record) {
  record->id = id;
  record->flags = FlagsOf(module);
  record->start = module.start;
  record->end = module.end;
  record->bias = module.bias;
  record->segment_count = module.segment_count;
  record->build_id_size = module.build_id.size;
  uint8_t* out = reinterpret_cast<uint8_t*>(record + 1);
  out = AppendSegments({module.segments.data(), module.segment_count}, out);
  memcpy(out, module.build_id.bytes.data(), module.build_id.size);
  out += module.build_id.size;
  record->path_size =
      CopyPath(module, directory, path_room, reinterpret_cast<char*>(out));
}

}  // namespace

bool ModuleLog::Add(ChunkAllocator& chunks, unwind::ModuleId id,
                    const unwind::Module& module, DirectoryFunction directory) {
  uint64_t* biases =
      id < kMaxModules ? biases_.FindOrMap(kMaxModules) : nullptr;
  if (biases == nullptr) return false;
  uint64_t expected = 0;
  // Invariant 1: whoever sets the bias writes the record.
  if (!CompareExchange(biases[id], &expected, module.bias << 1 | 1)) {
    return true;
  }
  const uint16_t path_room = PathRoom(module, directory);
  const uint32_t size = RoundUp(
      sizeof(ModuleRecord) + module.segment_count * sizeof(ModuleSegment) +
          module.build_id.size + path_room,
      kModuleAlign);
  uint8_t* place = Reserve(chunks, size);
  if (place == nullptr) {
    StoreRelease(biases[id], 0);
    return false;
  }
  auto* record = reinterpret_cast<ModuleRecord*>(place);
  record->size = size;
  FillRecord(id, module, directory, path_room, record);
  StoreRelease(record->magic, kModuleMagic);  // invariant 2
  FetchAdd(chunks.control()->modules, 1);
  return true;
}

// `size` bytes of the current chunk, or of a new one. Lock-free.
uint8_t* ModuleLog::Reserve(ChunkAllocator& chunks, uint32_t size) {
  uint64_t tail = tail_.load(std::memory_order_acquire);
  while (tail != 0) {
    const uint64_t chunk = (tail >> 32) * kSpoolPageSize;
    const uint32_t used = static_cast<uint32_t>(tail);
    // A chunk is one page, or one record that needs more.
    if (used > kSpoolPageSize || size > kSpoolPageSize - used) break;
    if (tail_.compare_exchange_weak(tail, tail + size,
                                    std::memory_order_acq_rel)) {
      return chunks.At(chunk + used);
    }
  }
  constexpr uint32_t kFirst = RoundUp(sizeof(ChunkHeader), kModuleAlign);
  const uint32_t pages =
      RoundUp(kFirst + size, kSpoolPageSize) / kSpoolPageSize;
  uint8_t* chunk = chunks.Allocate(pages);
  if (chunk == nullptr) return nullptr;
  chunks.Publish(chunk, ChunkType::kModules, pages, /*owner=*/0);
  // If another thread was faster, the rest of our page stays empty.
  tail_.compare_exchange_strong(
      tail, (chunks.OffsetOf(chunk) / kSpoolPageSize) << 32 | (kFirst + size),
      std::memory_order_acq_rel);
  return chunk + kFirst;
}

void ModuleLog::Reset(bool unmap) {
  biases_.Reset(unmap, kMaxModules);
  tail_.store(0, std::memory_order_relaxed);
}

bool ModuleLog::FindBias(unwind::ModuleId id, uint64_t* bias) const {
  const uint64_t* biases = biases_.Find();
  if (id >= kMaxModules || biases == nullptr) return false;
  const uint64_t entry = LoadRelaxed(biases[id]);
  // Arithmetic shift: a module may be loaded below its linked address.
  *bias = static_cast<uint64_t>(static_cast<int64_t>(entry) >> 1);
  return entry != 0;
}

}  // namespace unspool::collectors
