// Steps through a program, unwinds it at every instruction, and says how often
// the stack was not the one that the program's calls and returns have made. See
// README.md.

#include <err.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "tests/oracle/gdb_walk.h"
#include "tests/oracle/libunwind_walk.h"
#include "tests/oracle/names.h"
#include "tests/oracle/referee.h"
#include "tests/oracle/tracer.h"

namespace unspool::oracle {
namespace {

struct Options {
  std::vector<std::string> command;
  std::string agent;
  uint64_t limit = 100'000;
  uint64_t peers_every = 0;
  uint64_t examples = 0;
};

// All unwinders over one run.
class Trial {
 public:
  explicit Trial(const Options& options)
      : options_(options),
        tracer_(options.command, options.agent),
        names_(tracer_.target().pid()),
        handler_("handler", options.examples, names_),
        remote_("remote", options.examples, names_),
        waiting_("waiting", options.examples, names_),
        libunwind_("libunwind", options.examples, names_),
        libdw_("libdw", options.examples, names_),
        gdb_("gdb", options.examples, names_) {}

  // 0: all stacks were right or said what they lack. 1: some were wrong.
  int Run() {
    const int status = tracer_.Run([this](const Thread& thread, bool has_left) {
      return OnStep(thread, has_left);
    });
    uint64_t wrong = 0;
    for (Referee* referee : {&handler_, &remote_, &waiting_}) {
      referee->Finish();
      referee->tally().Print(stdout);
      wrong += referee->tally().count(Verdict::kWrong);
    }
    if (options_.peers_every != 0) {
      for (Referee* referee : {&libunwind_, &libdw_, &gdb_}) {
        referee->Finish();
        referee->tally().Print(stdout);
      }
    }
    if (status > 0) errx(2, "the program's exit status is %d", status);
    return wrong != 0;
  }

 private:
  bool OnStep(const Thread& thread, bool has_left) {
    ForgetOldMaps();
    handler_.AfterStep(thread, has_left);
    remote_.AfterStep(thread, has_left);
    waiting_.AfterStep(thread, has_left);
    if (const auto walked = tracer_.WalkInside(thread)) {
      handler_.Add(thread, ToStack(walked->result, walked->frames));
    }
    unwind::Registers registers = ToRegisters(thread.registers);
    AddRemote(thread, registers, remote_);
    registers.Keep(1 << unwind::NativeArch::kSp | 1 << unwind::NativeArch::kRa);
    AddRemote(thread, registers, waiting_);
    ++count_;
    if (options_.peers_every != 0) AskPeers(thread, has_left);
    return count_ < options_.limit;
  }

  void AddRemote(const Thread& thread, const unwind::Registers& registers,
                 Referee& referee) {
    const Walked walked = WalkRemote(tracer_.target(), registers);
    referee.Add(thread, ToStack(walked.result, walked.frames));
  }

  void AskPeers(const Thread& thread, bool has_left) {
    libunwind_.AfterStep(thread, has_left);
    libdw_.AfterStep(thread, has_left);
    gdb_.AfterStep(thread, has_left);
    if (count_ % options_.peers_every != 0) return;
    libunwind_.Add(thread, unwinder_.Walk(thread.tid));
    libdw_.Add(thread, names_.WalkByLibdw(thread.tid));
    if (!gdb_walk_) gdb_walk_.emplace(tracer_.target(), thread.registers);
    gdb_.Add(thread, gdb_walk_->Walk(thread.registers));
  }

  void ForgetOldMaps() {
    if (seen_changes_ == tracer_.map_changes()) return;
    seen_changes_ = tracer_.map_changes();
    names_.Forget();
    unwinder_.Forget();
    if (gdb_walk_) gdb_walk_->Forget();
  }

  const Options& options_;
  Tracer tracer_;
  Names names_;
  LibunwindWalk unwinder_;
  std::optional<GdbWalk> gdb_walk_;
  Referee handler_;
  Referee remote_;
  Referee waiting_;  // with PC and SP alone, as the kernel tells them
  Referee libunwind_;
  Referee libdw_;
  Referee gdb_;
  uint64_t count_ = 0;
  uint64_t seen_changes_ = 0;
};

int Main(int argc, char** argv) {
  Options options;
  CLI::App app("Unwinds a program at every instruction.");
  app.add_option("--agent", options.agent, "the library to preload")
      ->required();
  app.add_option("--limit", options.limit, "instructions to stop after");
  app.add_option("--peers", options.peers_every,
                 "ask libunwind, libdw and gdb at every Nth instruction");
  app.add_option("--examples", options.examples,
                 "stacks to show for each cause and function");
  app.add_option("command", options.command, "program and arguments")
      ->required();
  app.positionals_at_end();
  CLI11_PARSE(app, argc, argv);
  return Trial(options).Run();
}

}  // namespace
}  // namespace unspool::oracle

int main(int argc, char** argv) { return unspool::oracle::Main(argc, argv); }
