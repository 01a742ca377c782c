// One object as dl_iterate_phdr(3) reports it, and which others it needs.

#ifndef UNSPOOL_UNWIND_STARTUP_OBJECT_H_
#define UNSPOOL_UNWIND_STARTUP_OBJECT_H_

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "unwind/elf_module.h"

namespace unspool::unwind {

struct StartupObject {
  LoadedModule loaded;
  const char* name = "";  // the loader's
  const Elf64_Dyn* dynamic = nullptr;
  const char* strings = nullptr;  // DT_STRTAB
  bool has_interpreter = false;
  bool is_needed = false;  // by the program
  bool is_visited = false;
};

// Reads what dl_iterate_phdr() says of one object. False if it has no segments.
// Not async-signal-safe: for objects that cannot go away meanwhile.
bool DescribeObject(const dl_phdr_info& info, StartupObject* object);

// Marks objects[0], the program, and all that it needs; *count is the number of
// objects up to the last one that is marked. False: no memory.
// Not async-signal-safe: as DescribeObject().
[[nodiscard]] bool MarkNeeded(std::span<StartupObject> objects, size_t* count);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_STARTUP_OBJECT_H_
