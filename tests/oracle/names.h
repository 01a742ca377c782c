// Functions' names for reports, by libdwfl, and libdw's own unwinder.

#ifndef UNSPOOL_TESTS_ORACLE_NAMES_H_
#define UNSPOOL_TESTS_ORACLE_NAMES_H_

#include <elfutils/libdwfl.h>
#include <sys/types.h>

#include <cstdint>
#include <string>

#include "tests/oracle/verdict.h"

namespace unspool::oracle {

class Names {
 public:
  explicit Names(pid_t pid) : pid_(pid) {}
  ~Names() { dwfl_end(dwfl_); }
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  // The process has mapped or unmapped: what is known of it is old.
  void Forget();

  // "libc.so.6 qsort+0x1f", "libc.so.6 +0x2f0" without a symbol.
  std::string Of(uint64_t pc);
  // The same without the offset.
  std::string FunctionOf(uint64_t pc);

  // The stack of the stopped thread by dwfl_thread_getframes(3).
  Stack WalkByLibdw(pid_t tid);

 private:
  Dwfl* dwfl();

  pid_t pid_;
  Dwfl* dwfl_ = nullptr;
};

}  // namespace unspool::oracle

#endif  // UNSPOOL_TESTS_ORACLE_NAMES_H_
