#include "profiler/cli/usage.h"

#include <algorithm>

#include "profiler/cli/message.h"

namespace unspool::profiler {
namespace {

// The first argument that nobody takes, as it was typed; CLI11 has them in no
// certain order.
std::string FirstUnexpected(const std::vector<std::string>& extras,
                            const std::vector<std::string>& arguments) {
  const auto first =
      std::ranges::find_if(arguments, [&extras](const std::string& argument) {
        return std::ranges::find(extras, argument) != extras.end();
      });
  return first == arguments.end() ? "" : *first;
}

}  // namespace

std::vector<std::string> WithoutHelpCommand(
    std::vector<std::string> arguments) {
  if (arguments.empty() || arguments[0] != "help") return arguments;
  if (arguments.size() == 1) return {"--help"};
  return {arguments[1], "--help"};
}

void CheckCommandName(const std::vector<std::string>& arguments) {
  constexpr const char* kKnown =
      "use record, report, export, diff, merge, symbolize or cfi";
  if (arguments.empty()) {
    throw Failure(kExitUsage, std::string("no command given: ") + kKnown +
                                  " (see 'unspool --help')");
  }
  const std::string& name = arguments[0];
  for (const char* known : {"record", "report", "export", "diff", "merge",
                            "symbolize", "cfi", "-h", "--help", "--version"}) {
    if (name == known) return;
  }
  throw Failure(kExitUsage, "unknown command " + Quoted(name) + ": " + kKnown +
                                " (see 'unspool --help')");
}

Failure UsageFailure(const CLI::App& app, const CLI::ParseError& error,
                     const std::vector<std::string>& arguments) {
  const auto used = app.get_subcommands();
  const std::string command = used.empty() ? "" : used[0]->get_name();
  const std::vector<std::string> extras =
      used.empty() ? std::vector<std::string>() : used[0]->remaining();
  if (command == "record" && !extras.empty() && !extras[0].starts_with("-")) {
    return Failure(kExitUsage, "unexpected " + Quoted(extras[0]) +
                                   ": put -- before the program, as in "
                                   "'unspool record -- ./program argument'");
  }
  const std::string unexpected = FirstUnexpected(extras, arguments);
  return Failure(kExitUsage,
                 (unexpected.empty() ? std::string(error.what())
                                     : "unexpected " + Quoted(unexpected)) +
                     ": see 'unspool " + command +
                     (command.empty() ? "" : " ") + "--help'");
}

}  // namespace unspool::profiler
