#include "unwind/registered_code.h"

#include <array>
#include <cstring>
#include <span>

#include "unwind/cfi_lookup.h"
#include "unwind/mapped_memory.h"

namespace unspool::unwind {

// Mapped whole, touched as far as it is used.
struct RegisteredCode::Tables {
  static constexpr size_t kNameBytes = size_t{32} << 20;

  struct Frames {
    FdeIndexEntry fde;
    uint32_t handle;  // 0: nothing is known there
  };
  // One call of AddFrames(): its regions are [first, end).
  struct Group {
    CfiSection section;
    uint32_t first;
    uint32_t end;
  };

  RegionTable code;
  std::array<Module, RegionTable::kCapacity> modules;  // by region
  size_t name_bytes_used;
  std::array<char, kNameBytes> names;

  RegionTable functions;
  std::array<Frames, RegionTable::kCapacity> frames;  // by region
  uint32_t group_count;
  std::array<Group, RegionTable::kCapacity> groups;  // by handle
  RegionTable sections;  // the first bytes of those that are noted
  std::array<uint32_t, RegionTable::kCapacity> section_handles;  // by region
};

RegisteredCode::Tables* RegisteredCode::FindOrMap() {
  Tables* tables = tables_.load(std::memory_order_acquire);
  if (tables != nullptr) return tables;
  tables = static_cast<Tables*>(MapZeroed(sizeof(Tables)));
  tables_.store(tables, std::memory_order_release);
  return tables;
}

RegisteredCode::Status RegisteredCode::AddCode(uint64_t start, uint64_t size,
                                               const char* name) {
  if (size == 0 || start + size < start) return Status::kBad;
  Tables* tables = FindOrMap();
  if (tables == nullptr) return Status::kNoMemory;
  const size_t name_size = std::strlen(name) + 1;
  if (name_size > Tables::kNameBytes - tables->name_bytes_used ||
      tables->code.is_full()) {
    return Status::kFull;
  }
  char* copy = tables->names.data() + tables->name_bytes_used;
  std::memcpy(copy, name, name_size);
  tables->name_bytes_used += name_size;
  Module& module = tables->modules[tables->code.next()];
  module.start = start;
  module.end = start + size;
  module.is_registered = true;
  module.path = copy;
  tables->code.Add(start, start + size);
  return Status::kOk;
}

RegisteredCode::Status RegisteredCode::AddFrames(const CfiSection& section,
                                                 uint32_t* handle) {
  Tables* tables = FindOrMap();
  if (tables == nullptr) return Status::kNoMemory;
  if (tables->group_count + 1 == tables->groups.size()) return Status::kFull;
  const uint32_t number = tables->group_count + 1;
  RegionTable& functions = tables->functions;
  Tables::Group& group = tables->groups[number];
  group = {section, functions.next(), functions.next()};
  SpanSource source({reinterpret_cast<const uint8_t*>(section.address),
                     static_cast<size_t>(section.size)},
                    section.address);
  CfiEntryCursor cursor(section);
  CfiEntry entry;
  while (cursor.Next(source, &entry) && !functions.is_full()) {
    Cie cie;
    Fde fde;
    if (entry.kind != CfiEntry::Kind::kFde ||
        !ReadFde(source, section, entry.address, &cie, &fde) ||
        fde.pc_begin >= fde.pc_end) {
      continue;
    }
    tables->frames[group.end++] = {{fde.pc_begin, fde.pc_end, fde.address},
                                   number};
    functions.Add(fde.pc_begin, fde.pc_end);
  }
  if (group.first == group.end) {
    return functions.is_full() ? Status::kFull : Status::kBad;
  }
  tables->group_count = number;
  *handle = number;
  return Status::kOk;
}

void RegisteredCode::NoteSection(const CfiSection& section, uint32_t handle) {
  Tables* tables = tables_.load(std::memory_order_acquire);
  if (tables->sections.is_full()) return;
  tables->section_handles[tables->sections.next()] = handle;
  tables->sections.Add(section.address, section.address + 1);
}

bool RegisteredCode::RemoveSection(uint64_t address) {
  Tables* tables = tables_.load(std::memory_order_acquire);
  const uint32_t number =
      tables == nullptr ? 0 : tables->sections.Find(address);
  if (number == 0) return false;
  tables->sections.Remove(number);
  return RemoveFrames(tables->section_handles[number]);
}

void RegisteredCode::AddFunction(const CfiSection& section, const Fde& fde) {
  Tables* tables = FindOrMap();
  if (tables == nullptr || tables->functions.is_full() ||
      tables->group_count + 1 == tables->groups.size()) {
    return;
  }
  const uint32_t handle = ++tables->group_count;
  const uint32_t number = tables->functions.next();
  tables->groups[handle] = {section, number, number + 1};
  tables->frames[number] = {{fde.pc_begin, fde.pc_end, fde.address}, handle};
  tables->functions.Add(fde.pc_begin, fde.pc_end);
}

// By regions that say nothing, and are newer.
void RegisteredCode::Forget(uint64_t start, uint64_t end) {
  Tables* tables = tables_.load(std::memory_order_acquire);
  if (tables == nullptr) return;
  tables->code.Add(start, end);
  tables->functions.Add(start, end);
}

bool RegisteredCode::RemoveFrames(uint32_t handle) {
  Tables* tables = tables_.load(std::memory_order_acquire);
  if (tables == nullptr || handle == 0 || handle > tables->group_count) {
    return false;
  }
  Tables::Group& group = tables->groups[handle];
  if (group.first == group.end) return false;
  for (uint32_t i = group.first; i < group.end; ++i) {
    tables->functions.Remove(i);
  }
  group.end = group.first;
  return true;
}

ModuleId RegisteredCode::FindCode(uint64_t pc) const {
  const Tables* tables = tables_.load(std::memory_order_acquire);
  const uint32_t number = tables == nullptr ? 0 : tables->code.Find(pc);
  if (number == 0 || !tables->modules[number].is_registered) return kNoModule;
  return kFirstId + number;
}

const Module* RegisteredCode::GetCode(ModuleId id) const {
  const Tables* tables = tables_.load(std::memory_order_acquire);
  if (tables == nullptr || id <= kFirstId ||
      id - kFirstId >= tables->modules.size()) {
    return nullptr;
  }
  const Module& module = tables->modules[id - kFirstId];
  return module.is_registered ? &module : nullptr;
}

uint32_t RegisteredCode::FindFrames(uint64_t pc, LoadedModule* source) const {
  const Tables* tables = tables_.load(std::memory_order_acquire);
  const uint32_t number = tables == nullptr ? 0 : tables->functions.Find(pc);
  if (number == 0) return 0;
  const Tables::Frames& frames = tables->frames[number];
  if (tables->groups[frames.handle].section.size == 0) return 0;
  *source = LoadedModule();
  UnwindSource unwind_source;
  unwind_source.section = tables->groups[frames.handle].section;
  unwind_source.index = std::span(&frames.fde, 1);
  source->copied = {unwind_source.section.address, unwind_source.section.size};
  source->AddSource(unwind_source);
  return number;
}

bool RegisteredCode::KnowsFrames(uint64_t pc) const {
  const Tables* tables = tables_.load(std::memory_order_acquire);
  if (tables == nullptr) return false;
  const uint32_t number = tables->functions.Find(pc);
  return number != 0 && tables->frames[number].handle != 0;
}

bool RegisteredCode::IsThere(uint32_t number) const {
  const Tables* tables = tables_.load(std::memory_order_acquire);
  return tables != nullptr && tables->functions.IsAlive(number);
}

}  // namespace unspool::unwind
