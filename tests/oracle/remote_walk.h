// A walk of a stopped thread of another process: the same walker as in a
// handler, with memory and modules of the target, and no cache.

#ifndef UNSPOOL_TESTS_ORACLE_REMOTE_WALK_H_
#define UNSPOOL_TESTS_ORACLE_REMOTE_WALK_H_

#include <vector>

#include "tests/oracle/target.h"
#include "unwind/arch/arch.h"
#include "unwind/frame.h"

namespace unspool::oracle {

struct Walked {
  unwind::WalkResult result;
  std::vector<unwind::Frame> frames;  // leaf first
};

Walked WalkRemote(const Target& target, const unwind::Registers& registers);

}  // namespace unspool::oracle

#endif  // UNSPOOL_TESTS_ORACLE_REMOTE_WALK_H_
