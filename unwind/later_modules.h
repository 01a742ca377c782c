// Modules that were loaded after the snapshot, found and described from inside
// a signal handler.
//
// Another thread may unload such a module at any moment, so none of its bytes
// is ever read by a plain load: they are copied by process_vm_readv, and what
// was made of a copy counts only if _dl_find_object(3) names the same object at
// the same place afterwards.
//
// That is not enough to know a module again. malloc and mmap reuse addresses: a
// different library of equal size may get the same range and the same link_map.
// So every walk looks once at the first kilobyte of each later module that it
// meets (its imprint, which has the build id); and all that tells libraries
// apart (the fingerprint: path, first page, beginning of the search table) is
// compared again when an unload was announced since, or is under way, or the
// link_map is another.
//
// Invariants
//   I1. A record is written by the thread that claimed it, and not changed
//       after it is published (`ready` stored with release, loaded with
//       acquire), but for I4 and I5.
//   I2. A bucket goes from 0 to a record's number once, by CAS (release), after
//       that record is ready.
//   I3. An id is never reused. What comes back at the same place with the same
//       fingerprint is the same module, and gets the same id.
//   I4. `link_map` and `verified` say for which link_map and in which unload
//       generation the fingerprint was last compared. They are stored after the
//       comparison, and only if the generation did not change meanwhile. A
//       reader that sees halves of two such notes compares once more.
//   I5. `completed` goes from nullptr to a module that is not changed any more,
//       once, with release.

#ifndef UNSPOOL_UNWIND_LATER_MODULES_H_
#define UNSPOOL_UNWIND_LATER_MODULES_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/elf_module.h"
#include "unwind/frame.h"
#include "unwind/walk_scratch.h"

struct dl_find_object;

namespace unspool::unwind {

// _dl_find_object(3), or something that behaves like it.
using FindObjectFunction = int (*)(void*, dl_find_object*);

// Reads a later module's bytes through copies. One window at a time.
class CopiedSource {
 public:
  CopiedSource(const LoadedModule& module, std::span<uint8_t> buffer)
      : module_(module), buffer_(buffer) {}

  // Async-signal-safe.
  std::span<const uint8_t> Window(uint64_t address, size_t size);

 private:
  const LoadedModule& module_;
  std::span<uint8_t> buffer_;
};

// Zeroed memory plus SetFindObject() is a valid, empty table.
class LaterModules {
 public:
  static constexpr uint32_t kCapacity = 4096;

  // Where a module is, as the loader says.
  struct Place {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t eh_frame_hdr = 0;

    bool operator==(const Place&) const = default;
  };
  // And which load of it.
  struct Identity {
    Place place;
    uint64_t link_map = 0;

    bool operator==(const Identity&) const = default;
  };

  struct Found {
    const LoadedModule* module = nullptr;
    ModuleId id = kNoModule;
  };

  // Ids are given from `first_id` on. nullptr: no module is ever found.
  // Not async-signal-safe: before the first walk.
  void Configure(FindObjectFunction find_object, ModuleId first_id);

  // The module at `pc`, checked once per walk (`scratch.checked`). Nothing if
  // the loader knows none there, or the table is full. Async-signal-safe.
  Found Find(uint64_t pc, WalkScratch& scratch);

  // Is `id`'s module still what was found in this walk? To be asked after bytes
  // of it were copied, before what was made of them is believed. Overwrites
  // scratch.window. Async-signal-safe.
  bool IsStillThere(ModuleId id, WalkScratch& scratch);

  // nullptr if the id was not given out here. Async-signal-safe.
  const LoadedModule* Get(ModuleId id) const;

  // From now on `module`, which must live as long as this table, is what is
  // known of the module with this id: the same with more unwind data. False,
  // and nothing changes, if that was done before. Async-signal-safe.
  bool Complete(ModuleId id, const LoadedModule* module);
  bool IsCompleted(ModuleId id) const;

  // Ids given out. Async-signal-safe.
  uint32_t count() const;

  // An unload by the target begins or has ended. Async-signal-safe.
  void BeginUnload() { unloads_begun_.fetch_add(1); }
  void EndUnload() { unloads_ended_.fetch_add(1); }

 private:
  struct Record {
    std::atomic<bool> ready;
    std::atomic<uint64_t> link_map;
    std::atomic<uint64_t> verified;
    Place place;
    uint64_t fingerprint;
    uint64_t imprint;
    LoadedModule loaded;
    std::atomic<const LoadedModule*> completed;
  };
  // Hashes of a module's bytes: of all that tells it apart, and of its first
  // kilobyte.
  struct Prints {
    uint64_t fingerprint = 0;
    uint64_t imprint = 0;

    bool operator==(const Prints&) const = default;
  };

  static constexpr uint32_t kBuckets = 2 * kCapacity;
  static constexpr uint32_t kMaxProbes = 64;
  static constexpr size_t kPathBytes = size_t{1} << 20;

  bool FindObject(uint64_t pc, Identity* identity) const;
  bool IsQuiet(uint64_t* generation) const;
  static bool IsVerified(const Record& record, uint64_t link_map,
                         uint64_t generation, uint64_t imprint);
  template <class Matches>
  Record* Probe(const Place& place, Matches&& matches);
  Record* FindVerified(const Identity& identity, WalkScratch& scratch);
  Record* FindOrAdd(const Identity& identity, uint64_t pc,
                    WalkScratch& scratch);
  bool TakePrints(const Identity& identity, WalkScratch& scratch,
                  Prints* prints) const;
  bool Describe(const Identity& identity, WalkScratch& scratch);
  bool ReadHeaders(uint64_t start, WalkScratch& scratch,
                   std::span<const Elf64_Phdr>* headers) const;
  Record* Add(const Place& place, const Prints& prints, WalkScratch& scratch);
  void Publish(Record* record);
  const char* KeepPath(std::span<const uint8_t> path);
  ModuleId IdOf(const Record* record) const;

  FindObjectFunction find_object_;
  ModuleId first_id_;
  std::atomic<uint64_t> unloads_begun_;
  std::atomic<uint64_t> unloads_ended_;
  std::atomic<uint32_t> claimed_;
  std::atomic<uint32_t> path_bytes_used_;
  // Record number + 1; 0 is empty.
  std::array<std::atomic<uint32_t>, kBuckets> buckets_;
  std::array<Record, kCapacity> records_;
  std::array<char, kPathBytes> paths_;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_LATER_MODULES_H_
