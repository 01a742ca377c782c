// Judges an unwinder's stacks as a program goes.
//
// While code loads the registers of another place (longjmp, a landing
// exception, a context switch), both stacks are right: the one that it is about
// to leave, and the one that it goes on with. Which that is shows only at the
// jump, so what is not right before it is kept until then.

#ifndef UNSPOOL_TESTS_ORACLE_REFEREE_H_
#define UNSPOOL_TESTS_ORACLE_REFEREE_H_

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/oracle/names.h"
#include "tests/oracle/tally.h"
#include "tests/oracle/tracer.h"
#include "tests/oracle/verdict.h"

namespace unspool::oracle {

class Referee {
 public:
  Referee(std::string unwinder, uint64_t examples, Names& names)
      : tally_(std::move(unwinder), examples), names_(names) {}

  // Before the stack at an instruction is judged: what the instruction before
  // it did.
  void AfterStep(const Thread& thread, bool has_left);
  void Add(const Thread& thread, Stack stack);
  // No instruction will follow.
  void Finish();

  const Tally& tally() const { return tally_; }

 private:
  struct Doubt {
    Stack stack;
    std::vector<uint64_t> truth;
  };

  void Settle(std::vector<Doubt>& doubts, const Thread* landed);

  Tally tally_;
  Names& names_;
  std::map<pid_t, std::vector<Doubt>> doubts_;  // by thread
};

}  // namespace unspool::oracle

#endif  // UNSPOOL_TESTS_ORACLE_REFEREE_H_
