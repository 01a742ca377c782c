// A stack of this process as it was at a `ud2`, with its registers: to be
// walked again and again, each time with another read that fails.

#ifndef UNSPOOL_TESTS_UNWIND_RECORDED_STACK_H_
#define UNSPOOL_TESTS_UNWIND_RECORDED_STACK_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "unwind/arch/arch.h"
#include "unwind/self_memory.h"

namespace unspool::unwind {

struct RecordedStack {
  Registers registers;
  uint64_t start = 0;  // address of bytes[0]: SP
  std::vector<uint8_t> bytes;
};

// Runs `body` in a thread of its own, in which there is one `ud2`; gives the
// stack as it was there, up to the thread's first frame.
RecordedStack RecordAtTrap(const std::function<void()>& body);

// Which reads fail.
struct Faults {
  size_t first = SIZE_MAX;  // the number of the first one, from 0
  bool all_later = false;   // and all after it
};

// A MemoryReader: the recorded bytes where they were, else the memory of the
// process, for code.
class FaultyMemory {
 public:
  FaultyMemory(const RecordedStack& stack, const Faults& faults, PageCopy& page)
      : stack_(stack), faults_(faults), memory_(0, 0, page) {}

  bool Read(uint64_t address, size_t size, uint64_t* value);
  size_t reads() const { return reads_; }

 private:
  const RecordedStack& stack_;
  Faults faults_;
  SelfMemory memory_;
  size_t reads_ = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_TESTS_UNWIND_RECORDED_STACK_H_
