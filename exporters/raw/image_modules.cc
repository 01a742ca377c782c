#include "exporters/raw/image_modules.h"

#include <algorithm>
#include <bit>

#include "unwind/frame.h"
#include "unwind/module.h"

namespace unspool::exporters::raw {

using collectors::ModuleView;
using collectors::NodeView;
using collectors::SpoolReader;

namespace {

// What a large recording's functions need, in half a processor's cache.
constexpr uint64_t kMostKnown = 1 << 15;
constexpr uint64_t kFewestKnown = 8;
constexpr uint64_t kNodesPerKnown = 32;

}  // namespace

bool ImageModules::Load(const SpoolReader& reader, size_t image) {
  const uint64_t wanted = reader.node_count(image) / kNodesPerKnown;
  bool ok = known_.Resize(
      std::bit_ceil(std::clamp<uint64_t>(wanted, kFewestKnown, kMostKnown)));
  reader.ForEachModule(
      image, [&](const ModuleView& module) { ok = ok && AddModule(module); });
  std::sort(
      modules_.begin(), modules_.end(),
      [](const LoadedModule& a, const LoadedModule& b) { return a.id < b.id; });
  return ok && tables_.ok();
}

bool ImageModules::AddModule(const ModuleView& module) {
  const size_t begin = segments_.size();
  const uint32_t file = FileName(module);
  const uint32_t build_id = BuildIdText(module.build_id);
  for (size_t i = 0; i < module.segment_count; ++i) {
    const unwind::Segment& segment = module.segments[i];
    if (segment.start >= segment.end) continue;
    if (!segments_.Append({.start = segment.start,
                           .end = segment.end,
                           .file_offset = segment.file_offset,
                           .file = file,
                           .build_id = build_id,
                           .mapping = 0})) {
      return false;
    }
  }
  return modules_.Append(
      {.id = module.id,
       .bias = module.bias,
       .is_main = (module.flags & collectors::kModuleMain) != 0,
       .code_name = (module.flags & collectors::kModuleRegistered) != 0
                        ? tables_.strings().Intern(module.path)
                        : 0,
       .segments_begin = begin,
       .segments_end = segments_.size()});
}

uint32_t ImageModules::FileName(const ModuleView& module) {
  if ((module.flags & collectors::kModuleVdso) != 0) {
    return tables_.strings().Intern("[vdso]");
  }
  if (module.path.empty()) return tables_.strings().Intern("[unknown]");
  return tables_.strings().Intern(module.path);
}

uint32_t ImageModules::BuildIdText(std::span<const uint8_t> build_id) {
  constexpr char kDigits[] = "0123456789abcdef";
  char text[2 * unwind::BuildId::kMaxSize];
  size_t size = 0;
  for (const uint8_t byte : build_id) {
    text[size++] = kDigits[byte >> 4];
    text[size++] = kDigits[byte & 15];
  }
  return tables_.strings().Intern({text, size});
}

void ImageModules::AddMainMapping() {
  for (const LoadedModule& module : modules_) {
    if (!module.is_main || module.segments_begin == module.segments_end) {
      continue;
    }
    MappingOf(segments_[module.segments_begin]);
    return;
  }
}

uint32_t ImageModules::LocationOf(const NodeView& node) {
  KnownFrame& known = PlaceOf(node);
  if (known.location == 0 || known.offset != node.offset ||
      known.module != node.module || known.exact != node.exact) {
    known = {node.offset, node.module, node.exact, FindLocation(node)};
  }
  return known.location;
}

ImageModules::KnownFrame& ImageModules::PlaceOf(const NodeView& node) {
  const uint64_t hash =
      collectors::HashMix(uint64_t{node.module} << 32, node.offset);
  return known_[hash & (known_.size() - 1)];
}

uint32_t ImageModules::FindLocation(const NodeView& node) {
  const LoadedModule* module = FindModule(node.module);
  const uint64_t pc = node.offset + (module != nullptr ? module->bias : 0);
  const uint64_t address = unwind::LookupPc(pc, node.exact);
  if (module == nullptr) return tables_.FindOrAddUnknown(address);
  if (module->code_name != 0) {
    return tables_.FindOrAddCode(address, module->code_name);
  }
  for (size_t i = module->segments_begin; i < module->segments_end; ++i) {
    LoadedSegment& segment = segments_[i];
    if (address < segment.start || address >= segment.end) continue;
    const uint32_t mapping = MappingOf(segment);
    if (mapping == 0) return 0;
    return tables_.FindOrAddLocation(
        mapping, address - segment.start + tables_.mapping(mapping).start);
  }
  return tables_.FindOrAddUnknown(address);
}

const ImageModules::LoadedModule* ImageModules::FindModule(
    unwind::ModuleId id) const {
  const auto* found = std::lower_bound(
      modules_.begin(), modules_.end(), id,
      [](const LoadedModule& a, unwind::ModuleId b) { return a.id < b; });
  return found != modules_.end() && found->id == id ? found : nullptr;
}

uint32_t ImageModules::MappingOf(LoadedSegment& segment) {
  if (segment.mapping == 0) {
    segment.mapping =
        tables_.FindOrAddMapping({.start = segment.start,
                                  .limit = segment.end,
                                  .file_offset = segment.file_offset,
                                  .file = segment.file,
                                  .build_id = segment.build_id});
  }
  return segment.mapping;
}

}  // namespace unspool::exporters::raw
