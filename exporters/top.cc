// The table of functions: the figures, units and order of pprof's -top without
// its trimming.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "exporters/export.h"
#include "exporters/frame_names.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

struct TopRow {
  uint32_t name = 0;
  int64_t flat = 0;
  int64_t cum = 0;
  bool called = false;   // has a caller that it was not inlined into
  bool inlined = false;  // has one that it was inlined into
};

struct TopTable {
  int64_t total = 0;  // of absolute values, as pprof has it
  std::vector<TopRow> rows;
};

class TopBuilder {
 public:
  TopBuilder(const Profile& profile, const FrameNames& names)
      : profile_(profile),
        names_(names),
        rows_(names.size()),
        last_sample_(names.size(), kNoIndex),
        can_be_inlined_(names.size(), false) {
    for (uint32_t name = 0; name < rows_.size(); ++name) {
      rows_[name].name = name;
    }
    for (uint32_t i = 0; i < profile.locations.size(); ++i) {
      const auto frames = names.frames(i);
      for (uint32_t name : frames.first(frames.size() - 1)) {
        can_be_inlined_[name] = true;
      }
    }
  }

  TopTable Build(size_t value_index) {
    TopTable table;
    for (uint32_t i = 0; i < profile_.sample_count(); ++i) {
      const Sample sample = profile_.sample(i);
      const int64_t value = sample.values[value_index];
      if (value == 0) continue;
      table.total = AddValues(table.total, Magnitude(value));
      AddStack(sample.locations, value, i);
    }
    for (const auto& [edge, state] : edges_) {
      TopRow& callee = rows_[static_cast<uint32_t>(edge)];
      (state.inlined ? callee.inlined : callee.called) = true;
    }
    std::erase_if(
        rows_, [](const TopRow& row) { return row.flat == 0 && row.cum == 0; });
    std::ranges::sort(rows_, [this](const TopRow& a, const TopRow& b) {
      return Precedes(a, b);
    });
    table.rows = std::move(rows_);
    return table;
  }

 private:
  struct EdgeState {
    uint32_t last_sample = kNoIndex;
    bool inlined = true;
  };

  // Root to leaf: a name counts once per stack in cum, a caller-callee pair by
  // its outermost occurrence.
  void AddStack(std::span<const uint32_t> locations, int64_t value,
                uint32_t sample) {
    uint32_t caller = kNoIndex;
    for (auto location = locations.rbegin(); location != locations.rend();
         ++location) {
      const std::span<const uint32_t> frames = names_.frames(*location);
      for (size_t i = frames.size(); i-- > 0;) {
        const uint32_t name = frames[i];
        if (last_sample_[name] != sample) {
          last_sample_[name] = sample;
          rows_[name].cum = AddValues(rows_[name].cum, value);
        }
        if (can_be_inlined_[name] && caller != kNoIndex && caller != name) {
          AddEdge(caller, name, i + 1 != frames.size(), sample);
        }
        caller = name;
      }
    }
    if (caller == kNoIndex) return;
    rows_[caller].flat = AddValues(rows_[caller].flat, value);
  }

  void AddEdge(uint32_t caller, uint32_t callee, bool inlined,
               uint32_t sample) {
    EdgeState& edge = edges_[uint64_t{caller} << 32 | callee];
    if (edge.last_sample == sample) return;
    edge.last_sample = sample;
    edge.inlined = edge.inlined && inlined;
  }

  bool Precedes(const TopRow& a, const TopRow& b) const {
    const int64_t flat_a = Magnitude(a.flat);
    const int64_t flat_b = Magnitude(b.flat);
    if (flat_a != flat_b) return flat_a > flat_b;
    return names_.name(a.name) < names_.name(b.name);
  }

  const Profile& profile_;
  const FrameNames& names_;
  std::vector<TopRow> rows_;           // by name until sorted
  std::vector<uint32_t> last_sample_;  // by name: seen in this stack
  std::vector<bool> can_be_inlined_;
  // caller << 32 | callee; only for callees that are inlined somewhere.
  absl::flat_hash_map<uint64_t, EdgeState> edges_;
};

std::string TableUnit(const TopTable& table, std::string_view unit) {
  int64_t smallest = 0;
  for (const TopRow& row : table.rows) {
    const int64_t value = Magnitude(row.flat != 0 ? row.flat : row.cum);
    if (value != 0 && (smallest == 0 || value < smallest)) smallest = value;
  }
  return ChooseTableUnit(smallest, table.total, unit);
}

