// Code that compilers at run time announce to debuggers: GDB's "JIT Compilation
// Interface" (GDB manual, ch. 30). A descriptor, known by its symbol, heads a
// list of ELF images in memory.
//
// The list changes without anybody being told: compilers call a function in
// which debuggers have a breakpoint. So it is looked at in handlers, when a
// walk meets code that nothing else knows: in steps that are bounded, and by
// copies, since another thread may be changing it. What it says of the function
// at a PC is registered (registered_code.h), and found there from then on.
//
// Invariants
//   I1. What is written is written by whoever holds the lock of the
//       RegisteredCode; `objects_` before the region that leads to it.
//   I2. An object counts in a walk if its list entry and its imprint are what
//       they were: compilers take images away and reuse their memory.

#ifndef UNSPOOL_UNWIND_JIT_OBJECTS_H_
#define UNSPOOL_UNWIND_JIT_OBJECTS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "unwind/jit_image.h"
#include "unwind/region_table.h"
#include "unwind/registered_code.h"

namespace unspool::unwind {

struct WalkScratch;

// The descriptor's symbol, and its size in bytes.
inline constexpr char kJitDescriptor[] = "__jit_debug_descriptor";
inline constexpr uint64_t kJitDescriptorSize = 24;

// Zeroed memory is a valid one without descriptors.
class JitObjects {
 public:
  // A descriptor is at `address`: of more than kMaxDescriptors the last ones
  // count. Not async-signal-safe: allocates by mmap, takes the lock of `code`.
  void AddDescriptor(uint64_t address, RegisteredCode& code);

  // Registers in `code` what objects say of the function that has `pc`, unless
  // that was done before or another thread is at it. False: what is registered
  // there is of an object that is gone. Overwrites scratch.window.
  // Async-signal-safe.
  bool Register(uint64_t pc, RegisteredCode& code, WalkScratch& scratch);

 private:
  static constexpr size_t kMaxDescriptors = 16;
  // What may be done in one walk: an entry that is known takes 0.7 µs, a new
  // one so many times that.
  static constexpr uint32_t kStepsPerWalk = 128;
  static constexpr uint32_t kStepsOfNewEntry = 8;
  static constexpr uint32_t kMaxNameBytes = 2048;

  // As the interface has them.
  struct Head {
    uint32_t version = 0;
    uint32_t action = 0;
    uint64_t relevant_entry = 0;
    uint64_t first_entry = 0;

    bool operator==(const Head&) const = default;
  };
  static_assert(sizeof(Head) == kJitDescriptorSize);
  struct Entry {
    uint64_t next;
    uint64_t previous;
    uint64_t image;
    uint64_t size;
  };

  // A list, and how far it has been gone through since it changed.
  struct List {
    uint64_t head_address = 0;
    Head seen;
    bool is_new = false;  // has changed since the way through it began
    uint64_t cursor = 0;  // the entry to go on at; 0: at the end
    uint64_t previous = 0;
  };
  struct Object {
    uint64_t entry_address;
    uint64_t image;
    uint64_t size;
    JitImprint imprint;
  };
  // An executable section of an object.
  struct Code {
    uint64_t start;
    uint64_t end;
    uint32_t entry;  // the object's number
  };
  struct Tables {
    RegionTable entries;  // where list entries are
    RegionTable code;
    std::array<Object, RegionTable::kCapacity> entry_objects;  // by region
    std::array<Code, RegionTable::kCapacity> codes;            // by region
  };

  enum class State : uint8_t { kNone, kIsThere, kIsGone };

  State Check(uint64_t pc, WalkScratch& scratch) const;
  static bool IsUnchanged(const Object& object, WalkScratch& scratch);
  const Object& ObjectOf(uint32_t code_number) const {
    return tables_->entry_objects[tables_->codes[code_number].entry];
  }
  void Drop(uint64_t pc, RegisteredCode& code);
  void LookAtLists(RegisteredCode& code, WalkScratch& scratch);
  void LookAtList(List& list, RegisteredCode& code, WalkScratch& scratch);
  uint32_t NoteEntry(uint64_t address, const Entry& entry, RegisteredCode& code,
                     WalkScratch& scratch);
  void RegisterFunction(uint64_t pc, RegisteredCode& code,
                        WalkScratch& scratch);

  std::atomic<uint32_t> list_count_;
  uint32_t next_list_;
  Tables* tables_;
  std::array<List, kMaxDescriptors> lists_;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_JIT_OBJECTS_H_
