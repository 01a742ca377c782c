// What the user asked for: the command line and the UNSPOOL_* variables, read
// and checked. Nothing here touches a file or starts anything.

#ifndef UNSPOOL_PROFILER_CLI_OPTIONS_H_
#define UNSPOOL_PROFILER_CLI_OPTIONS_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "exporters/report.h"

namespace unspool::profiler {

struct RecordOptions {
  std::string output = "profile.pb.gz";  // may hold %p %n %t %h
  uint32_t frequency = 100;              // samples per CPU second and thread
  uint32_t max_depth = 1024;             // frames kept of a stack
  std::string engine = "auto";
  std::string clock = "cpu";
  bool follows_children = true;
  // Sampling stops this long after the start; the program runs on.
  std::optional<std::chrono::nanoseconds> duration;
  std::vector<std::string> command;  // never empty
};

struct ReportOptions {
  std::string file;
  exporters::ReportRequest request;  // its style is the terminal's business
  bool short_templates = false;      // f<int> is f<..>
  std::optional<size_t> rows;        // 0: all; none: what the terminal has
};

enum class ExportFormat : uint8_t { kPprof, kFolded, kHtml, kSvg, kText };

struct ExportOptions {
  std::string file;
  std::string output = "-";  // "-" is stdout
  ExportFormat format = ExportFormat::kText;
  std::string value;
  bool short_templates = false;  // f<int> is f<..>
};

struct SymbolizeOptions {
  std::string file;
  std::string output;  // "-" is stdout
};

struct MergeOptions {
  std::vector<std::string> files;  // never empty
  std::string output;              // "-" is stdout
};

struct DiffOptions {
  std::string base;
  ExportOptions view;  // its file is what is compared with the base
};

struct CfiOptions {
  std::string file;
  bool is_raw = false;  // instructions, not rows
  std::optional<uint64_t> pc;
};

// --help and --version.
struct PrintOptions {
  std::string text;
};

using Options =
    std::variant<RecordOptions, ReportOptions, ExportOptions, SymbolizeOptions,
                 MergeOptions, DiffOptions, CfiOptions, PrintOptions>;

// Returns the value of an environment variable, nullptr if it is not set.
using Environment = std::function<const char*(const char* name)>;

// Reads the arguments (without argv[0]). A flag beats its variable; a variable
// beats the default. Throws Failure(kExitUsage): unknown command or flag, a bad
// value in either place, a missing argument. Any thread.
// Not async-signal-safe: allocates and throws.
Options ParseOptions(const std::vector<std::string>& arguments,
                     const Environment& environment);

}  // namespace unspool::profiler

#endif  // UNSPOOL_PROFILER_CLI_OPTIONS_H_
