// Walks the stack of the test itself.

#ifndef UNSPOOL_TESTS_UNWIND_SELF_WALK_H_
#define UNSPOOL_TESTS_UNWIND_SELF_WALK_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "unwind/frame.h"
#include "unwind/self_unwinder.h"
#include "unwind/walk_scratch.h"

namespace unspool::unwind {

struct Walked {
  WalkResult result;
  std::vector<Frame> frames;

  bool Reached(WalkEnd end) const { return result.end == end; }
  // The place of the first frame, from `from` on, that is in [start, end); -1
  // if there is none.
  int Find(uint64_t start, uint64_t end, int from = 0) const;
  // One frame a line: address, module and offset, marks.
  std::string Text() const;
};

// The unwinder of the test process, initialized.
SelfUnwinder& TestUnwinder();

// Bounds of the calling thread's stack.
StackBounds OwnStack();

// A walk that calls nothing else: for handlers. About 80 KiB.
class QuietWalk {
 public:
  void From(const Registers& registers, const StackBounds& bounds = {});
  Walked Get() const;

 private:
  static constexpr size_t kMaxFrames = 4096;
  WalkScratch scratch_ = {};
  WalkResult result_;
  std::array<Frame, kMaxFrames> frames_;
};

Walked WalkFrom(const Registers& registers, const StackBounds& bounds = {});

// Runs `body`, in which there is one `ud2`; gives the walk that SIGILL's
// handler did there, without calling anything else.
Walked WalkAtTrap(const std::function<void()>& body,
                  const StackBounds& bounds = {});

template <class Function>
uint64_t AddressOf(Function* function) {
  return reinterpret_cast<uint64_t>(function);
}

}  // namespace unspool::unwind

#endif  // UNSPOOL_TESTS_UNWIND_SELF_WALK_H_