// "Oct 9, 2026 at 3:04pm (CEST)"
std::string FormatTime(int64_t time_ns) {
  const time_t seconds = time_ns / 1'000'000'000;
  struct tm local = {};
  char text[64] = "";
  if (localtime_r(&seconds, &local) != nullptr) {
    std::strftime(text, sizeof(text), "%b %-d, %Y at %-I:%M%P (%Z)", &local);
  }
  return text;
}

// How far the figures may be trusted: samples, how many of their stacks are not
// whole, and what is missing. Empty for profiles of other makers.
std::string TrustLine(const Profile& profile) {
  const auto samples = profile.FindComment("unspool.samples");
  const auto truncated = profile.FindComment("unspool.truncated");
  const auto lost = profile.FindComment("unspool.lost");
  if (!samples || !truncated || !lost) return "";
  const std::string percentage =
      FormatPercentage(std::atof(std::string(*truncated).c_str()),
                       std::atof(std::string(*samples).c_str()));
  return "Samples: " + Printable(*samples) +
         ", truncated: " + Printable(*truncated) + " (" +
         percentage.substr(percentage.find_first_not_of(' ')) +
         "), lost: " + Printable(*lost) + "\n";
}

void WriteHeader(const Profile& profile, const ValueType& type,
                 const TopTable& table, const std::string& table_unit,
                 std::ostream& out) {
  const std::string_view unit = profile.strings[type.unit];
  const std::string total = FormatValue(table.total, unit, table_unit);
  if (!profile.mappings.empty()) {
    out << "File: "
        << Printable(BaseName(profile.strings[profile.mappings[0].filename]))
        << '\n';
  }
  out << "Type: " << Printable(profile.strings[type.type]) << '\n';
  if (profile.time_ns != 0) {
    out << "Time: " << FormatTime(profile.time_ns) << '\n';
  }
  if (profile.duration_ns != 0) {
    out << "Duration: "
        << FormatValue(profile.duration_ns, "nanoseconds", "auto")
        << ", Total samples = " << total << ' ';
    const Quantity nanoseconds = ScaleValue(table.total, unit, "nanoseconds");
    if (nanoseconds.unit == "ns" && table.total != 0) {
      out << '('
          << FormatPercentage(nanoseconds.amount,
                              static_cast<double>(profile.duration_ns))
          << ')';
    }
    out << '\n';
  }
  out << TrustLine(profile);
}

void WriteRows(const FrameNames& names, const TopTable& table,
               std::string_view unit, const std::string& table_unit,
               std::ostream& out) {
  char line[128];
  std::snprintf(line, sizeof(line), "%10s %5s%% %5s%% %10s %5s%%\n", "flat",
                "flat", "sum", "cum", "cum");
  out << line;
  auto percent = [&table](int64_t value) {
    return FormatPercentage(static_cast<double>(value),
                            static_cast<double>(table.total));
  };
  int64_t flat_sum = 0;
  for (const TopRow& row : table.rows) {
    flat_sum = AddValues(flat_sum, row.flat);
    std::snprintf(line, sizeof(line), "%10s %s %s %10s %s  ",
                  FormatValue(row.flat, unit, table_unit).c_str(),
                  percent(row.flat).c_str(), percent(flat_sum).c_str(),
                  FormatValue(row.cum, unit, table_unit).c_str(),
                  percent(row.cum).c_str());
    out << line << Printable(names.name(row.name));
    if (row.inlined) out << (row.called ? " (partial-inline)" : " (inline)");
    out << '\n';
  }
}

}  // namespace

absl::Status WriteTop(const Profile& profile, std::string_view value,
                      std::ostream& out) {
  absl::StatusOr<size_t> index = SampleTypeIndex(profile, value);
  if (!index.ok()) return index.status();
  const FrameNames names(profile);
  const TopTable table = TopBuilder(profile, names).Build(*index);
  const ValueType& type = profile.sample_types[*index];
  const std::string_view unit = profile.strings[type.unit];
  const std::string table_unit = TableUnit(table, unit);
  WriteHeader(profile, type, table, table_unit, out);
  WriteRows(names, table, unit, table_unit, out);
  return absl::OkStatus();
}

}  // namespace unspool::exporters
