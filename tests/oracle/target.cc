#include "tests/oracle/target.h"

#include <elf.h>
#include <sys/uio.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "unwind/fde_index.h"
#include "unwind/module_path.h"
#include "unwind/self_memory.h"

namespace unspool::oracle {
namespace {

using unwind::kPageSize;

// Of an ELF image; empty if it is none of this machine's.
std::vector<Elf64_Phdr> ProgramHeaders(std::span<const uint8_t> image) {
  Elf64_Ehdr header;
  if (!unwind::ParseElfHeader(image, &header)) return {};
  std::vector<Elf64_Phdr> headers(header.e_phnum);
  const size_t size = headers.size() * sizeof(Elf64_Phdr);
  if (header.e_phoff > image.size() || size > image.size() - header.e_phoff) {
    return {};
  }
  std::memcpy(headers.data(), image.data() + header.e_phoff, size);
  return headers;
}

// Run-time addresses minus virtual ones, from where the first PT_LOAD lies.
uint64_t BiasOf(const std::vector<Elf64_Phdr>& headers, uint64_t start) {
  for (const Elf64_Phdr& header : headers) {
    if (header.p_type == PT_LOAD) {
      return start - (header.p_vaddr & ~(kPageSize - 1));
    }
  }
  return start;
}

bool Parse(const std::string& line, Mapping* mapping) {
  char flags[5] = {};
  int path_at = 0;
  if (std::sscanf(line.c_str(),
                  "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n",
                  &mapping->start, &mapping->end, flags, &mapping->file_offset,
                  &path_at) != 4) {
    return false;
  }
  mapping->is_writable = flags[1] == 'w';
  mapping->path = line.substr(static_cast<size_t>(path_at));
  return true;
}

}  // namespace

std::span<const uint8_t> ModuleBytes::Window(uint64_t address,
                                             size_t size) const {
  for (const Piece& piece : pieces_) {
    const uint64_t offset = address - piece.address;
    if (offset >= piece.bytes.size()) continue;
    return piece.bytes.subspan(offset,
                               std::min(size, piece.bytes.size() - offset));
  }
  return {};
}

size_t Target::Read(uint64_t address, void* out, size_t size) const {
  const iovec local = {out, size};
  const iovec remote = {reinterpret_cast<void*>(address), size};
  const ssize_t count = process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  return count < 0 ? 0 : static_cast<size_t>(count);
}

bool Target::Write(uint64_t address, const void* bytes, size_t size) const {
  const iovec local = {const_cast<void*>(bytes), size};
  const iovec remote = {reinterpret_cast<void*>(address), size};
  return process_vm_writev(pid_, &local, 1, &remote, 1, 0) ==
         static_cast<ssize_t>(size);
}

uint64_t Target::ReadWord(uint64_t address) const {
  uint64_t word = 0;
  return Read(address, &word, sizeof(word)) == sizeof(word) ? word : 0;
}

void Target::ReadMaps() {
  mappings_.clear();
  std::ifstream maps("/proc/" + std::to_string(pid_) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    Mapping mapping;
    if (Parse(line, &mapping)) mappings_.push_back(std::move(mapping));
  }
  std::erase_if(modules_, [&](const auto& entry) {
    const Mapping* mapping = FindMapping(entry.first);
    return mapping == nullptr || mapping->path != entry.second->path;
  });
  for (const Mapping& mapping : mappings_) {
    const bool is_file = mapping.path.starts_with('/');
    if ((is_file && mapping.file_offset == 0) || mapping.path == "[vdso]") {
      if (!modules_.contains(mapping.start)) AddModule(mapping);
    }
  }
}

std::vector<uint8_t> Target::ReadImage(const Mapping& mapping) const {
  if (mapping.path.starts_with('/')) {
    std::ifstream file(mapping.path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<uint8_t> image(mapping.end - mapping.start);
  image.resize(Read(mapping.start, image.data(), image.size()));
  return image;
}

void Target::AddModule(const Mapping& first) {
  auto module = std::make_unique<TargetModule>();
  module->id = next_id_++;
  module->path = first.path;
  module->file = ReadImage(first);
  const auto headers = ProgramHeaders(module->file);
  unwind::LoadedModule& loaded = module->loaded;
  const uint64_t bias = BiasOf(headers, first.start);
  if (headers.empty() || !unwind::DescribeSegments(headers, bias, &loaded)) {
    return;
  }
  bool has_interpreter = false;
  for (const Elf64_Phdr& header : headers) {
    has_interpreter |= header.p_type == PT_INTERP;
    if (header.p_type != PT_LOAD || header.p_offset > module->file.size()) {
      continue;
    }
    const size_t size =
        std::min(header.p_filesz, module->file.size() - header.p_offset);
    module->bytes.Add(
        bias + header.p_vaddr,
        std::span<const uint8_t>(module->file).subspan(header.p_offset, size));
  }
  unwind::DescribeContents(module->bytes, &loaded);
  for (size_t i = 0; i < loaded.source_count; ++i) {
    unwind::UnwindSource& source = loaded.sources[i];
    if (source.hdr.has_table()) continue;
    const auto bytes =
        module->bytes.Window(source.section.address, source.section.size);
    source.index = unwind::BuildFdeIndex(bytes, source.section);
  }
  loaded.module.is_main = modules_.empty();
  loaded.module.is_vdso = first.path == "[vdso]";
  loaded.module.is_libc_or_loader =
      unwind::IsLibcOrLoaderPath(first.path.c_str()) ||
      (loaded.module.is_main && !has_interpreter);
  modules_.emplace(first.start, std::move(module));
}

const Mapping* Target::FindMapping(uint64_t address) const {
  const auto mapping =
      std::ranges::upper_bound(mappings_, address, {}, &Mapping::end);
  if (mapping == mappings_.end() || address < mapping->start) return nullptr;
  return &*mapping;
}

const TargetModule* Target::FindModule(uint64_t pc) const {
  auto module = modules_.upper_bound(pc);
  if (module == modules_.begin()) return nullptr;
  --module;
  return pc < module->second->loaded.module.end ? module->second.get()
                                                : nullptr;
}

}  // namespace unspool::oracle
