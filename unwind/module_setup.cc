#include "unwind/module_setup.h"

#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "unwind/fde_index.h"
#include "unwind/mapped_memory.h"
#include "unwind/module_path.h"
#include "unwind/own_files.h"
#include "unwind/startup_object.h"

namespace unspool::unwind {
namespace {

constexpr size_t kPathBytes = 256;  // of a module's, on average

struct ObjectList {
  std::span<StartupObject> room;
  size_t count = 0;
};

int CountObject(dl_phdr_info*, size_t, void* count) {
  ++*static_cast<size_t*>(count);
  return 0;
}

// What another thread loads meanwhile is found as a later module.
int AddObject(dl_phdr_info* info, size_t, void* list_pointer) {
  auto* list = static_cast<ObjectList*>(list_pointer);
  if (list->count == list->room.size()) return 1;
  if (DescribeObject(*info, &list->room[list->count])) ++list->count;
  return 0;
}

bool Covers(const Module& module, uint64_t address) {
  return module.start <= address && address < module.end;
}

// Copies of the paths of modules, for the life of the process.
class PathStore {
 public:
  bool Map(size_t objects) {
    free_ = MapArray<char>(kPathBytes * objects);
    buffers_ = MapArray<PathBuffer>(1);
    return !free_.empty() && !buffers_.empty();
  }

  // To find a path in; reused.
  PathBuffer& buffer() { return buffers_[0]; }

  // "" if there is no room.
  const char* Keep(const char* path) {
    const size_t size = std::strlen(path) + 1;
    if (size > free_.size()) return "";
    std::memcpy(free_.data(), path, size);
    return std::exchange(free_, free_.subspan(size)).data();
  }

 private:
  std::span<char> free_;
  std::span<PathBuffer> buffers_;
};

const char* PathOf(const StartupObject& object, PathStore& paths) {
  const Module& module = object.loaded.module;
  if (module.is_vdso) return "[vdso]";
  PathBuffer& path = paths.buffer();
  // An absolute name outlives chdir(2). The program has none; its link in /proc
  // would name the loader, if that was started with the program as its
  // argument.
  if (object.name[0] == '/') return paths.Keep(object.name);
  return paths.Keep(FindMappedPath(module.start, path) ? path : object.name);
}

// An index for each source that has neither table nor index.
void AddIndexes(LoadedModule* loaded) {
  for (UnwindSource& source :
       std::span(loaded->sources).first(loaded->source_count)) {
    if (source.hdr.has_table() || !source.index.empty()) continue;
    MappedSource bytes(*loaded);
    source.index =
        BuildFdeIndex(bytes.Window(source.section.address, source.section.size),
                      source.section);
  }
}

void Complete(StartupObject* object, bool is_static, AddSources add_from_files,
              PathStore& paths) {
  LoadedModule& loaded = object->loaded;
  Module& module = loaded.module;
  module.is_pinned = true;
  module.path = PathOf(*object, paths);
  module.is_libc_or_loader =
      IsLibcOrLoaderPath(module.path) || (module.is_main && is_static);
  DescribeUnwindData(add_from_files, &loaded);
}

struct Place {
  uint64_t start;
  const StartupObject* object;
};

// By insertion, and the list comes from its end: the kernel maps each library
// below the one before. Places and not modules are moved, which are twenty
// times as large: all of 2,000 took a tenth of a second.
void SortByStart(std::span<Place> places) {
  for (size_t i = 1; i < places.size(); ++i) {
    const Place place = places[i];
    size_t j = i;
    for (; j > 0 && place.start < places[j - 1].start; --j) {
      places[j] = places[j - 1];
    }
    places[j] = place;
  }
}

}  // namespace

void DescribeUnwindData(AddSources add_from_files, LoadedModule* loaded) {
  MappedSource source(*loaded);
  DescribeContents(source, loaded);
  AddIndexes(loaded);
  if (add_from_files == nullptr) return;
  add_from_files(loaded);
  AddIndexes(loaded);
}

bool TakeModuleSnapshot(AddSources add_from_files, ModuleSnapshot* snapshot) {
  size_t present = 0;
  dl_iterate_phdr(CountObject, &present);
  ObjectList list = {MapArray<StartupObject>(present)};
  PathStore paths;
  if (list.room.empty() || !paths.Map(present)) return false;
  dl_iterate_phdr(AddObject, &list);
  const auto objects = list.room.first(list.count);
  if (!objects.empty()) objects[0].loaded.module.is_main = true;
  size_t pinned = 0;
  if (!MarkNeeded(objects, &pinned)) return false;

  const auto places = MapArray<Place>(objects.size() + 1);
  const auto modules = MapArray<LoadedModule>(objects.size() + 1);
  const auto starts = MapArray<uint64_t>(objects.size() + 1);
  if (places.empty() || modules.empty() || starts.empty()) return false;
  size_t count = 0;
  const bool is_static = !objects.empty() && !objects[0].has_interpreter;
  for (size_t i = objects.size(); i-- > 0;) {
    Module& module = objects[i].loaded.module;
    module.is_vdso = Covers(module, getauxval(AT_SYSINFO_EHDR));
    const bool is_loader = Covers(module, getauxval(AT_BASE));
    if (i >= pinned && !module.is_vdso && !is_loader) continue;
    Complete(&objects[i], is_static, add_from_files, paths);
    places[count++] = {module.start, &objects[i]};
  }
  SortByStart(places.first(count));
  for (size_t i = 0; i < count; ++i) {
    starts[i] = places[i].start;
    modules[i] = places[i].object->loaded;
  }
  *snapshot = ModuleSnapshot(modules.first(count), starts.first(count));
  return true;
}

}  // namespace unspool::unwind
