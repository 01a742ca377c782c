// What can be wrong with a spool, for writer and reader.

#ifndef UNSPOOL_COLLECTORS_SPOOL_SPOOL_STATUS_H_
#define UNSPOOL_COLLECTORS_SPOOL_SPOOL_STATUS_H_

#include <cstdint>

namespace unspool::collectors {

enum class SpoolStatus : uint8_t {
  kOk,
  kNotASpool,      // too short, no or foreign magic
  kWrongVersion,   // a spool of another version
  kCorrupt,        // a spool's header, but no image in it that can be read
  kTooSmall,       // no room even for an image, or RLIMIT_FSIZE leaves none
  kNoMemory,       // mapping, populating or allocating failed
  kBadDescriptor,  // the file cannot be sized, written or mapped
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_SPOOL_SPOOL_STATUS_H_
