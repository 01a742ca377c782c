#include "profiler/cli/ended_images.h"

#include <errno.h>
#include <signal.h>

#include <algorithm>
#include <vector>

#include "profiler/cli/recorded_process.h"

namespace unspool::profiler {
namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr nanoseconds kPause = std::chrono::milliseconds(100);
// What waits for us meanwhile: signals, the program's end.
constexpr nanoseconds kMostAtOnce = std::chrono::milliseconds(50);
constexpr int kShare = 50;  // of the time, at most one part for looking
constexpr uint64_t kLeastGrowth = 512;  // pages
// Of what is used: a look costs a moment for each of its chunks.
constexpr uint64_t kGrowthShare = 64;
// Of the spool: before it is full, whatever it grew by.
constexpr uint64_t kRoomShare = 8;

}  // namespace

EndedImages::EndedImages(RecordingSpool& spool)
    : spool_(spool),
      pid_namespace_(PidNamespaceOf("/proc/self")),
      due_pages_(kLeastGrowth) {}

nanoseconds EndedImages::Look() {
  if (spool_.used_pages() < due_pages_) return kPause;
  // Now, and not when the first one has ended: there is room.
  if (!archive_.is_open() &&
      archive_.Open(spool_.fd()) != collectors::SpoolStatus::kOk) {
    return kPause;
  }
  const auto start = steady_clock::now();
  const std::vector<uint32_t> ended = FindEnded();
  nanoseconds looked = steady_clock::now() - start;
  const Outcome outcome = ended.empty() ? Outcome::kDone : Condense(ended);
  if (outcome == Outcome::kNoTime) return nanoseconds(0);
  if (outcome == Outcome::kNoRoom) looked = steady_clock::now() - start;
  const uint64_t used = spool_.used_pages();
  due_pages_ = std::min(used + std::max(kLeastGrowth, used / kGrowthShare),
                        spool_.page_count() / kRoomShare * (kRoomShare - 1));
  return std::max(kPause, kShare * looked);
}

// By ImageView::index. The first image, and others of its process, say what the
// recording is of and stay as they are.
std::vector<uint32_t> EndedImages::FindEnded() {
  std::vector<uint32_t> ended;
  collectors::SpoolReader reader;
  if (!spool_.Read(reader)) return ended;
  const int32_t first_pid = reader.image(0).pid;
  for (size_t i = 1; i < reader.image_count(); ++i) {
    const collectors::ImageView image = reader.image(i);
    if (image.pid != first_pid && HasEnded(image)) {
      ended.push_back(image.index);
    }
  }
  return ended;
}

// `ended` are ascending, and ended before: what a process recorded while it was
// looked for is there now.
EndedImages::Outcome EndedImages::Condense(const std::vector<uint32_t>& ended) {
  const auto start = steady_clock::now();
  collectors::SpoolReader reader;
  if (!spool_.Read(reader)) return Outcome::kNoRoom;
  auto outcome = Outcome::kNoRoom;
  for (size_t i = 0; i < reader.image_count(); ++i) {
    if (!std::binary_search(ended.begin(), ended.end(),
                            reader.image(i).index)) {
      continue;
    }
    if (archive_.Add(reader, i)) {
      std::vector<collectors::PageRun> runs;
      reader.ForEachChunk(
          i, [&](const collectors::PageRun& run) { runs.push_back(run); });
      spool_.Free(runs);
      outcome = Outcome::kDone;
    }
    if (steady_clock::now() - start > kMostAtOnce) {
      return outcome == Outcome::kDone ? Outcome::kNoTime : outcome;
    }
  }
  return outcome;
}

// For sure: a number that is in use again is somebody's. In another namespace
// it says nothing here.
bool EndedImages::HasEnded(const collectors::ImageView& image) const {
  return image.pid_namespace != 0 && image.pid_namespace == pid_namespace_ &&
         image.pid > 0 && kill(image.pid, 0) != 0 && errno == ESRCH;
}

}  // namespace unspool::profiler
