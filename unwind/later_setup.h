// Unwind data of later modules that a handler has no time for: an index where
// there is no search table, and what only files hold.
//
// Done where the agent knows that something was loaded, outside of handlers. A
// module has none of it until then, its constructors included.

#ifndef UNSPOOL_UNWIND_LATER_SETUP_H_
#define UNSPOOL_UNWIND_LATER_SETUP_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "unwind/jit_objects.h"
#include "unwind/later_modules.h"
#include "unwind/module_setup.h"
#include "unwind/module_snapshot.h"
#include "unwind/walk_scratch.h"

struct dl_phdr_info;

namespace unspool::unwind {

// Zeroed memory is a valid one that has not looked yet.
class LaterSetup {
 public:
  // What is known of a process's code, and memory to work in.
  struct Process {
    const ModuleSnapshot& pinned;
    LaterModules& later;
    JitObjects& jit;
    RegisteredCode& registered;
    WalkScratch& scratch;
  };

  // Looks at the modules that were loaded since the last call. Those that are
  // not pinned are completed, if there is more than a handler finds; in all,
  // `jit` gets the descriptor of a compiler. Only modules of the program's own
  // namespace (dlmopen(3)). False: none was loaded. One caller at a time; walks
  // go on meanwhile.
  // Not async-signal-safe: takes the loader's lock, allocates by mmap.
  bool CompleteNewModules(AddSources add_from_files, const Process& process);

 private:
  // Indexes and copies are never given back: a walk may be reading them.
  static constexpr uint64_t kMaxBytes = uint64_t{64} << 20;
  static constexpr size_t kMemory = 1024;

  struct Look;
  // What was found out about a module's contents, by their hash: libraries come
  // back, and files are read once.
  struct Remembered {
    uint64_t hash;
    bool has_more;
  };

  static int OnObject(dl_phdr_info* info, size_t size, void* look);
  static LaterModules::Found Find(uint64_t address, Look& look);
  void LookAt(const dl_phdr_info& info, Look& look);
  bool Complete(const LoadedModule& with_more, Look& look);

  uint64_t adds_seen_;
  uint64_t bytes_used_;
  std::array<Remembered, kMemory> memory_;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_LATER_SETUP_H_
