#include "exporters/raw/sample_writer.h"

#include <algorithm>
#include <cstring>

#include "exporters/raw/pprof_fields.h"

namespace unspool::exporters::raw {

using collectors::ArchivedCounter;
using collectors::ArchivedCounters;
using collectors::ArchivedView;
using collectors::CounterView;
using collectors::ImageView;
using collectors::LossArray;
using collectors::NodeView;
using collectors::SampleKind;
using collectors::SpoolReader;
using collectors::TextView;
using collectors::ThreadView;
using unwind::WalkEnd;

namespace {

constexpr size_t kAhead = 8;  // stacks between a fetch and its use

TextView NameOf(const ThreadView& thread) {
  return {thread.name.data(), strnlen(thread.name.data(), thread.name.size())};
}

}  // namespace

bool SampleWriter::WriteImage(size_t image) {
  ImageModules modules(tables_);
  StackWalker walker(reader_, image, modules, tables_);
  if (!modules.Load(reader_, image) || !order_.Build(reader_, image) ||
      !walker.Prepare()) {
    return false;
  }
  const ImageView view = reader_.image(image);
  const bool is_wall = view.clock == collectors::SampleClock::kWall;
  return WriteProcess(view, [&] {
    bool ok = true;
    reader_.ForEachThread(image, [&](const ThreadView& thread) {
      ok = ok && WriteThread(view, thread, [&] {
             return WriteCounters(image, is_wall, thread, walker);
           });
    });
    return ok;
  });
}

// In the order that they have there: their stacks came up one after another.
bool SampleWriter::WriteArchive() {
  const size_t archive = reader_.archive();
  if (archive == SpoolReader::kNoImage) return true;
  ImageModules modules(tables_);
  StackWalker walker(reader_, archive, modules, tables_);
  if (!modules.Load(reader_, archive) || !walker.Prepare()) return false;
  bool ok = true;
  reader_.ForEachArchived([&](const ArchivedView& image) {
    ok = ok && WriteProcess(image.facts, [&] {
           WriteArchivedThreads(image, walker);
           return tables_.ok();
         });
  });
  return ok;
}

void SampleWriter::WriteArchivedThreads(const ArchivedView& image,
                                        StackWalker& walker) {
  const bool is_wall = image.facts.clock == collectors::SampleClock::kWall;
  SpoolReader::ForEachArchivedThread(
      image, [&](const ThreadView& thread, ArchivedCounters counters) {
        static_cast<void>(WriteThread(image.facts, thread, [&] {
          ArchivedCounter next;
          while (counters.Next(&next)) {
            if (!IsWritten(next.counter.kind, is_wall)) continue;
            WriteCounter(next.counter, is_wall,
                         next.has_leaf ? &next.leaf : nullptr, walker);
          }
          return true;
        }));
      });
}

template <typename Writer>
bool SampleWriter::WriteProcess(const ImageView& view, Writer write_threads) {
  ++tally_.totals.images;
  const RawTotals before = tally_.totals;
  SetLabels(view, nullptr);
  WriteLosses(view.losses);
  if (!tables_.ok() || !write_threads()) return false;
  WriteUnseen(view, tally_.totals.weight_ns - before.weight_ns,
              tally_.totals.threads - before.threads);
  return true;
}

template <typename Writer>
bool SampleWriter::WriteThread(const ImageView& view, const ThreadView& thread,
                               Writer write_counters) {
  const uint64_t weight_before = tally_.totals.weight_ns;
  ++tally_.totals.threads;
  SetLabels(view, &thread);
  if (!write_counters()) return false;
  WriteLosses(thread.losses);
  if (thread.unsampled_ns != 0) {
    WriteStackless(tables_.FindOrAddPseudo("[unsampled]"), no_label_,
                   thread.unsampled_ns);
  }
  tally_.largest_thread_weight_ns = std::max(
      tally_.largest_thread_weight_ns, tally_.totals.weight_ns - weight_before);
  return tables_.ok();
}

bool SampleWriter::WriteCounters(size_t image, bool is_wall,
                                 const ThreadView& thread,
                                 StackWalker& walker) {
  if (!counters_.Collect(image, thread, order_, is_wall)) return false;
  for (size_t i = 0; i < counters_.size(); ++i) {
    if (i + 2 * kAhead < counters_.size()) {
      counters_.Prefetch(i + 2 * kAhead);
      walker.Prefetch(counters_[i + kAhead].stack);
    }
    WriteCounter(counters_[i], is_wall, /*leaf=*/nullptr, walker);
  }
  return true;
}

// Threads that ended before anybody found them. What others used since their
// last tick is not missing, nor is what clocks differ by. Not in the totals,
// which are what was recorded.
void SampleWriter::WriteUnseen(const ImageView& view, uint64_t weight_ns,
                               uint64_t threads) {
  const uint64_t usual_ns =
      view.end_cpu_ns / 100 + (threads + 1) * view.period_ns;
  if (view.clock != collectors::SampleClock::kCpu ||
      view.end_cpu_ns <= weight_ns + usual_ns) {
    return;
  }
  SetLabels(view, nullptr);
  WriteTime(tables_.FindOrAddPseudo("[unsampled]"), no_label_,
            view.end_cpu_ns - weight_ns);
}

void SampleWriter::WriteLostImages() {
  labels_.Clear();
  const collectors::LossCounter lost = reader_.lost();
  WriteLoss(static_cast<size_t>(collectors::LossCause::kFull), lost.count,
            lost.weight);
}

void SampleWriter::WriteCounter(const CounterView& counter, bool is_wall,
                                const NodeView* leaf, StackWalker& walker) {
  const bool is_waiting = counter.kind == SampleKind::kOffCpu;
  const ProtoMessage& state =
      is_waiting ? waiting_label_ : (is_wall ? running_label_ : no_label_);
  if (is_waiting) tally_.totals.waiting_ns += counter.weight;
  if (is_waiting && counter.stack == collectors::kRunnableNode) {
    WriteStackless(tables_.FindOrAddPseudo("[runnable]"), state,
                   counter.weight);
    return;
  }
  StackWalker::Stack stack;
  const bool is_there = leaf != nullptr ? walker.Read(*leaf, &stack)
                                        : walker.Read(counter.stack, &stack);
  if (!is_there) {
    WriteLoss(kUnreadable, counter.count, counter.weight);
    return;
  }
  sample_.Clear();
  sample_.AddBytes(sample_field::kLocationId, stack.locations);
  AddValues(counter.count, counter.weight);
  sample_.Append(labels_);
  sample_.Append(state);
  if (stack.has_guessed) sample_.Append(guessed_label_);
  stream_.AddMessage(profile_field::kSample, sample_);
  CountSample(counter, stack.end);
}

void SampleWriter::AddValues(uint64_t count, uint64_t weight_ns) {
  const uint64_t values[] = {count, weight_ns};
  sample_.AddPacked(sample_field::kValue, values);
}

void SampleWriter::CountSample(const CounterView& counter, WalkEnd end) {
  tally_.totals.samples += counter.count;
  tally_.totals.weight_ns += counter.weight;
  if (end != WalkEnd::kRoot) {
    tally_.truncated[static_cast<size_t>(end)] += counter.count;
    tally_.totals.truncated += counter.count;
  }
  if (counter.kind == SampleKind::kOffCpu) return;
  tally_.running_samples += counter.count;
  tally_.running_weight_ns += counter.weight;
}

void SampleWriter::CountAudits() {
  const collectors::AuditArray audits = reader_.audits();
  RawTotals& totals = tally_.totals;
  uint64_t most = 0;
  for (size_t i = 0; i < audits.size(); ++i) {
    totals.audited += audits[i];
    if (i == static_cast<size_t>(unwind::AuditFinding::kSame)) continue;
    totals.audit_differs += audits[i];
    if (audits[i] <= most) continue;
    most = audits[i];
    totals.audit_cause = AuditName(i);
  }
}

void SampleWriter::WriteLosses(const LossArray& losses) {
  for (size_t i = 0; i < collectors::kLossCauseCount; ++i) {
    WriteLoss(i, losses[i].count, losses[i].weight);
  }
}

void SampleWriter::WriteLoss(size_t cause, uint64_t count, uint64_t weight_ns) {
  tally_.lost[cause] += count;
  tally_.lost_ns[cause] += weight_ns;
  RawTotals& totals = tally_.totals;
  totals.lost += count;
  totals.lost_ns += weight_ns;
  const auto* most =
      std::max_element(tally_.lost_ns.begin(), tally_.lost_ns.end());
  if (*most != 0) totals.lost_cause = LossName(most - tally_.lost_ns.begin());
  if (weight_ns == 0) return;
  WriteStackless(PseudoFrame(tables_, "lost", LossName(cause)), no_label_,
                 weight_ns);
}

void SampleWriter::WriteStackless(uint32_t pseudo_frame,
                                  const ProtoMessage& state,
                                  uint64_t weight_ns) {
  tally_.totals.weight_ns += weight_ns;
  WriteTime(pseudo_frame, state, weight_ns);
}

void SampleWriter::WriteTime(uint32_t pseudo_frame, const ProtoMessage& state,
                             uint64_t weight_ns) {
  const uint64_t locations[] = {pseudo_frame};
  sample_.Clear();
  sample_.AddPacked(sample_field::kLocationId, locations);
  AddValues(0, weight_ns);
  sample_.Append(labels_);
  sample_.Append(state);
  stream_.AddMessage(profile_field::kSample, sample_);
}

void SampleWriter::SetLabels(const ImageView& image, const ThreadView* thread) {
  MakeLabel("unwind", "guessed", &guessed_label_);
  MakeLabel("state", "running", &running_label_);
  MakeLabel("state", "waiting", &waiting_label_);
  labels_.Clear();
  AddNumberLabel("pid", image.pid);
  if (thread != nullptr) {
    if (thread->tid != 0) AddNumberLabel("tid", thread->tid);
    AddTextLabel("thread", NameOf(*thread));
  }
  AddTextLabel("comm", image.Name());
}

void SampleWriter::MakeLabel(const char* key, const char* text,
                             ProtoMessage* label) {
  labels_.Clear();
  AddTextLabel(key, TextView(text, strlen(text)));
  label->Clear();
  label->Append(labels_);
}

// An empty text would read as the number 0.
void SampleWriter::AddTextLabel(const char* key, TextView text) {
  if (text.empty()) return;
  label_.Clear();
  label_.AddVarint(label_field::kKey, tables_.strings().Intern(key));
  label_.AddVarint(label_field::kText, tables_.strings().Intern(text));
  labels_.AddMessage(sample_field::kLabel, label_);
}

void SampleWriter::AddNumberLabel(const char* key, int64_t number) {
  label_.Clear();
  label_.AddVarint(label_field::kKey, tables_.strings().Intern(key));
  label_.AddVarint(label_field::kNumber, static_cast<uint64_t>(number));
  labels_.AddMessage(sample_field::kLabel, label_);
}

}  // namespace unspool::exporters::raw
