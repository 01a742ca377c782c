#include "profiler/cli/summary.h"

#include <cmath>
#include <cstdio>

namespace unspool::profiler {
namespace {

std::string Fixed(double value, int digits) {
  char text[64];
  snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

std::string Count(uint64_t number, const char* unit) {
  return std::to_string(number) + " " + unit + (number == 1 ? "" : "s");
}

// Overruns merge ticks into one sample of more weight: the kernel's own tick
// bounds the rate of CPU-time timers. Said from a tenth of a missing rate on,
// and only where there should be enough samples to tell.
std::string RateReached(const SummaryFacts& facts) {
  constexpr double kEnough = 50;
  if (facts.totals.is_wall) return "";  // a thread that waits is seen seldom
  const uint64_t sampled_ns = facts.totals.weight_ns - facts.totals.lost_ns;
  const double seconds = static_cast<double>(sampled_ns) / 1e9;
  if (seconds * facts.frequency < kEnough) return "";
  const double reached = static_cast<double>(facts.totals.samples) / seconds;
  if (reached > 0.9 * facts.frequency) return "";
  return " (reached " + std::to_string(std::lround(reached)) + ")";
}

// Only where something was audited: one stack in 1,024.
std::string Audits(const exporters::RawTotals& totals) {
  if (totals.audited == 0) return "";
  const std::string cause = totals.audit_differs == 0
                                ? ""
                                : std::string(" (") + totals.audit_cause + ")";
  return ", " + std::to_string(totals.audit_differs) + " of " +
         std::to_string(totals.audited) + " audited stacks differ" + cause;
}

// A loss may stand for one tick or for all that a thread did.
std::string LossShare(const exporters::RawTotals& totals) {
  constexpr uint64_t kFloorNs = 10'000'000;
  if (totals.lost_ns < kFloorNs) return "";
  return " (" + Fixed(static_cast<double>(totals.lost_ns) / 1e9, 2) + " s of " +
         Fixed(static_cast<double>(totals.weight_ns) / 1e9, 2) + " s, " +
         totals.lost_cause + ")";
}

// Programs without the agent, and what ran before, between and after the
// agent's sessions.
std::string NotProfiled(const SummaryFacts& facts) {
  constexpr uint64_t kFloorNs = 100'000'000;
  const uint64_t profiled = facts.totals.weight_ns - facts.totals.waiting_ns;
  if (facts.cpu_time_ns <= profiled) return "";
  const uint64_t missing = facts.cpu_time_ns - profiled;
  // The wall clock's own looks are in it.
  const uint64_t least_share = facts.totals.is_wall ? 5 : 20;
  if (missing < kFloorNs || missing < facts.cpu_time_ns / least_share) {
    return "";
  }
  return ", " + Fixed(static_cast<double>(missing) / 1e9, 2) + " s of " +
         Fixed(static_cast<double>(facts.cpu_time_ns) / 1e9, 2) +
         " s CPU time not profiled (" +
         (facts.follows_children ? "programs without the agent"
                                 : "child processes") +
         ", or outside start and stop)";
}

}  // namespace

std::string ShellWord(const std::string& text) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) {
    return text;
  }
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? "'\\''" : std::string(1, c);
  return word + "'";
}

std::string SummaryLine(const SummaryFacts& facts) {
  const exporters::RawTotals& totals = facts.totals;
  const double truncated = totals.samples == 0
                               ? 0
                               : 100.0 * static_cast<double>(totals.truncated) /
                                     static_cast<double>(totals.samples);
  std::string line = Count(totals.samples, "sample");
  const std::string not_profiled = NotProfiled(facts);
  if (totals.samples == 0 && totals.lost == 0 && not_profiled.empty()) {
    line += " (the program used hardly any CPU time)";
  }
  line += ", " + std::to_string(totals.lost) + " lost" + LossShare(totals) +
          ", " + Fixed(truncated, 2) + " % truncated" + Audits(totals) + ", " +
          facts.engine + " at " + std::to_string(facts.frequency) + " Hz" +
          RateReached(facts) + (totals.is_wall ? ", wall clock" : "") +
          not_profiled;
  const std::string file = ShellWord(facts.output);
  return line + " -> " + file + "  (next: unspool report " + file + ")";
}

}  // namespace unspool::profiler
