// Between the oracle and the code of ours in the program that it steps through:
// the oracle stops a thread, writes its registers into `request`, lets it run
// oracle_walk_entry on a stack of the agent's until the breakpoint at its end,
// and reads `reply`. That is the walk as a signal handler would do it.

#ifndef UNSPOOL_TESTS_ORACLE_AGENT_PROTOCOL_H_
#define UNSPOOL_TESTS_ORACLE_AGENT_PROTOCOL_H_

#include <cstddef>
#include <cstdint>

#include "unwind/arch/arch.h"
#include "unwind/frame.h"
#include "unwind/self_unwinder.h"

namespace unspool::oracle {

inline constexpr size_t kMaxFrames = 512;

// In rax at the agent's first breakpoint, with the Exchange's address in rdi.
inline constexpr uint64_t kAgentIsReady = 0x6f7261636c652121;

struct WalkRequest {
  unwind::Registers registers;
  unwind::StackBounds bounds;
};

struct WalkReply {
  unwind::WalkResult result;
  unwind::Frame frames[kMaxFrames];
};

struct Exchange {
  uint64_t entry = 0;      // where to let a thread run
  uint64_t stack_top = 0;  // what its SP is to be
  WalkRequest request;
  WalkReply reply;
};

}  // namespace unspool::oracle

#endif  // UNSPOOL_TESTS_ORACLE_AGENT_PROTOCOL_H_
