// The modules of one image of a spool, and the pprof location of a frame in
// them.

#ifndef UNSPOOL_EXPORTERS_RAW_IMAGE_MODULES_H_
#define UNSPOOL_EXPORTERS_RAW_IMAGE_MODULES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectors/spool/mapped_array.h"
#include "collectors/spool/spool_reader.h"
#include "exporters/raw/profile_tables.h"

namespace unspool::exporters::raw {

// Not async-signal-safe: allocates.
class ImageModules {
 public:
  explicit ImageModules(ProfileTables& tables) : tables_(tables) {}

  // Takes the modules of an image. False: no memory.
  [[nodiscard]] bool Load(const collectors::SpoolReader& reader, size_t image);

  // Makes the first segment of the image's program a mapping, so that it comes
  // first in the profile. Nothing, if the image has not recorded its program.
  void AddMainMapping();

  // The location of a frame; 0: no memory. Its address is what to look up
  // (unwind::LookupPc), translated to where the mapping was first seen.
  uint32_t LocationOf(const collectors::NodeView& node);

 private:
  struct LoadedModule {
    unwind::ModuleId id;
    uint64_t bias;
    bool is_main;
    uint32_t code_name;  // strings; 0: a file
    size_t segments_begin;
    size_t segments_end;
  };
  struct LoadedSegment {
    uint64_t start;
    uint64_t end;
    uint64_t file_offset;
    uint32_t file;  // strings
    uint32_t build_id;
    uint32_t mapping;  // 0: not asked for yet
  };

  // A frame that came up, and its location.
  struct KnownFrame {
    uint64_t offset;
    unwind::ModuleId module;
    bool exact;
    uint32_t location;  // 0: none is here
  };

  KnownFrame& PlaceOf(const collectors::NodeView& node);
  uint32_t FindLocation(const collectors::NodeView& node);
  bool AddModule(const collectors::ModuleView& module);
  uint32_t FileName(const collectors::ModuleView& module);
  uint32_t BuildIdText(std::span<const uint8_t> build_id);
  const LoadedModule* FindModule(unwind::ModuleId id) const;
  uint32_t MappingOf(LoadedSegment& segment);

  ProfileTables& tables_;
  collectors::MappedArray<LoadedModule> modules_;  // by id
  collectors::MappedArray<LoadedSegment> segments_;
  // By a hash of the frame, which the next one of that hash takes over: most of
  // a stack's frames are in other stacks, too.
  collectors::MappedArray<KnownFrame> known_;
};

}  // namespace unspool::exporters::raw

#endif  // UNSPOOL_EXPORTERS_RAW_IMAGE_MODULES_H_
