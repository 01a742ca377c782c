#include "tests/exporters/raw/own_program.h"

#include <link.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace unspool::exporters {

namespace {

constexpr uint64_t RoundUp4(uint64_t size) { return (size + 3) & ~uint64_t{3}; }

void TakeBuildId(const ElfW(Phdr) & segment, uint64_t bias,
                 unwind::Module* module) {
  const auto* at = reinterpret_cast<const char*>(bias + segment.p_vaddr);
  const auto* end = at + segment.p_memsz;
  while (at + sizeof(ElfW(Nhdr)) < end) {
    ElfW(Nhdr) note;
    memcpy(&note, at, sizeof(note));
    const char* name = at + sizeof(note);
    const char* content = name + RoundUp4(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && strcmp(name, "GNU") == 0) {
      module->build_id.size = note.n_descsz;
      memcpy(module->build_id.bytes.data(), content, note.n_descsz);
    }
    at = content + RoundUp4(note.n_descsz);
  }
}

// The first object that the loader shows is the program.
int TakeFirst(dl_phdr_info* info, size_t, void* context) {
  auto* module = static_cast<unwind::Module*>(context);
  module->bias = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uint64_t start = module->bias + segment.p_vaddr;
    if (segment.p_type == PT_NOTE) TakeBuildId(segment, module->bias, module);
    if (segment.p_type != PT_LOAD) continue;
    module->end = start + segment.p_memsz;
    if ((segment.p_flags & PF_X) == 0) continue;
    module->segments[module->segment_count++] = {start, start + segment.p_memsz,
                                                 segment.p_offset};
  }
  module->start = module->bias;
  return 1;
}

}  // namespace

unwind::Module OwnProgram() {
  static char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof(path) - 1);
  unwind::Module module;
  module.is_main = true;
  if (size > 0) module.path = path;
  dl_iterate_phdr(TakeFirst, &module);
  return module;
}

}  // namespace unspool::exporters
