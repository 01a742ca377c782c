// A stopped thread's stack by libunwind's unw_step, through its ptrace
// accessors.

#ifndef UNSPOOL_TESTS_ORACLE_LIBUNWIND_WALK_H_
#define UNSPOOL_TESTS_ORACLE_LIBUNWIND_WALK_H_

#include <sys/types.h>

#include <memory>

#include "tests/oracle/verdict.h"

namespace unspool::oracle {

class LibunwindWalk {
 public:
  LibunwindWalk();
  ~LibunwindWalk();

  // The process has mapped or unmapped.
  void Forget();
  Stack Walk(pid_t tid);

 private:
  struct Space;
  std::unique_ptr<Space> space_;
};

}  // namespace unspool::oracle

#endif  // UNSPOOL_TESTS_ORACLE_LIBUNWIND_WALK_H_
