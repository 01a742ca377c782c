// Runs a program one instruction at a time, all of its threads, from its entry
// (AT_ENTRY) on, and keeps a shadow stack of each.

#ifndef UNSPOOL_TESTS_ORACLE_TRACER_H_
#define UNSPOOL_TESTS_ORACLE_TRACER_H_

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/oracle/agent_protocol.h"
#include "tests/oracle/remote_walk.h"
#include "tests/oracle/shadow_stack.h"
#include "tests/oracle/target.h"

namespace unspool::oracle {

struct Thread {
  pid_t tid = 0;
  ShadowStack shadow;
  user_regs_struct registers{};   // at the last stop
  Flow flow = Flow::kOther;       // of the instruction there
  Flow last_flow = Flow::kOther;  // of the one before
  int signal = 0;                 // was passed on at the last stop
  unwind::StackBounds bounds;

  // Leaf first.
  std::vector<uint64_t> Truth() const;
};

// The registers that unwinding knows.
unwind::Registers ToRegisters(const user_regs_struct& user);

class Tracer {
 public:
  // What a program does between two of these, which are no system calls, is not
  // stepped through: subjects/skip.h.
  static constexpr uint64_t kSkip = 0x5c1b;

  // Called after each instruction, while the thread is stopped. `has_left`: it
  // has left frames without returning from them. False: that is enough.
  using OnStep = std::function<bool(const Thread& thread, bool has_left)>;

  // Starts argv, with `agent` preloaded, without randomized addresses, and
  // stops it at its entry. What it writes to stdout is dropped. Ends the oracle
  // if that is not possible.
  Tracer(const std::vector<std::string>& argv, const std::string& agent);
  // Kills what is left of it.
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Until the program has ended, or on_step wants no more. The program's exit
  // status; -1 if it did not exit.
  int Run(const OnStep& on_step);

  const Target& target() const { return target_; }
  // Counts the times that the program has mapped or unmapped memory.
  uint64_t map_changes() const { return map_changes_; }

  // Lets the thread do the walk that a signal handler would do; nullopt if it
  // was killed meanwhile.
  std::optional<Walked> WalkInside(const Thread& thread);

 private:
  static pid_t Start(const std::vector<std::string>& argv,
                     const std::string& agent);
  void RunToEntry();
  void OnStop(pid_t tid, int status);
  void OnEvent(Thread& thread, int event);
  void AddThread(pid_t tid, const Thread& creator);
  void FinishThread(pid_t tid, int status);
  bool Advance(Thread& thread);
  void Skip(Thread& thread);
  bool EnterHandler(Thread& thread, const user_regs_struct& now);
  void ReadFlow(Thread& thread);
  void Resume(Thread& thread, int signal);

  Target target_;
  uint64_t exchange_ = 0;  // address of the agent's
  Exchange agent_;
  std::map<pid_t, Thread> threads_;
  std::set<pid_t> unannounced_;  // stopped before their creator said so
  OnStep on_step_;
  bool is_done_ = false;
  int exit_status_ = -1;
  uint64_t map_changes_ = 0;
};

}  // namespace unspool::oracle

#endif  // UNSPOOL_TESTS_ORACLE_TRACER_H_
