#include "profiler/cli/options.h"

#include <algorithm>
#include <map>

#include "CLI/CLI.hpp"
#include "profiler/agent/settings.h"
#include "profiler/cli/message.h"
#include "profiler/cli/option_values.h"
#include "profiler/cli/usage.h"

namespace unspool::profiler {
namespace {

// CLI11's help but for the usage line, which has to show what may follow "--".
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() {
    label("Subcommands", "Commands");
    label("Positionals", "Arguments");
    label("REQUIRED", "");
  }

  std::string make_usage(const CLI::App* app, std::string) const override {
    static const std::map<std::string, std::string> kUsage = {
        {"record", "record [OPTIONS] -- COMMAND [ARGUMENT...]"},
        {"report", "report [OPTIONS] FILE"},
        {"export", "export [OPTIONS] FILE"},
        {"symbolize", "symbolize FILE -o OUT"},
        {"merge", "merge FILE... -o OUT"},
        {"diff", "diff [OPTIONS] BASE FILE"},
        {"cfi", "cfi [OPTIONS] FILE"},
    };
    const auto usage = kUsage.find(app->get_name());
    return "Usage: unspool " +
           (usage == kUsage.end() ? "COMMAND ..." : usage->second) + "\n";
  }
};

// Every option as text; values are checked in one place for flags and
// variables alike.
struct RecordTexts {
  std::string output, frequency, seconds, engine, clock, max_depth;
  bool no_children = false;
};
struct ReportTexts {
  bool tree = false;
  std::string callers, list, rows;
  exporters::ReportRequest request;  // the rest, as it is
};
struct ViewTexts {
  std::string file, base, format, value;
  std::string output = "-";
  bool short_templates = false;
  std::vector<std::string> files;
};
struct CfiTexts {
  std::string file;
  std::optional<std::string> pc;
  bool is_raw = false;
};

void AddRecord(CLI::App& app, RecordTexts& texts) {
  CLI::App* record =
      app.add_subcommand("record", "Run a program and profile it to its end");
  const auto add = [record](const char* names, std::string& text,
                            const char* type, const char* description) {
    record->add_option(names, text, description)->type_name(type);
  };
  add("-o,--output", texts.output, "FILE",
      "Profile to write, in pprof's format [profile.pb.gz]");
  add("-F,--frequency", texts.frequency, "HZ",
      "Samples per CPU second and thread, 1 to 10000 [100]");
  add("-d,--duration", texts.seconds, "SECONDS",
      "Stop sampling after that; the program runs on");
  add("--engine", texts.engine, "ENGINE",
      "What interrupts the program: auto, timer, perf, trap [auto]");
  add("--clock", texts.clock, "CLOCK",
      "Time that is sampled: cpu, or wall for waiting, too [cpu]");
  add("--max-depth", texts.max_depth, "N",
      "Frames kept of a stack, innermost first [1024]");
  record->add_flag("--no-children", texts.no_children,
                   "Profile the program itself, not its child processes");
  record->footer(
      "FILE may hold %p (pid), %n (program), %t (time), %h (host); it is\n"
      "gzip-compressed unless it ends in .pb. UNSPOOL_OUTPUT, _FREQUENCY,\n"
      "_ENGINE, _CLOCK, _MAX_DEPTH and _CHILDREN (on, off) give other "
      "defaults.\n\n"
      "Exit status: the program's own; 128 + N if signal N ended it; 127 not\n"
      "found; 126 not executable; 2 usage; 1 if the program succeeded and the\n"
      "profile could not be written.");
}

constexpr char kFileHelp[] = "A pprof profile or an unspool spool";

void AddFile(CLI::App* command, ViewTexts& texts) {
  command->add_option("FILE", texts.file, kFileHelp)->required()->type_name("");
}

// For commands that show a profile.
void AddView(CLI::App* command, ViewTexts& texts) {
  command
      ->add_option("--value", texts.value,
                   "Count by this sample type: samples, and cpu or wall")
      ->type_name("TYPE");
  command->add_flag("--short-templates", texts.short_templates,
                    "Functions without template arguments: f<..>");
}

// For commands that write any format.
void AddFormat(CLI::App* command, ViewTexts& texts) {
  AddView(command, texts);
  command->add_option("-o,--output", texts.output, "File to write [-, stdout]")
      ->type_name("OUT");
  command
      ->add_option(
          "--format", texts.format,
          "pprof, folded, html, svg or text [by OUT's ending, else text]")
      ->type_name("FORMAT");
  command->footer("Endings of OUT: .pb.gz .pb .folded .html .svg .txt");
}

void AddReport(CLI::App& app, ViewTexts& texts, ReportTexts& report) {
  CLI::App* command = app.add_subcommand(
      "report", "Print a profile's functions, the costliest first");
  AddFile(command, texts);
  AddView(command, texts);
  const auto add = [command](const char* name, std::string& text,
                             const char* type, const char* description) {
    return command->add_option(name, text, description)->type_name(type);
  };
  CLI::Option* tree =
      command->add_flag("--tree", report.tree, "Who calls whom");
  CLI::Option* callers =
      add("--callers", report.callers, "FUNC", "Who calls FUNC")
          ->excludes(tree);
  CLI::Option* list = add("--list", report.list, "FUNC",
                          "The source lines of FUNC, with their values")
                          ->excludes(tree)
                          ->excludes(callers);
  command
      ->add_flag("--lines", report.request.by_line,
                 "Each line of a function for itself")
      ->excludes(list);
  add("--focus", report.request.filter.focus, "FUNC",
      "Only stacks with FUNC on them");
  add("--ignore", report.request.filter.ignore, "FUNC",
      "No stacks with FUNC on them");
  add("--thread", report.request.filter.thread, "THREAD",
      "Only threads of that name or tid");
  add("--tagfocus", report.request.filter.tag, "KEY=TEXT",
      "Only samples with that label: state=waiting");
  CLI::Option* rows =
      add("--nodecount", report.rows, "N",
          "Rows of a table or tree, 0 for all [all; on a terminal what fits]")
          ->excludes(list);
  command
      ->add_flag("--json", report.request.as_json,
                 "For programs: all values as JSON")
      ->excludes(list)
      ->excludes(rows);
  command->footer(
      "FUNC, THREAD and TEXT are regular expressions; FUNC may match anywhere, "
      "also\n"
      "in the name of the source file or module. Percentages are of all\n"
      "samples, whatever is shown.");
}

void AddViews(CLI::App& app, ViewTexts& texts) {
  CLI::App* exporter =
      app.add_subcommand("export", "Convert a profile to another format");
  AddFile(exporter, texts);
  AddFormat(exporter, texts);
  CLI::App* diff = app.add_subcommand(
      "diff", "Show what changed from one profile to another");
  diff->add_option("BASE", texts.base, "The profile before")
      ->required()
      ->type_name("");
  diff->add_option("FILE", texts.file, "The profile after, scaled to BASE")
      ->required()
      ->type_name("");
  AddFormat(diff, texts);
}

// For commands that write a profile.
void AddProfileOutput(CLI::App* command, ViewTexts& texts) {
  command
      ->add_option("-o,--output", texts.output,
                   "Profile to write; gzip-compressed unless it ends in .pb")
      ->required()
      ->type_name("OUT");
}

void AddProfileMakers(CLI::App& app, ViewTexts& texts) {
  CLI::App* symbolize = app.add_subcommand(
      "symbolize", "Name the functions of a profile that has addresses");
  symbolize
      ->add_option("FILE", texts.file,
                   "A profile of pprof's format or of gperftools, or a spool")
      ->required()
      ->type_name("");
  AddProfileOutput(symbolize, texts);
  CLI::App* merge =
      app.add_subcommand("merge", "Add up profiles into one profile");
  merge->add_option("FILE", texts.files, kFileHelp)->required()->type_name("");
  AddProfileOutput(merge, texts);
}

void AddCfi(CLI::App& app, CfiTexts& texts) {
  CLI::App* cfi = app.add_subcommand(
      "cfi", "Print the call-frame information that stacks are unwound by");
  cfi->add_option("FILE", texts.file, "A program, library or object file")
      ->required()
      ->type_name("");
  cfi->add_option("--pc", texts.pc,
                  "Only what holds at this address, as the file has it (hex)")
      ->type_name("ADDR");
  cfi->add_flag("--raw", texts.is_raw, "Instructions, not the rows they make");
  cfi->footer(
      "In the words of readelf --debug-dump=frames-interp, and =frames.");
}

// The flag if it was given, else the variable if it is set (and not empty).
// Calls use(name, text) with the place that a bad value has to be blamed on.
template <typename Use>
void Resolve(const CLI::App& app, const char* flag, const std::string& text,
             const char* variable, const Environment& environment, Use use) {
  if (app.get_option(flag)->count() > 0) return use(flag, text);
  const char* set = variable == nullptr ? nullptr : environment(variable);
  if (set != nullptr && *set != '\0') use(variable, std::string(set));
}

RecordOptions CheckRecord(const CLI::App& app, const RecordTexts& texts,
                          std::vector<std::string> command,
                          const Environment& env) {
  if (command.empty()) {
    throw Failure(kExitUsage,
                  "no program to record: name it after --, as in 'unspool "
                  "record -- ./program argument'");
  }
  RecordOptions options;
  options.command = std::move(command);
  Resolve(app, "-o", texts.output, "UNSPOOL_OUTPUT", env,
          [&](const char* name, const std::string& text) {
            options.output = ParseRecordOutput(name, text);
          });
  Resolve(app, "-F", texts.frequency, "UNSPOOL_FREQUENCY", env,
          [&](const char* name, const std::string& text) {
            options.frequency = ParseNumber(name, text, 1, kMaxFrequency);
          });
  Resolve(app, "-d", texts.seconds, nullptr, env,
          [&](const char* name, const std::string& text) {
            options.duration = ParseSeconds(name, text);
          });
  Resolve(app, "--engine", texts.engine, "UNSPOOL_ENGINE", env,
          [&](const char* name, const std::string& text) {
            options.engine =
                ParseChoice(name, text, {"auto", "timer", "perf", "trap"});
          });
  Resolve(app, "--clock", texts.clock, "UNSPOOL_CLOCK", env,
          [&](const char* name, const std::string& text) {
            options.clock = ParseChoice(name, text, {"cpu", "wall"});
          });
  Resolve(app, "--no-children", "off", "UNSPOOL_CHILDREN", env,
          [&](const char* name, const std::string& text) {
            options.follows_children =
                ParseChoice(name, text, {"on", "off"}) == "on";
          });
  Resolve(app, "--max-depth", texts.max_depth, "UNSPOOL_MAX_DEPTH", env,
          [&](const char* name, const std::string& text) {
            options.max_depth = ParseNumber(name, text, 1, kMaxStackDepth);
          });
  return options;
}

ReportOptions CheckReport(const ViewTexts& view, const ReportTexts& report) {
  using exporters::ReportView;
  ReportOptions options;
  options.file = view.file;
  options.request = report.request;
  options.request.value = view.value;
  options.short_templates = view.short_templates;
  if (!report.rows.empty()) {
    options.rows = ParseNumber("--nodecount", report.rows, 0, UINT32_MAX);
  }
  if (report.tree) options.request.view = ReportView::kTree;
  for (const auto& [view_of, function] :
       {std::pair(ReportView::kCallers, &report.callers),
        std::pair(ReportView::kList, &report.list)}) {
    if (function->empty()) continue;
    options.request.view = view_of;
    options.request.function = *function;
  }
  return options;
}

CfiOptions CheckCfi(const CfiTexts& texts) {
  CfiOptions options = {.file = texts.file, .is_raw = texts.is_raw, .pc = {}};
  if (texts.pc) options.pc = ParseAddress("--pc", *texts.pc);
  return options;
}

ExportOptions CheckExport(const ViewTexts& texts) {
  ExportOptions options;
  options.file = texts.file;
  options.value = texts.value;
  options.short_templates = texts.short_templates;
  options.format = ParseFormat(texts.format, texts.output);
  options.output = texts.output;
  return options;
}

Options Parse(CLI::App& app, std::vector<std::string> arguments,
              std::vector<std::string> command, const RecordTexts& record,
              const ViewTexts& view, const ReportTexts& report,
              const CfiTexts& cfi, const Environment& environment) {
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
  app.parse(std::move(arguments));
  if (app.got_subcommand("record")) {
    return CheckRecord(*app.get_subcommand("record"), record,
                       std::move(command), environment);
  }
  if (app.got_subcommand("report")) {
    return CheckReport(view, report);
  }
  if (app.got_subcommand("symbolize")) {
    return SymbolizeOptions{view.file, ParseProfileOutput("-o", view.output)};
  }
  if (app.got_subcommand("merge")) {
    return MergeOptions{view.files, ParseProfileOutput("-o", view.output)};
  }
  if (app.got_subcommand("cfi")) return CheckCfi(cfi);
  if (app.got_subcommand("diff")) {
    return DiffOptions{view.base, CheckExport(view)};
  }
  return CheckExport(view);
}

}  // namespace

