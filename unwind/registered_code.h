// Code that no loaded object holds, as the compiler that made it registered it:
// names, and unwind data. Registering and walking may go on at the same time;
// who registers holds the lock, and is not interrupted by a walk that does.
//
// Nothing is ever given back: a name, once a sample has it, must last as long
// as the recording.

#ifndef UNSPOOL_UNWIND_REGISTERED_CODE_H_
#define UNSPOOL_UNWIND_REGISTERED_CODE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "unwind/cfi_entry.h"
#include "unwind/elf_module.h"
#include "unwind/frame.h"
#include "unwind/region_table.h"

namespace unspool::unwind {

class RegisteredCode {
 public:
  // Ids of named code are from here on, above those of all modules.
  static constexpr ModuleId kFirstId = ModuleId{1} << 16;

  enum class Status : uint8_t {
    kOk,
    kNoMemory,
    kFull,  // 262,143 have been registered, or 32 MiB of names
    kBad,   // an empty range, or no function in the unwind data
  };

  constexpr RegisteredCode() = default;
  RegisteredCode(const RegisteredCode&) = delete;
  RegisteredCode& operator=(const RegisteredCode&) = delete;

  // Waits for a handler of another thread, or one that registers with signals
  // blocked. Not async-signal-safe.
  void Lock() {
    while (!TryLock()) continue;
  }
  // Async-signal-safe.
  bool TryLock() { return !is_locked_.exchange(true); }
  void Unlock() { is_locked_.store(false); }

  // [start, start + size) is called `name`, which is copied, until it is
  // registered again. Lock held. Async-signal-safe.
  [[nodiscard]] Status AddCode(uint64_t start, uint64_t size, const char* name);

  // The functions that `section` describes have that unwind data, which stays
  // where it is until RemoveFrames(*handle). Handles count from 1. What of it
  // cannot be understood is left out. Lock held.
  // Not async-signal-safe: reads the section by plain loads.
  [[nodiscard]] Status AddFrames(const CfiSection& section, uint32_t* handle);
  // False: no such handle. Walks that are under way do not read the section any
  // more, other than by copies that they then drop. Lock held.
  bool RemoveFrames(uint32_t handle);

  // The same for the .eh_frame at section.address that libgcc was told of, by
  // its address. False: no such one. Lock held.
  void NoteSection(const CfiSection& section, uint32_t handle);
  bool RemoveSection(uint64_t address);

  // The same for one function, until it is registered again; an empty section:
  // it is known to have no unwind data. Lock held. Async-signal-safe.
  void AddFunction(const CfiSection& section, const Fde& fde);
  // Nothing is registered in [start, end) any more. Lock held.
  // Async-signal-safe.
  void Forget(uint64_t start, uint64_t end);

  // The id of the code that has `pc`, kNoModule if none has. Async-signal-safe.
  ModuleId FindCode(uint64_t pc) const;
  // That code, named by its path; nullptr for other ids. Async-signal-safe.
  const Module* GetCode(ModuleId id) const;

  // The unwind data for `pc`: fills *source with a module that has it, and
  // nothing else, and gives its number; 0 if there is none. To be read by
  // copies, and believed if IsThere(number) after that. Async-signal-safe.
  uint32_t FindFrames(uint64_t pc, LoadedModule* source) const;
  // Is it registered which unwind data `pc` has, or that it has none? And the
  // name? Async-signal-safe.
  bool KnowsFrames(uint64_t pc) const;
  bool IsKnown(uint64_t pc) const {
    return KnowsFrames(pc) && FindCode(pc) != kNoModule;
  }
  bool IsThere(uint32_t number) const;

 private:
  struct Tables;

  Tables* FindOrMap();

  std::atomic<bool> is_locked_{false};
  // nullptr until something is registered; then never freed.
  std::atomic<Tables*> tables_{nullptr};
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_REGISTERED_CODE_H_
