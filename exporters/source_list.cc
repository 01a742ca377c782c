// Annotated source: the lines of the functions that a pattern matches, with
// their values, in the form of pprof's -list.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "exporters/function_table.h"
#include "exporters/name_pattern.h"
#include "exporters/report_text.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

constexpr int64_t kContextLines = 5;  // before and behind lines with a value
constexpr size_t kMaxSourceBytes = size_t{64} << 20;

struct Figures {
  int64_t flat = 0;
  int64_t cum = 0;
  size_t last_sample = SIZE_MAX;  // counted in cum

  void Add(int64_t value, bool is_leaf, size_t sample) {
    if (is_leaf) flat = AddValues(flat, value);
    if (last_sample == sample) return;
    last_sample = sample;
    cum = AddValues(cum, value);
  }
};

// A function in a file.
struct Routine {
  StringId name;
  StringId file;
  Figures sum;
  std::map<int64_t, Figures> lines;
};

bool HasLines(const Routine& routine) {
  return !routine.lines.empty() && routine.lines.rbegin()->first > 0;
}

class RoutineCollector {
 public:
  RoutineCollector(const Profile& profile, const NamePattern& pattern) {
    std::map<std::pair<StringId, StringId>, uint32_t> known;
    for (const Function& function : profile.functions) {
      uint32_t routine = kNoIndex;
      if (pattern.Finds(profile.strings[function.name])) {
        const auto [entry, is_new] =
            known.try_emplace({function.name, function.filename},
                              static_cast<uint32_t>(routines_.size()));
        if (is_new) {
          routines_.push_back({function.name, function.filename, {}, {}});
        }
        routine = entry->second;
      }
      of_function_.push_back(routine);
    }
  }

  void Add(const Profile& profile, const Sample& sample, int64_t value,
           size_t sample_index) {
    bool is_leaf = true;
    for (uint32_t location : sample.locations) {
      for (const Line& line : profile.lines(profile.locations[location])) {
        const uint32_t routine = of_function_[line.function];
        if (routine != kNoIndex) {
          routines_[routine].sum.Add(value, is_leaf, sample_index);
          routines_[routine].lines[line.line].Add(value, is_leaf, sample_index);
        }
        is_leaf = false;
      }
      is_leaf = false;
    }
  }

  // Those with a value, the largest first.
  std::vector<Routine> Take() {
    std::erase_if(routines_, [](const Routine& routine) {
      return routine.sum.flat == 0 && routine.sum.cum == 0;
    });
    std::ranges::stable_sort(routines_, [](const Routine& a, const Routine& b) {
      return Magnitude(a.sum.cum) > Magnitude(b.sum.cum);
    });
    return std::move(routines_);
  }

 private:
  std::vector<Routine> routines_;
  std::vector<uint32_t> of_function_;  // kNoIndex: does not match
};

