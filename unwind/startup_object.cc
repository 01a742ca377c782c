#include "unwind/startup_object.h"

#include <sys/mman.h>

#include <bit>
#include <cstring>

#include "unwind/hash_bytes.h"
#include "unwind/mapped_memory.h"
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

// Finds objects by what DT_NEEDED calls them: a path, a file name, or a SONAME.
// To go through all of them for each would take 2,000 libraries that need libc
// a fifth of a second.
class NameIndex {
 public:
  explicit NameIndex(std::span<StartupObject> objects)
      : size_(std::bit_ceil(kNames * 2 * objects.size())),
        slots_(static_cast<Slot*>(MapZeroed(size_ * sizeof(Slot)))) {
    if (slots_ == nullptr) return;
    for (StartupObject& object : objects) {
      Add(object.name, &object);
      Add(FileNameOf(object.name), &object);
      const Elf64_Dyn* entry = object.dynamic;
      const char* soname = NextString(object, DT_SONAME, &entry);
      if (soname != nullptr) Add(soname, &object);
    }
  }
  ~NameIndex() {
    if (slots_ != nullptr) munmap(slots_, size_ * sizeof(Slot));
  }
  NameIndex(const NameIndex&) = delete;
  NameIndex& operator=(const NameIndex&) = delete;

  bool ok() const { return slots_ != nullptr; }

  // The first one that is called so; nullptr: none.
  StartupObject* Find(const char* name) const { return SlotOf(name).object; }

 private:
  static constexpr size_t kNames = 3;  // of an object

  struct Slot {
    const char* name;  // nullptr: free
    StartupObject* object;
  };

  void Add(const char* name, StartupObject* object) {
    Slot& slot = SlotOf(name);
    if (slot.name == nullptr) slot = {name, object};
  }

  // Where the name is, or is to be; at least half of them are free.
  Slot& SlotOf(const char* name) const {
    const auto* bytes = reinterpret_cast<const uint8_t*>(name);
    const uint64_t hash =
        HashBytes(std::span(bytes, std::strlen(name)), kHashSeed);
    for (size_t i = hash ^ hash >> 32;; ++i) {
      Slot& slot = slots_[i & (size_ - 1)];
      if (slot.name == nullptr || std::strcmp(slot.name, name) == 0) {
        return slot;
      }
    }
  }

  const size_t size_;
  Slot* const slots_;
};

void MarkNeededBy(StartupObject& object, const NameIndex& names) {
  object.is_visited = true;
  const Elf64_Dyn* entry = object.dynamic;
  while (const char* needed = NextString(object, DT_NEEDED, &entry)) {
    StartupObject* other = names.Find(needed);
    if (other != nullptr) other->is_needed = true;
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

bool MarkNeeded(std::span<StartupObject> objects, size_t* count) {
  *count = 0;
  if (objects.empty()) return true;
  const NameIndex names(objects);
  if (!names.ok()) return false;
  objects[0].is_needed = true;
  for (bool found = true; found;) {
    found = false;
    for (StartupObject& object : objects) {
      if (!object.is_needed || object.is_visited) continue;
      MarkNeededBy(object, names);
      found = true;
    }
  }
  for (size_t i = 0; i < objects.size(); ++i) {
    if (objects[i].is_needed) *count = i + 1;
  }
  return true;
}

}  // namespace unspool::unwind
