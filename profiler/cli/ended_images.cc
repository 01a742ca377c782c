#include "profiler/cli/ended_images.h"

#include <errno.h>
#include <signal.h>

#include <algorithm>

#include "profiler/cli/recorded_process.h"

namespace unspool::profiler {
namespace {

constexpr std::chrono::milliseconds kPause(100);
constexpr uint64_t kLeastGrowth = 512;  // pages
// Of what is used: a look costs a moment for each of its chunks.
constexpr uint64_t kGrowthShare = 64;

}  // namespace

EndedImages::EndedImages(RecordingSpool& spool)
    : spool_(spool),
      pid_namespace_(PidNamespaceOf("/proc/self")),
      due_pages_(kLeastGrowth) {}

std::chrono::nanoseconds EndedImages::Look() {
  if (spool_.used_pages() < due_pages_) return kPause;
  {
    const UnusedPages unused(spool_);
    Condense();
  }
  const uint64_t used = spool_.used_pages();
  due_pages_ = used + std::max(kLeastGrowth, used / kGrowthShare);
  return kPause;
}

// The first image, and others of its process, say what the recording is of.
void EndedImages::Condense() {
  collectors::SpoolReader reader;
  if (reader.Open(spool_.bytes(), spool_.unused()) !=
      collectors::SpoolStatus::kOk) {
    return;
  }
  const int32_t first_pid = reader.image(0).pid;
  for (size_t i = 1; i < reader.image_count(); ++i) {
    const collectors::ImageView image = reader.image(i);
    if (image.pid == first_pid || !HasEnded(image)) continue;
    if (!archive_.is_open() &&
        archive_.Open(spool_.fd()) != collectors::SpoolStatus::kOk) {
      return;
    }
    if (!archive_.Add(reader, i)) return;
    reader.ForEachChunk(
        i, [&](const collectors::PageRun& run) { spool_.Free(run); });
  }
}

// For sure: a number that is in use again is somebody's. In another namespace
// it says nothing here.
bool EndedImages::HasEnded(const collectors::ImageView& image) const {
  return image.pid_namespace != 0 && image.pid_namespace == pid_namespace_ &&
         image.pid > 0 && kill(image.pid, 0) != 0 && errno == ESRCH;
}

}  // namespace unspool::profiler