Options ParseOptions(const std::vector<std::string>& given,
                     const Environment& environment) {
  const std::vector<std::string> arguments = WithoutHelpCommand(given);
  CheckCommandName(arguments);
  // The command to profile is cut off first: its own flags, a second "--"
  // included, are none of CLI11's business.
  auto split = arguments.end();
  std::vector<std::string> command;
  if (arguments[0] == "record") {
    split = std::find(arguments.begin(), arguments.end(), "--");
    if (split != arguments.end()) command.assign(split + 1, arguments.end());
  }

  CLI::App app("Profiles native programs and shows where their time goes.",
               "unspool");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", "unspool " UNSPOOL_VERSION,
                       "Print the version and exit");
  app.require_subcommand(1);
  RecordTexts record;
  ViewTexts view;
  ReportTexts report;
  CfiTexts cfi;
  AddRecord(app, record);
  AddReport(app, view, report);
  AddViews(app, view);
  AddProfileMakers(app, view);
  AddCfi(app, cfi);

  try {
    return Parse(app, {arguments.begin(), split}, std::move(command), record,
                 view, report, cfi, environment);
  } catch (const CLI::CallForHelp&) {
    const auto used = app.get_subcommands();
    return PrintOptions{used.empty() ? app.help() : used[0]->help()};
  } catch (const CLI::CallForVersion& version) {
    return PrintOptions{std::string(version.what()) + "\n"};
  } catch (const CLI::ParseError& error) {
    throw UsageFailure(app, error, arguments);
  }
}

}  // namespace unspool::profiler
