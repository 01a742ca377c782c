// Walks while libgcc lands an exception: kLeaf is _Unwind_Resume(), which has
// saved rax at CFA - 32, kMiddle its caller, with its CFA on FP.

#include <array>
#include <string>
#include <vector>

#include "tests/unwind/walk_fixture.h"

namespace unspool::unwind {
namespace {

constexpr size_t kRax = 0;
constexpr uint64_t kException = 0x600000;

class LandingTest : public WalkTest {
 protected:
  LandingTest() {
    Row row = RowOn(kRbp, 16);
    row.registers[kRbp] = {RuleKind::kOffset, 0, -16};
    row.registers[kRax] = {RuleKind::kOffset, 0, -32};
    cfi_.AddRow(kLeaf, row, false, Landing::kPossible);
    // push %rbp; mov %rsp,%rbp; sub $0x10,%rsp
    Row on_fp = RowOn(kRbp, 16);
    on_fp.registers[kRbp] = {RuleKind::kOffset, 0, -16};
    cfi_.AddRule(kMiddle, on_fp);
    const std::array<uint8_t, 8> prologue = {0x55, 0x48, 0x89, 0xe5,
                                             0x48, 0x83, 0xec, 0x10};
    memory_.PutBytes(kMiddle, prologue);
    start_.Set(kRbp, kStack + 16);
    PutCall(kMiddle + 0x35, kLeaf);
    PutCall(kMain + 5, kMiddle);
    // rax, a word, middle's FP, its PC | two words, main's FP, its PC | …
    PutStack({0, 1, kStack + 48, kMiddle + 0x35, 2, 3, kStack + 72, kMain + 5,
              4, kStart + 5});
    memory_.PutWord(kException + 16, 0);
    memory_.PutWord(kException + 24, kStack + 64);
  }
};

TEST_F(LandingTest, IsNotSeenWhereNothingLands) {
  EXPECT_EQ(Walk(), "leaf+4! middle+53 main+5 start+5: root");
}

// The exception's address is there, but the frame pointer is still right.
TEST_F(LandingTest, RightFramePointerIsNoGuess) {
  memory_.PutWord(kStack, kException);
  EXPECT_EQ(Walk(), "leaf+4! middle+53 main+5 start+5: root");
}

TEST_F(LandingTest, FramePointerOfTheLandingPadIsNotFollowed) {
  memory_.PutWord(kStack, kException);
  memory_.PutWord(kStack + 16, kStack + 0x200);
  PutStack({0, kStart + 5}, kStack + 0x200);
  EXPECT_EQ(Walk(), "leaf+4! middle+53 main+5? start+5: root");
}

// Where nothing tells what FP was, what it leads to is marked.
TEST_F(LandingTest, FramePointerThatNothingConfirmsIsAGuess) {
  memory_.PutWord(kStack, kException);
  PutCall(kMain + 5, kHandler);
  EXPECT_EQ(Walk(), "leaf+4! middle+53 main+5? start+5: root");
}

// Middle's own frame, which saves that FP, lies below it.
TEST_F(LandingTest, FramePointerThatAFrameBelowItHasSavedIsTheLandingPads) {
  memory_.PutWord(kStack, kException);
  PutCall(kMain + 5, kHandler);
  memory_.PutWord(kStack + 16, kStack + 72);
  EXPECT_EQ(Walk(), "leaf+4! middle+53: no-register at middle+53");
}

// By a function that calls another, which jumps here.
TEST_F(LandingTest, TailCallIsNoLanding) {
  PutCall(kMiddle + 0x35, kHandler);
  EXPECT_EQ(Walk(), "leaf+4! middle+53 main+5 start+5: root");
}

TEST_F(LandingTest, CallerThatDoesNotCallIsNone) {
  memory_.PutWord(kStack, kException);
  PutCall(kMain + 5, kHandler);
  memory_.PutWord(kStack + 24, kMain + 5);
  EXPECT_EQ(Walk(), "leaf+4!: bad-cfi at leaf+4");
}

TEST_F(LandingTest, CallerByAPointerIsAGuess) {
  memory_.PutWord(kStack, kException);
  const uint8_t call_rax[8] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0};
  memory_.PutBytes(kMiddle + 0x35 - sizeof(call_rax), call_rax);
  EXPECT_EQ(Walk(), "leaf+4! middle+53? main+5 start+5: root");
}

TEST_F(LandingTest, CallerByAWordThatIsKnownIsChecked) {
  memory_.PutWord(kStack, kException);
  const uint8_t call_word[8] = {0x90, 0x90, 0xff, 0x15, 0, 0, 0, 0};
  memory_.PutBytes(kMiddle + 0x35 - sizeof(call_word), call_word);
  memory_.PutWord(kMiddle + 0x35, kLeaf);
  EXPECT_EQ(Walk(), "leaf+4! middle+53 main+5 start+5: root");
  memory_.PutWord(kMiddle + 0x35, kHandler);
  EXPECT_EQ(Walk(), "leaf+4!: bad-cfi at leaf+4");
}

// At its last instructions its caller is the landing pad, at any instruction.
TEST_F(LandingTest, LandingPadIsWhereItGoesOn) {
  cfi_.AddRow(kLeaf, RowOn(kRsp, 8), false, Landing::kDone);
  cfi_.AddRule(kMiddle, RowOn(kRsp, 16));
  PutStack({kMiddle, 2, kMain + 5, 3, kStart + 5});
  EXPECT_EQ(Walk(), "leaf+4! middle+0! main+5 start+5: root");
}

TEST_F(LandingTest, ItsCallerIsAnOrdinaryOneWhereItReturns) {
  cfi_.AddRow(kLeaf, RowOn(kRsp, 8), false, Landing::kDone);
  cfi_.AddRule(kMiddle, RowOn(kRsp, 16));
  PutStack({kMiddle + 0x35, 2, kMain + 5, 3, kStart + 5});
  EXPECT_EQ(Walk(), "leaf+4! middle+53 main+5 start+5: root");
}

}  // namespace
}  // namespace unspool::unwind
