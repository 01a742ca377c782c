// Keeps the recording small while it goes on: what processes that ended have in
// the spool is condensed, and their pages serve others again.

#ifndef UNSPOOL_PROFILER_CLI_ENDED_IMAGES_H_
#define UNSPOOL_PROFILER_CLI_ENDED_IMAGES_H_

#include <chrono>
#include <cstdint>
#include <vector>

#include "collectors/spool/spool_archive.h"
#include "collectors/spool/spool_reader.h"
#include "profiler/cli/recording_spool.h"

namespace unspool::profiler {

class EndedImages {
 public:
  explicit EndedImages(RecordingSpool& spool);

  // Looks for ended processes if the spool has grown enough since it did last,
  // or is nearly full; what condensing takes is in proportion to what was
  // recorded. Gives when to look again. Not async-signal-safe: allocates.
  std::chrono::nanoseconds Look();

 private:
  std::vector<uint32_t> FindEnded();
  // kNoTime: some were condensed, others are to come. kNoRoom: none was.
  enum class Outcome { kDone, kNoTime, kNoRoom };
  Outcome Condense(const std::vector<uint32_t>& ended);
  bool HasEnded(const collectors::ImageView& image) const;

  RecordingSpool& spool_;
  collectors::SpoolArchive archive_;
  const uint32_t pid_namespace_;  // ours
  uint64_t due_pages_;            // that are used when it is time to look
};

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_ENDED_IMAGES_H_
