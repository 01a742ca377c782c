// A stopped thread's stack by gdb.
//
// A traced thread cannot be traced by gdb, too. So gdb sees the target through
// us, by its remote protocol: one gdb process for a whole run, which asks for
// registers and memory, and runs gdb_walk.py. It never resumes the target.

#ifndef UNSPOOL_TESTS_ORACLE_GDB_WALK_H_
#define UNSPOOL_TESTS_ORACLE_GDB_WALK_H_

#include <sys/types.h>
#include <sys/user.h>

#include <string>
#include <string_view>

#include "tests/oracle/target.h"
#include "tests/oracle/verdict.h"

namespace unspool::oracle {

class GdbWalk {
 public:
  // Starts gdb for the stopped target. Ends the oracle if there is no gdb, or
  // it does not answer.
  GdbWalk(const Target& target, const user_regs_struct& registers);
  // Ends gdb.
  ~GdbWalk();
  GdbWalk(const GdbWalk&) = delete;
  GdbWalk& operator=(const GdbWalk&) = delete;

  // The process has mapped or unmapped.
  void Forget() { has_remapped_ = true; }
  Stack Walk(const user_regs_struct& registers);

 private:
  void Start(const std::string& socket_path);
  void Send(std::string_view bytes);
  std::string Receive();
  // Answers gdb until it says a stack.
  std::string Serve(const user_regs_struct& registers);
  std::string Answer(const std::string& packet,
                     const user_regs_struct& registers) const;
  std::string AnswerMemory(const std::string& packet) const;
  std::string AnswerAuxv(const std::string& packet) const;

  const Target& target_;
  pid_t gdb_ = -1;
  int socket_ = -1;
  std::string received_;
  bool has_remapped_ = false;
};

}  // namespace unspool::oracle

#endif  // UNSPOOL_TESTS_ORACLE_GDB_WALK_H_
