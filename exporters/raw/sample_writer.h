// Turns an image's counters and losses into pprof samples, and counts what went
// by.

#ifndef UNSPOOL_EXPORTERS_RAW_SAMPLE_WRITER_H_
#define UNSPOOL_EXPORTERS_RAW_SAMPLE_WRITER_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "collectors/spool/spool_reader.h"
#include "exporters/raw/cause_names.h"
#include "exporters/raw/counter_order.h"
#include "exporters/raw/image_modules.h"
#include "exporters/raw/node_order.h"
#include "exporters/raw/profile_stream.h"
#include "exporters/raw/profile_tables.h"
#include "exporters/raw/proto_message.h"
#include "exporters/raw/raw_pprof.h"
#include "exporters/raw/stack_walker.h"
#include "unwind/frame.h"

namespace unspool::exporters::raw {

struct Tally {
  RawTotals totals;
  uint64_t running_samples = 0;           // of totals.samples, by ticks
  uint64_t running_weight_ns = 0;         // of these samples
  uint64_t largest_thread_weight_ns = 0;  // no thread ran for less time
  std::array<uint64_t, unwind::kWalkEndCount> truncated{};  // by WalkEnd
  std::array<uint64_t, kLossNames> lost{};
  std::array<uint64_t, kLossNames> lost_ns{};
};

// Not async-signal-safe: allocates.
class SampleWriter {
 public:
  SampleWriter(const collectors::SpoolReader& reader, ProfileTables& tables,
               ProfileStream& stream)
      : reader_(reader), tables_(tables), stream_(stream), counters_(reader) {}

  // Writes all samples of an image. False: no memory.
  [[nodiscard]] bool WriteImage(size_t image);
  // The same, of all images that were archived.
  [[nodiscard]] bool WriteArchive();

  // Adds up what audits found.
  void CountAudits();

  // Writes what was lost by images that found no room for their record.
  void WriteLostImages();

  const Tally& tally() const { return tally_; }

 private:
  using TextView = collectors::TextView;
  // `write_threads()`: its threads, by WriteThread(). False: no memory.
  template <typename Writer>
  bool WriteProcess(const collectors::ImageView& view, Writer write_threads);
  // `write_counters()`: its samples, by WriteCounter(). False: no memory.
  template <typename Writer>
  bool WriteThread(const collectors::ImageView& view,
                   const collectors::ThreadView& thread, Writer write_counters);
  bool WriteCounters(size_t image, bool is_wall,
                     const collectors::ThreadView& thread, StackWalker& walker);
  void WriteArchivedThreads(const collectors::ArchivedView& image,
                            StackWalker& walker);
  // `leaf`: a frame that is no node, before counter.stack; nullptr: none.
  void WriteCounter(const collectors::CounterView& counter, bool is_wall,
                    const collectors::NodeView* leaf, StackWalker& walker);
  // Fields of sample_.
  void AddValues(uint64_t count, uint64_t weight_ns);
  void CountSample(const collectors::CounterView& counter, unwind::WalkEnd end);
  // What the process used beyond `weight_ns`, that of its `threads`.
  void WriteUnseen(const collectors::ImageView& view, uint64_t weight_ns,
                   uint64_t threads);
  void WriteLosses(const collectors::LossArray& losses);
  void WriteLoss(size_t cause, uint64_t count, uint64_t weight_ns);
  // Time without a stack: one frame, no samples. WriteTime() does not count it.
  void WriteStackless(uint32_t pseudo_frame, const ProtoMessage& state,
                      uint64_t weight_ns);

  void WriteTime(uint32_t pseudo_frame, const ProtoMessage& state,
                 uint64_t weight_ns);

  // labels_ is what every sample has until the next call.
  void SetLabels(const collectors::ImageView& image,
                 const collectors::ThreadView* thread);
  void AddTextLabel(const char* key, TextView text);
  void MakeLabel(const char* key, const char* text, ProtoMessage* label);
  void AddNumberLabel(const char* key, int64_t number);

  const collectors::SpoolReader& reader_;
  ProfileTables& tables_;
  ProfileStream& stream_;
  Tally tally_;
  NodeOrder order_;             // of an image
  CounterOrder counters_;       // of a thread
  ProtoMessage labels_;         // pid, tid, thread, comm
  ProtoMessage guessed_label_;  // unwind=guessed
  ProtoMessage running_label_;  // state=running
  ProtoMessage waiting_label_;  // state=waiting
  const ProtoMessage no_label_{};
  ProtoMessage label_;   // scratch
  ProtoMessage sample_;  // scratch
};

}  // namespace unspool::exporters::raw

#endif  // UNSPOOL_EXPORTERS_RAW_SAMPLE_WRITER_H_
