// The profile's comments: facts of the recording as "unspool.key=value".

#ifndef UNSPOOL_EXPORTERS_RAW_COMMENTS_H_
#define UNSPOOL_EXPORTERS_RAW_COMMENTS_H_

#include "collectors/spool/spool_reader.h"
#include "exporters/raw/profile_stream.h"
#include "exporters/raw/profile_tables.h"
#include "exporters/raw/sample_writer.h"

namespace unspool::exporters::raw {

// Adds version, command, host, engine, frequency, rate, in which pid namespaces
// the processes were, and what was sampled, truncated, lost and audited. Facts
// of the whole recording are the first image's.
// Not async-signal-safe: allocates.
void AddComments(const collectors::SpoolReader& reader, const Tally& tally,
                 ProfileTables& tables, ProfileStream& stream);

// Adds one comment as it is.
void AddComment(std::span<const char> text, ProfileTables& tables,
                ProfileStream& stream);

}  // namespace unspool::exporters::raw

#endif  // UNSPOOL_EXPORTERS_RAW_COMMENTS_H_
