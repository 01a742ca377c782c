#include "exporters/raw/comments.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "collectors/spool/mapped_array.h"
#include "exporters/raw/pprof_fields.h"

namespace unspool::exporters::raw {

using collectors::ImageView;
using collectors::SpoolReader;
using collectors::TextView;

namespace {

constexpr double kNanosPerSecond = 1e9;

// One comment after the other, each put together from parts.
class CommentText {
 public:
  void Begin(const char* key) {
    text_.Truncate(0);
    Add("unspool.");
    Add(key);
    Add("=");
  }
  void Add(TextView text) { ok_ = ok_ && text_.AppendAll(text); }
  void Add(const char* text) { Add(TextView(text, strlen(text))); }
  void AddShellWord(TextView word);

  TextView text() const { return text_.view(); }
  bool ok() const { return ok_; }

 private:
  collectors::MappedArray<char> text_;
  bool ok_ = true;  // stays false: what failed once may be a part of any
};

bool NeedsQuotes(TextView word) {
  constexpr char kPlain[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
      "%+,-./:=@_^";
  for (const char c : word) {
    if (c == '\0' || strchr(kPlain, c) == nullptr) return true;
  }
  return word.empty();
}

// As one would type it to a shell, so that arguments stay apart.
void CommentText::AddShellWord(TextView word) {
  if (!NeedsQuotes(word)) return Add(word);
  Add("'");
  for (const char& c : word) {
    if (c == '\'') {
      Add("'\\''");
    } else {
      Add(TextView(&c, 1));
    }
  }
  Add("'");
}

class CommentWriter {
 public:
  CommentWriter(ProfileTables& tables, ProfileStream& stream)
      : tables_(tables), stream_(stream) {}

  void AddText(const char* key, TextView value) {
    if (value.empty()) return;
    comment_.Begin(key);
    comment_.Add(value);
    Write();
  }

  void AddCount(const char* key, uint64_t value) {
    char text[32];
    snprintf(text, sizeof(text), "%" PRIu64, value);
    AddText(key, TextView(text, strlen(text)));
  }

  // At most one decimal, and only where it says something.
  void AddRate(const char* key, double value) {
    char text[48];
    snprintf(text, sizeof(text), "%.1f", value);
    size_t size = strlen(text);
    if (text[size - 1] == '0') size -= 2;
    AddText(key, TextView(text, size));
  }

  void AddCommand(TextView command_line) {
    if (command_line.empty()) return;
    comment_.Begin("command");
    for (size_t begin = 0; begin < command_line.size();) {
      const TextView rest = command_line.subspan(begin);
      const size_t size = strnlen(rest.data(), rest.size());
      if (begin > 0) comment_.Add(" ");
      comment_.AddShellWord(rest.first(size));
      begin += size + 1;
    }
    Write();
  }

  // "pid_namespace=pid:[1]" where all images are in that one, else for each
  // with the processes that are in it: "pid_namespace=pid:[1] 10 11".
  void AddPidNamespaces(const SpoolReader& reader) {
    const uint32_t first = reader.image(0).pid_namespace;
    bool is_only = true;
    reader.ForEachImage([&](const ImageView& image) {
      is_only = is_only && image.pid_namespace == first;
    });
    if (!is_only) return AddPidNamespaceLists(reader);
    if (first == 0) return;
    BeginPidNamespace(first);
    Write();
  }

  // "lost=7", then "lost.full=4" for each cause that there was.
  template <typename Counts, typename NameOf>
  void AddCauses(const char* key, uint64_t total, const Counts& counts,
                 NameOf name_of) {
    AddCount(key, total);
    for (size_t i = 0; i < counts.size(); ++i) {
      if (counts[i] == 0) continue;
      char full_key[64];
      snprintf(full_key, sizeof(full_key), "%s.%s", key, name_of(i));
      AddCount(full_key, counts[i]);
    }
  }

 private:
  void BeginPidNamespace(uint32_t number) {
    char text[32];
    snprintf(text, sizeof(text), "pid:[%" PRIu32 "]", number);
    comment_.Begin("pid_namespace");
    comment_.Add(text);
  }

  void AddPidNamespaceLists(const SpoolReader& reader) {
    struct Process {
      uint32_t pid_namespace;
      int32_t pid;
      auto operator<=>(const Process&) const = default;
    };
    collectors::MappedArray<Process> processes;
    bool ok = true;
    reader.ForEachImage([&](const ImageView& image) {
      ok = ok && processes.Append({image.pid_namespace, image.pid});
    });
    if (!ok) return;
    std::sort(processes.begin(), processes.end());
    const Process* const end = std::unique(processes.begin(), processes.end());
    for (const Process* process = processes.begin(); process != end;) {
      const uint32_t number = process->pid_namespace;
      BeginPidNamespace(number);
      for (; process != end && process->pid_namespace == number; ++process) {
        char text[16];
        snprintf(text, sizeof(text), " %" PRId32, process->pid);
        comment_.Add(text);
      }
      if (number != 0) Write();
    }
  }

  // Without memory the comment is left out: the tables and the stream know.
  void Write() {
    if (comment_.ok()) AddComment(comment_.text(), tables_, stream_);
  }

  ProfileTables& tables_;
  ProfileStream& stream_;
  CommentText comment_;
};

// Ticks that came as one with another, by the weights: the kernel's own tick is
// slower than what was asked for, or it throttled.
uint64_t MergedTicks(uint64_t period_ns, const Tally& tally) {
  if (period_ns == 0) return 0;
  const uint64_t ticks = tally.running_weight_ns / period_ns;
  return ticks - std::min(ticks, tally.running_samples);
}

}  // namespace

void AddComment(TextView text, ProfileTables& tables, ProfileStream& stream) {
  stream.AddVarint(profile_field::kComment, tables.strings().Intern(text));
}

void AddComments(const SpoolReader& reader, const Tally& tally,
                 ProfileTables& tables, ProfileStream& stream) {
  CommentWriter comments(tables, stream);
  const ImageView first = reader.image(0);
  comments.AddText("version",
                   TextView(UNSPOOL_VERSION, strlen(UNSPOOL_VERSION)));
  comments.AddCommand(first.command_line);
  comments.AddText("host", first.hostname);
  comments.AddText("engine", first.engine);
  if (first.period_ns != 0) {
    comments.AddRate("frequency", kNanosPerSecond / first.period_ns);
  }
  if (tally.running_weight_ns != 0) {
    comments.AddRate("rate", tally.running_samples * kNanosPerSecond /
                                 tally.running_weight_ns);
  }
  comments.AddCount("merged_ticks", MergedTicks(first.period_ns, tally));
  uint64_t cpu_ns = 0;
  reader.ForEachImage(
      [&](const ImageView& image) { cpu_ns += image.end_cpu_ns; });
  if (cpu_ns != 0) comments.AddCount("cpu_ns", cpu_ns);
  comments.AddPidNamespaces(reader);
  comments.AddCount("images", tally.totals.images);
  comments.AddCount("threads", tally.totals.threads);
  comments.AddCount("samples", tally.totals.samples);
  comments.AddCauses("truncated", tally.totals.truncated, tally.truncated,
                     TruncationName);
  comments.AddCauses("lost", tally.totals.lost, tally.lost, LossName);
  comments.AddCount("audited", tally.totals.audited);
  collectors::AuditArray differs = reader.audits();
  differs[static_cast<size_t>(unwind::AuditFinding::kSame)] = 0;
  comments.AddCauses("audit_differs", tally.totals.audit_differs, differs,
                     AuditName);
}

}  // namespace unspool::exporters::raw
