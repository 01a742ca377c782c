#include "tests/oracle/shadow_stack.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace unspool::oracle {
namespace {

using Frames = std::vector<ShadowFrame>;

// Steps through instructions whose effects are written down.
class ShadowStackTest : public testing::Test {
 protected:
  static constexpr uint64_t kTop = 0x7fff0000;

  bool Step(Flow flow, Place after) {
    const bool has_left = stack_.Step(at_, flow, after, Read());
    at_ = after;
    return has_left;
  }
  void Call(uint64_t function, uint64_t ra) {
    memory_[at_.sp - 8] = ra;
    EXPECT_FALSE(Step(Flow::kCall, {function, at_.sp - 8}));
  }
  // To SP, as `sub` does.
  void Allocate(uint64_t size) {
    EXPECT_FALSE(Step(Flow::kOther, {at_.pc + 4, at_.sp - size}));
  }
  ShadowStack::ReadWord Read() {
    return [this](uint64_t address) { return memory_[address]; };
  }

  ShadowStack stack_;
  Place at_ = {0x100, kTop};
  std::map<uint64_t, uint64_t> memory_;
};

TEST_F(ShadowStackTest, CallsAndReturns) {
  Call(0x200, 0x105);
  Allocate(0x20);
  Call(0x300, 0x20a);
  EXPECT_EQ(stack_.frames(), (Frames{{0x105, kTop - 8}, {0x20a, kTop - 0x30}}));
  EXPECT_FALSE(Step(Flow::kReturn, {0x20a, kTop - 0x28}));
  EXPECT_EQ(stack_.frames(), (Frames{{0x105, kTop - 8}}));
}

TEST_F(ShadowStackTest, TailCallKeepsTheCaller) {
  Call(0x200, 0x105);
  EXPECT_FALSE(Step(Flow::kIndirectJump, {0x300, kTop - 8}));
  EXPECT_EQ(stack_.frames(), (Frames{{0x105, kTop - 8}}));
}

TEST_F(ShadowStackTest, LongJumpLeavesFrames) {
  Call(0x200, 0x105);
  Allocate(0x20);
  const Place place = at_;  // setjmp's
  Call(0x300, 0x20a);
  Allocate(0x10);
  Call(0x400, 0x30a);
  Step(Flow::kOther, {0x404, place.sp});
  // Until the jump it may be read as either.
  EXPECT_EQ(stack_.frames().size(), 3u);
  EXPECT_TRUE(Step(Flow::kIndirectJump, place));
  EXPECT_EQ(stack_.frames(), (Frames{{0x105, kTop - 8}}));
}

TEST_F(ShadowStackTest, PoppedReturnAddressIsStillTheCaller) {
  Call(0x200, 0x105);  // vfork
  Step(Flow::kOther, {0x201, kTop});
  Step(Flow::kSystemCall, {0x203, kTop});
  EXPECT_EQ(stack_.frames(), (Frames{{0x105, kTop - 8}}));
  Step(Flow::kOther, {0x204, kTop - 8});
  EXPECT_FALSE(Step(Flow::kReturn, {0x105, kTop}));
  EXPECT_TRUE(stack_.frames().empty());
}

TEST_F(ShadowStackTest, SignalHandlerOnAnotherStackAndBack) {
  Call(0x200, 0x105);
  const Place interrupted = at_;
  const Place handler = {0x500, 0x10000};
  stack_.Interrupt(interrupted, handler, 0x600);
  at_ = handler;
  Call(0x700, 0x50a);
  EXPECT_EQ(stack_.frames(), (Frames{{0x105, kTop - 8},
                                     {0x200, kTop - 8, /*exact=*/true},
                                     {0x600, 0x10000},
                                     {0x50a, 0x10000 - 8}}));
  EXPECT_FALSE(Step(Flow::kReturn, {0x50a, 0x10000}));
  EXPECT_FALSE(Step(Flow::kReturn, {0x600, 0x10008}));
  EXPECT_FALSE(stack_.EndInterrupt(interrupted, Read()));
  EXPECT_EQ(stack_.frames(), (Frames{{0x105, kTop - 8}}));
}

// Also to the very SP that the signal interrupted.
TEST_F(ShadowStackTest, LongJumpOutOfAHandler) {
  Call(0x200, 0x105);
  Allocate(0x20);
  const Place place = at_;
  stack_.Interrupt(place, {0x500, 0x10000}, 0x600);
  at_ = {0x500, 0x10000};
  Step(Flow::kOther, {0x504, place.sp});
  EXPECT_TRUE(Step(Flow::kIndirectJump, {0x210, place.sp}));
  EXPECT_EQ(stack_.frames(), (Frames{{0x105, kTop - 8}}));
}

TEST_F(ShadowStackTest, ContextReturnsToTheWordAtItsStart) {
  constexpr uint64_t kOther = 0x20000;
  Call(0x200, 0x105);  // swapcontext
  memory_[kOther] = 0x900;
  Step(Flow::kOther, {0x201, kOther});
  Step(Flow::kOther, {0x202, kOther - 8});  // push of where to go on
  EXPECT_TRUE(Step(Flow::kReturn, {0x300, kOther}));
  EXPECT_EQ(stack_.frames(), (Frames{{0x900, kOther}}));
  // And back, from a call of swapcontext there.
  Call(0x200, 0x305);
  Step(Flow::kOther, {0x201, kTop - 8});
  EXPECT_TRUE(Step(Flow::kReturn, {0x105, kTop}));
  EXPECT_TRUE(stack_.frames().empty());
}

}  // namespace
}  // namespace unspool::oracle
