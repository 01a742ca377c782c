// The command line: options in, one command run, its failure said in one line.

#include <stdlib.h>

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <variant>
#include <vector>

#include "profiler/cli/cfi.h"
#include "profiler/cli/message.h"
#include "profiler/cli/options.h"
#include "profiler/cli/record.h"
#include "profiler/cli/view.h"

namespace unspool::profiler {
namespace {

struct Runner {
  int operator()(const RecordOptions& options) { return RunRecord(options); }
  int operator()(const ReportOptions& options) { return RunReport(options); }
  int operator()(const ExportOptions& options) { return RunExport(options); }
  int operator()(const SymbolizeOptions& options) {
    return RunSymbolize(options);
  }
  int operator()(const MergeOptions& options) { return RunMerge(options); }
  int operator()(const DiffOptions& options) { return RunDiff(options); }
  int operator()(const CfiOptions& options) { return RunCfi(options); }
  int operator()(const PrintOptions& options) { return RunPrint(options); }
};

int Main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1),
                                           argv + argc);
  try {
    return std::visit(Runner(), ParseOptions(arguments, getenv));
  } catch (const Failure& failure) {
    Tell(failure.what());
    return failure.exit_status();
  } catch (const std::bad_alloc&) {
    Tell("not enough memory; raise the limit (ulimit -v) or free some");
    return kExitFailure;
  } catch (const std::exception& error) {
    Tell(std::string("internal error: ") + error.what());
    return kExitFailure;
  }
}

}  // namespace
}  // namespace unspool::profiler

int main(int argc, char** argv) { return unspool::profiler::Main(argc, argv); }
