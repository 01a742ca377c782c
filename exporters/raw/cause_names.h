// What a profile calls the causes of what is missing in it, and the frames that
// stand for them.

#ifndef UNSPOOL_EXPORTERS_RAW_CAUSE_NAMES_H_
#define UNSPOOL_EXPORTERS_RAW_CAUSE_NAMES_H_

#include <cstddef>
#include <cstdint>

#include "collectors/spool/spool_format.h"
#include "exporters/raw/profile_tables.h"

namespace unspool::exporters::raw {

// Causes of loss: those of the recording, and stacks that the spool names but
// does not have.
inline constexpr size_t kUnreadable = collectors::kLossCauseCount;
inline constexpr size_t kLossNames = collectors::kLossCauseCount + 1;

// The word in "[lost: …]" and "[truncated: …]". Async-signal-safe.
const char* LossName(size_t cause);
const char* TruncationName(size_t end);
// What an audit found to differ (AuditFinding); "" for kSame.
// Async-signal-safe.
const char* AuditName(size_t finding);

// The location of the frame "[what: cause]"; 0: no memory.
// Not async-signal-safe: allocates.
uint32_t PseudoFrame(ProfileTables& tables, const char* what,
                     const char* cause);

}  // namespace unspool::exporters::raw

#endif  // UNSPOOL_EXPORTERS_RAW_CAUSE_NAMES_H_
