#include "profiler/cli/option_values.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "profiler/cli/message.h"

namespace unspool::profiler {
namespace {

[[noreturn]] void BadValue(std::string_view name, std::string_view text,
                           const std::string& wanted) {
  throw Failure(kExitUsage, "bad value " + Quoted(text) + " for " +
                                std::string(name) + ": give " + wanted);
}

std::string Join(const std::vector<std::string>& words) {
  std::string joined;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) joined += i + 1 == words.size() ? " or " : ", ";
    joined += words[i];
  }
  return joined;
}

std::optional<ExportFormat> FormatOfEnding(std::string_view path) {
  if (path.ends_with(".pb.gz") || path.ends_with(".pb")) {
    return ExportFormat::kPprof;
  }
  if (path.ends_with(".folded")) return ExportFormat::kFolded;
  if (path.ends_with(".html")) return ExportFormat::kHtml;
  if (path.ends_with(".svg")) return ExportFormat::kSvg;
  if (path.ends_with(".txt")) return ExportFormat::kText;
  return std::nullopt;
}

}  // namespace

uint32_t ParseNumber(std::string_view name, std::string_view text, uint32_t low,
                     uint32_t high) {
  uint32_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number < low || number > high) {
    BadValue(name, text,
             "a whole number from " + std::to_string(low) + " to " +
                 std::to_string(high));
  }
  return number;
}

uint64_t ParseAddress(std::string_view name, std::string_view text) {
  const std::string_view digits =
      text.starts_with("0x") || text.starts_with("0X") ? text.substr(2) : text;
  uint64_t address = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, address, 16);
  if (error != std::errc() || rest != end) {
    BadValue(name, text, "an address in hexadecimal digits, as 0x1234");
  }
  return address;
}

std::chrono::nanoseconds ParseSeconds(std::string_view name,
                                      std::string_view text) {
  constexpr double kMaxSeconds = 1e9;
  double seconds = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] =
      std::from_chars(text.data(), end, seconds, std::chars_format::fixed);
  if (error != std::errc() || rest != end || !(seconds > 0) ||
      seconds > kMaxSeconds) {
    BadValue(name, text, "seconds above 0, such as 10 or 0.5");
  }
  return std::chrono::nanoseconds(std::llround(std::ceil(seconds * 1e9)));
}

std::string ParseChoice(std::string_view name, const std::string& text,
                        const std::vector<std::string>& allowed) {
  for (const std::string& choice : allowed) {
    if (text == choice) return text;
  }
  BadValue(name, text, Join(allowed));
}

ExportFormat ParseFormat(const std::string& format, const std::string& output) {
  if (output.empty()) {
    BadValue("-o", output, "the name of a file to write, or - for stdout");
  }
  const std::optional<ExportFormat> by_ending = FormatOfEnding(output);
  if (format == "pprof") return ExportFormat::kPprof;
  if (format == "folded") return ExportFormat::kFolded;
  if (format == "html") return ExportFormat::kHtml;
  if (format == "svg") return ExportFormat::kSvg;
  if (format == "text") return ExportFormat::kText;
  if (!format.empty()) {
    BadValue("--format", format,
             Join({"pprof", "folded", "html", "svg", "text"}));
  }
  if (by_ending.has_value()) return *by_ending;
  if (output == "-") return ExportFormat::kText;
  throw Failure(kExitUsage,
                "cannot tell a format from the name " + Quoted(output) +
                    ": give --format pprof, folded, html, svg or text, or "
                    "a name that ends in .pb.gz, .pb, .folded, .html, .svg or "
                    ".txt");
}

std::string ParseProfileOutput(std::string_view name, const std::string& text) {
  if (text.empty()) BadValue(name, text, "the name of a file to write");
  const std::optional<ExportFormat> format = FormatOfEnding(text);
  if (format.has_value() && *format != ExportFormat::kPprof) {
    BadValue(name, text,
             "a name such as profile.pb.gz, and use 'unspool export' on that "
             "for other formats");
  }
  return text;
}

std::string ParseRecordOutput(std::string_view name, const std::string& text) {
  if (text == "-") {
    BadValue(name, text,
             "the name of a file: stdout belongs to the profiled program");
  }
  return ParseProfileOutput(name, text);
}

}  // namespace unspool::profiler