// The lines of a source file; empty if it cannot be read. Line 1 is at 0.
std::vector<std::string> ReadSource(const std::string& path) {
  // Not what waits for a writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return {};
  const absl::Cleanup close_file = [fd] { close(fd); };
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::string text(std::min(kMaxSourceBytes, static_cast<size_t>(info.st_size)),
                   '\0');
  size_t size = 0;
  for (ssize_t got = 1; got > 0 && size < text.size();
       size += static_cast<size_t>(std::max<ssize_t>(got, 0))) {
    got = read(fd, text.data() + size, text.size() - size);
  }
  text.resize(size);
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// Tabs to the next multiple of 8, nothing that a terminal obeys.
std::string Expand(std::string_view line) {
  std::string out;
  for (char c : line) {
    if (c != '\t') {
      out += c;
    } else {
      out.append(8 - out.size() % 8, ' ');
    }
  }
  return Printable(out);
}

class RoutineWriter {
 public:
  RoutineWriter(const ReportContext& context, const ValueColumns& columns,
                std::ostream& out)
      : context_(context), columns_(columns), out_(out) {}

  void Write(const Routine& routine) const {
    const StringTable& strings = context_.profile.strings;
    const std::string file(strings[routine.file]);
    const size_t width = context_.request.style.width;
    if (width == 0) {
      out_ << "ROUTINE ======================== "
           << Printable(strings[routine.name]) << " in " << Printable(file)
           << '\n';
    } else {
      out_ << FitName(strings[routine.name], width) << "\n  in "
           << FitPath(file, width - std::min<size_t>(width, 5)) << '\n';
    }
    char line[96];
    std::snprintf(line, sizeof(line), "%10s %10s (flat, cum) %s of Total\n",
                  Figure(routine.sum.flat).c_str(),
                  Figure(routine.sum.cum).c_str(),
                  columns_.Percent(routine.sum.cum).c_str());
    out_ << line;
    if (!HasLines(routine)) {
      out_ << "  (no lines are known: its file has no debug information)\n";
      return;
    }
    const std::vector<std::string> source = ReadSource(file);
    if (source.empty()) {
      out_ << "  (the source is not here: lines by number)\n";
    }
    // Gaps between lines with values are shown up to twice the context.
    int64_t next = 0;
    for (auto at = routine.lines.begin(); at != routine.lines.end(); ++at) {
      const int64_t from = std::max<int64_t>(1, at->first - kContextLines);
      if (next != 0 && from > next) out_ << "       ...\n";
      WriteContext(source, std::max(next, from), at->first);
      WriteLine(source, at->first, &at->second);
      next = at->first + 1;
      const auto following = std::next(at);
      int64_t limit = next + kContextLines;
      if (following != routine.lines.end()) {
        limit = std::min(limit, following->first);
      }
      WriteContext(source, next, limit);
      next = std::max(next, limit);
    }
  }

 private:
  std::string Figure(int64_t value) const {
    return value == 0 ? "." : columns_.Value(value);
  }

  // Lines of the file without a value, from `begin` up to before `end`.
  void WriteContext(const std::vector<std::string>& source, int64_t begin,
                    int64_t end) const {
    const auto count = static_cast<int64_t>(source.size());
    for (int64_t line = begin; line < end && line <= count; ++line) {
      WriteLine(source, line, nullptr);
    }
  }

  void WriteLine(const std::vector<std::string>& source, int64_t number,
                 const Figures* figures) const {
    const Figures none;
    if (figures == nullptr) figures = &none;
    char head[96];
    std::snprintf(head, sizeof(head),
                  "%10s %10s %6lld:", Figure(figures->flat).c_str(),
                  Figure(figures->cum).c_str(), static_cast<long long>(number));
    std::string text;
    if (number > 0 && static_cast<uint64_t>(number) <= source.size()) {
      text = Expand(source[static_cast<size_t>(number) - 1]);
    }
    const size_t width = context_.request.style.width;
    const size_t used = std::string_view(head).size();
    if (width > used) text.resize(std::min(text.size(), width - used));
    // Lines without a value stay plain: they are there to be read.
    const double share = columns_.Share(figures->cum);
    out_ << head
         << (share == 0 ? text
                        : Shade(context_.request.style, share, std::move(text)))
         << '\n';
  }

  const ReportContext& context_;
  const ValueColumns& columns_;
  std::ostream& out_;
};

}  // namespace

absl::Status WriteSourceList(const ReportContext& context, std::ostream& out) {
  const Profile& profile = context.profile;
  const auto pattern = NamePattern::Create(context.request.function);
  if (!pattern.ok()) return pattern.status();
  RoutineCollector collector(profile, *pattern);
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const Sample sample = profile.sample(i);
    const int64_t value = sample.values[context.value_index];
    if (value == 0 || !context.filter.Keeps(sample)) continue;
    collector.Add(profile, sample, value, i);
  }
  const std::vector<Routine> routines = collector.Take();
  if (routines.empty()) {
    return absl::NotFoundError("no function matches '" +
                               context.request.function + "'");
  }
  if (std::ranges::none_of(routines, HasLines)) {
    return absl::NotFoundError(
        "no lines are known of '" + context.request.function +
        "', its file has no debug information: --callers needs none");
  }
  int64_t smallest = 0;
  for (const Routine& routine : routines) {
    for (const auto& [line, figures] : routine.lines) {
      const int64_t value = Magnitude(figures.cum);
      if (value != 0 && (smallest == 0 || value < smallest)) smallest = value;
    }
  }
  const ValueColumns columns(context, smallest,
                             TotalValue(profile, context.value_index));
  out << "Total: " << columns.Value(columns.total()) << '\n';
  const RoutineWriter writer(context, columns, out);
  for (const Routine& routine : routines) writer.Write(routine);
  return absl::OkStatus();
}

}  // namespace unspool::exporters
