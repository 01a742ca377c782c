#include "unwind/later_modules.h"

#include <dlfcn.h>
#include <link.h>

#include <cstring>
#include <new>

#include "unwind/hash_bytes.h"
#include "unwind/module_path.h"

namespace unspool::unwind {
namespace {

// Of a module's first page: program headers, and the notes behind them.
constexpr size_t kImprintBytes = 1024;

// False if the bytes are not there.
bool TakeImprint(uint64_t start, std::span<uint8_t> buffer, uint64_t* imprint) {
  const std::span<uint8_t> bytes = buffer.first(kImprintBytes);
  if (CopyFromSelf(start, bytes) != bytes.size()) return false;
  *imprint = HashBytes(bytes, kHashSeed);
  return true;
}

// Longer paths are kept by their beginning in fingerprints.
constexpr size_t kMaxPath = 512;

// The public head of a link_map: address, name, dynamic section.
bool CopyLinkMap(uint64_t address, link_map* map) {
  const std::span bytes(reinterpret_cast<uint8_t*>(map), sizeof(*map));
  return CopyFromSelf(address, bytes) == sizeof(*map);
}

std::span<const uint8_t> UpToNul(std::span<const uint8_t> text) {
  size_t length = 0;
  while (length < text.size() && text[length] != '\0') ++length;
  return text.first(length);
}

uint32_t HashPlace(const LaterModules::Place& place) {
  const uint64_t hash =
      (place.start ^ place.end << 20) / kPageSize * 0x9e3779b97f4a7c15;
  return static_cast<uint32_t>(hash >> 32);
}

}  // namespace

std::span<const uint8_t> CopiedSource::Window(uint64_t address, size_t size) {
  if (size > buffer_.size()) size = buffer_.size();
  const AddressRange range = ClipToLoads(module_, address, size);
  if (range.size == 0) return {};
  return buffer_.first(CopyFromSelf(address, buffer_.first(range.size)));
}

void LaterModules::Configure(FindObjectFunction find_object,
                             ModuleId first_id) {
  find_object_ = find_object;
  first_id_ = first_id;
}

bool LaterModules::FindObject(uint64_t pc, Identity* identity) const {
  dl_find_object object;
  if (find_object_ == nullptr ||
      find_object_(reinterpret_cast<void*>(pc), &object) != 0) {
    return false;
  }
  identity->place = {reinterpret_cast<uint64_t>(object.dlfo_map_start),
                     reinterpret_cast<uint64_t>(object.dlfo_map_end),
                     reinterpret_cast<uint64_t>(object.dlfo_eh_frame)};
  identity->link_map = reinterpret_cast<uint64_t>(object.dlfo_link_map);
  return true;
}

// No unload is under way; *generation is the number of those that there were.
bool LaterModules::IsQuiet(uint64_t* generation) const {
  *generation = unloads_begun_.load();
  return unloads_ended_.load() == *generation;
}

bool LaterModules::IsVerified(const Record& record, uint64_t link_map,
                              uint64_t generation, uint64_t imprint) {
  return record.verified.load(std::memory_order_acquire) == generation &&
         record.link_map.load(std::memory_order_relaxed) == link_map &&  // I4
         record.imprint == imprint;
}

// The first published record of `place` for which matches(record).
template <class Matches>
LaterModules::Record* LaterModules::Probe(const Place& place,
                                          Matches&& matches) {
  const uint32_t hash = HashPlace(place);
  for (uint32_t i = 0; i < kMaxProbes; ++i) {
    const uint32_t number =
        buckets_[(hash + i) % kBuckets].load(std::memory_order_acquire);  // I2
    if (number == 0) return nullptr;
    Record* record = &records_[number - 1];
    if (record->place == place && matches(*record)) return record;
  }
  return nullptr;
}

// The record whose fingerprint was compared in this generation, and whose
// imprint is still what is there.
LaterModules::Record* LaterModules::FindVerified(const Identity& identity,
                                                 WalkScratch& scratch) {
  uint64_t generation = 0;
  uint64_t imprint = 0;
  if (!IsQuiet(&generation) ||
      !TakeImprint(identity.place.start, scratch.window, &imprint)) {
    return nullptr;
  }
  return Probe(identity.place, [&](const Record& record) {
    return IsVerified(record, identity.link_map, generation, imprint);
  });
}

LaterModules::Found LaterModules::Find(uint64_t pc, WalkScratch& scratch) {
  for (size_t i = 0; i < scratch.checked_count; ++i) {
    const CheckedModule& checked = scratch.checked[i];
    if (checked.start <= pc && pc < checked.end) {
      return {Get(checked.id), checked.id};
    }
  }
  Identity identity;
  if (!FindObject(pc, &identity)) return {};
  const Record* record = FindVerified(identity, scratch);
  if (record == nullptr) record = FindOrAdd(identity, pc, scratch);
  if (record == nullptr) return {};
  const ModuleId id = IdOf(record);
  if (scratch.checked_count < WalkScratch::kMaxCheckedModules) {
    scratch.checked[scratch.checked_count++] = {identity.place.start,
                                                identity.place.end, id};
  }
  return {Get(id), id};
}

// Compares fingerprints, describes the module if it is new, and notes the
// generation in which all that was true.
LaterModules::Record* LaterModules::FindOrAdd(const Identity& identity,
                                              uint64_t pc,
                                              WalkScratch& scratch) {
  uint64_t generation = 0;
  const bool quiet = IsQuiet(&generation);
  Prints prints;
  if (!TakePrints(identity, scratch, &prints)) return nullptr;
  const auto is_same = [&](const Record& record) {
    return record.fingerprint == prints.fingerprint;
  };
  Record* record = Probe(identity.place, is_same);
  const bool is_new = record == nullptr;
  if (is_new && !Describe(identity, scratch)) return nullptr;
  // Were these copies of one module, the one that is there now?
  Identity now;
  Prints prints_now;
  if (!FindObject(pc, &now) || now != identity ||
      !TakePrints(identity, scratch, &prints_now) || prints_now != prints) {
    ++scratch.counters.gone_modules;
    return nullptr;
  }
  if (is_new) record = Add(identity.place, prints, scratch);
  uint64_t generation_now = 0;
  if (record != nullptr && quiet && IsQuiet(&generation_now) &&
      generation_now == generation) {
    record->link_map.store(identity.link_map, std::memory_order_relaxed);
    record->verified.store(generation, std::memory_order_release);  // I4
  }
  return record;
}

// The path, the ELF header's page, where linkers put the build id, and the
// beginning of the search table: which functions there are and how long. The
// path alone tells libraries apart that differ only in what is not loaded, such
// as the names of their static functions.
bool LaterModules::TakePrints(const Identity& identity, WalkScratch& scratch,
                              Prints* prints) const {
  constexpr size_t kTableBytes = 1024;
  const std::span<uint8_t> buffer(scratch.window);
  link_map map;
  if (!CopyLinkMap(identity.link_map, &map)) return false;
  const size_t path = CopyFromSelf(reinterpret_cast<uint64_t>(map.l_name),
                                   buffer.first(kMaxPath));
  uint64_t& fingerprint = prints->fingerprint;
  fingerprint = HashBytes(UpToNul(buffer.first(path)), kHashSeed);
  const size_t header = CopyFromSelf(identity.place.start, buffer);
  if (header < kImprintBytes) return false;
  prints->imprint = HashBytes(buffer.first(kImprintBytes), kHashSeed);
  fingerprint = HashBytes(buffer.first(header), fingerprint);
  if (identity.place.eh_frame_hdr == 0) return true;
  const size_t table =
      CopyFromSelf(identity.place.eh_frame_hdr, buffer.first(kTableBytes));
  fingerprint = HashBytes(buffer.first(table), fingerprint);
  return table != 0;
}

// Copies the program headers of the module at `start` to scratch.headers.
bool LaterModules::ReadHeaders(uint64_t start, WalkScratch& scratch,
                               std::span<const Elf64_Phdr>* headers) const {
  const size_t size = CopyFromSelf(start, scratch.window);
  const auto bytes = std::span<const uint8_t>(scratch.window).first(size);
  Elf64_Ehdr header;
  if (!ParseElfHeader(bytes, &header) || header.e_phoff > size ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return false;
  }
  size_t count = (size - header.e_phoff) / sizeof(Elf64_Phdr);
  if (count > header.e_phnum) count = header.e_phnum;
  if (count > scratch.headers.size()) count = scratch.headers.size();
  std::memcpy(scratch.headers.data(), bytes.data() + header.e_phoff,
              count * sizeof(Elf64_Phdr));
  *headers = std::span(scratch.headers).first(count);
  return true;
}

// Fills scratch.described from copies of the module, and scratch.page with its
// path. False if it cannot be read.
bool LaterModules::Describe(const Identity& identity, WalkScratch& scratch) {
  link_map map;
  if (!CopyLinkMap(identity.link_map, &map)) return false;
  scratch.page.size =
      CopyFromSelf(reinterpret_cast<uint64_t>(map.l_name), scratch.page.bytes);
  // In place: a temporary would be most of this function's stack.
  LoadedModule& loaded = *new (&scratch.described) LoadedModule();
  std::span<const Elf64_Phdr> headers;
  if (!ReadHeaders(identity.place.start, scratch, &headers) ||
      !DescribeSegments(headers, map.l_addr, &loaded) ||
      loaded.module.start != identity.place.start) {
    return false;
  }
  CopiedSource source(loaded, scratch.window);
  DescribeContents(source, &loaded);
  return true;
}

// Publishes scratch.described. nullptr if there is no room.
LaterModules::Record* LaterModules::Add(const Place& place,
                                        const Prints& prints,
                                        WalkScratch& scratch) {
  if (claimed_.load(std::memory_order_relaxed) >= kCapacity) return nullptr;
  const uint32_t number = claimed_.fetch_add(1, std::memory_order_relaxed);
  if (number >= kCapacity) return nullptr;
  Record* record = &records_[number];
  record->place = place;
  record->fingerprint = prints.fingerprint;
  record->imprint = prints.imprint;
  record->verified.store(~uint64_t{0}, std::memory_order_relaxed);
  record->loaded = scratch.described;
  Module& module = record->loaded.module;
  module.path =
      KeepPath(std::span(scratch.page.bytes).first(scratch.page.size));
  module.is_libc_or_loader = IsLibcOrLoaderPath(module.path);
  scratch.page.size = 0;                                 // no page any more
  record->ready.store(true, std::memory_order_release);  // I1
  Publish(record);
  return record;
}

// Makes the record findable. If the buckets near its place are taken, it stays
// valid by its id, and the module is described anew next time.
void LaterModules::Publish(Record* record) {
  const uint32_t number = static_cast<uint32_t>(record - records_.data()) + 1;
  const uint32_t hash = HashPlace(record->place);
  for (uint32_t i = 0; i < kMaxProbes; ++i) {
    uint32_t expected = 0;
    if (buckets_[(hash + i) % kBuckets].compare_exchange_strong(
            expected, number, std::memory_order_release,
            std::memory_order_relaxed)) {  // I2
      return;
    }
  }
}

// Copies up to the NUL; "" if there is none, or no room.
const char* LaterModules::KeepPath(std::span<const uint8_t> path) {
  const size_t length = UpToNul(path).size();
  if (length == path.size()) return "";
  const auto size = static_cast<uint32_t>(length + 1);
  if (path_bytes_used_.load(std::memory_order_relaxed) > kPathBytes - size) {
    return "";
  }
  const uint32_t offset =
      path_bytes_used_.fetch_add(size, std::memory_order_relaxed);
  if (offset > kPathBytes - size) return "";
  std::memcpy(&paths_[offset], path.data(), size);
  return &paths_[offset];
}

bool LaterModules::IsStillThere(ModuleId id, WalkScratch& scratch) {
  const LoadedModule* loaded = Get(id);
  if (loaded == nullptr) return false;
  const Record& record = records_[id - first_id_];
  Identity now;
  if (!FindObject(loaded->module.start, &now) || now.place != record.place) {
    return false;
  }
  uint64_t generation = 0;
  uint64_t imprint = 0;
  if (IsQuiet(&generation) &&
      TakeImprint(now.place.start, scratch.window, &imprint) &&
      IsVerified(record, now.link_map, generation, imprint)) {
    return true;
  }
  Prints prints;
  return TakePrints(now, scratch, &prints) &&
         prints.fingerprint == record.fingerprint;
}

const LoadedModule* LaterModules::Get(ModuleId id) const {
  if (id < first_id_ || id - first_id_ >= kCapacity) return nullptr;
  const Record& record = records_[id - first_id_];
  if (!record.ready.load(std::memory_order_acquire)) return nullptr;  // I1
  const LoadedModule* completed =
      record.completed.load(std::memory_order_acquire);  // I5
  return completed != nullptr ? completed : &record.loaded;
}

bool LaterModules::Complete(ModuleId id, const LoadedModule* module) {
  const LoadedModule* none = nullptr;
  return records_[id - first_id_].completed.compare_exchange_strong(
      none, module, std::memory_order_release,
      std::memory_order_relaxed);  // I5
}

bool LaterModules::IsCompleted(ModuleId id) const {
  return records_[id - first_id_].completed.load(std::memory_order_relaxed) !=
         nullptr;
}

uint32_t LaterModules::count() const {
  const uint32_t claimed = claimed_.load(std::memory_order_relaxed);
  return claimed < kCapacity ? claimed : kCapacity;
}

ModuleId LaterModules::IdOf(const Record* record) const {
  return first_id_ + static_cast<ModuleId>(record - records_.data());
}

}  // namespace unspool::unwind
