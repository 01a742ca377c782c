#include "unwind/startup_object.h"

#include <cstring>

#include "unwind/module_path.h"

namespace unspool::unwind {
namespace {

// The string that an entry with `tag` names, starting behind *dynamic, which is
// moved behind the entry. nullptr at the end.
const char* NextString(const StartupObject& object, int64_t tag,
                       const Elf64_Dyn** dynamic) {
  while (*dynamic != nullptr && (*dynamic)->d_tag != DT_NULL) {
    const Elf64_Dyn& entry = *(*dynamic)++;
    if (entry.d_tag == tag && object.strings != nullptr) {
      return object.strings + entry.d_un.d_val;
    }
  }
  return nullptr;
}

// glibc relocates the pointers of the dynamic section in place, except in the
// vDSO, whose section is read-only.
const char* FindStrings(const StartupObject& object, uint64_t bias) {
  const Elf64_Dyn* entry = object.dynamic;
  if (entry == nullptr) return nullptr;
  for (; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag != DT_STRTAB) continue;
    uint64_t address = entry->d_un.d_ptr;
    if (address < object.loaded.module.start) address += bias;
    return reinterpret_cast<const char*>(address);
  }
  return nullptr;
}

bool IsNamed(const StartupObject& object, const char* needed) {
  if (std::strcmp(object.name, needed) == 0 ||
      std::strcmp(FileNameOf(object.name), needed) == 0) {
    return true;
  }
  const Elf64_Dyn* entry = object.dynamic;
  const char* soname = NextString(object, DT_SONAME, &entry);
  return soname != nullptr && std::strcmp(soname, needed) == 0;
}

void MarkNeededBy(StartupObject& object, std::span<StartupObject> objects) {
  object.is_visited = true;
  const Elf64_Dyn* entry = object.dynamic;
  while (const char* needed = NextString(object, DT_NEEDED, &entry)) {
    for (StartupObject& other : objects) {
      if (!IsNamed(other, needed)) continue;
      other.is_needed = true;
      break;
    }
  }
}

}  // namespace

bool DescribeObject(const dl_phdr_info& info, StartupObject* object) {
  *object = StartupObject();
  const std::span headers(info.dlpi_phdr, info.dlpi_phnum);
  if (!DescribeSegments(headers, info.dlpi_addr, &object->loaded)) return false;
  object->name = info.dlpi_name == nullptr ? "" : info.dlpi_name;
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_INTERP) object->has_interpreter = true;
    if (header.p_type == PT_DYNAMIC) {
      object->dynamic =
          reinterpret_cast<const Elf64_Dyn*>(info.dlpi_addr + header.p_vaddr);
    }
  }
  object->strings = FindStrings(*object, info.dlpi_addr);
  return true;
}

size_t MarkNeeded(std::span<StartupObject> objects) {
  if (objects.empty()) return 0;
  objects[0].is_needed = true;
  for (bool found = true; found;) {
    found = false;
    for (StartupObject& object : objects) {
      if (!object.is_needed || object.is_visited) continue;
      MarkNeededBy(object, objects);
      found = true;
    }
  }
  size_t count = 0;
  for (size_t i = 0; i < objects.size(); ++i) {
    if (objects[i].is_needed) count = i + 1;
  }
  return count;
}

}  // namespace unspool::unwind
