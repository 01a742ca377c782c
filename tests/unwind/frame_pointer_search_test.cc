#include "unwind/frame_pointer_search.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unwind/walk_fixture.h"

namespace unspool::unwind {
namespace {

// leaf, whose frame is two words, was called by middle, whose CFA is FP + 16;
// FP is not known. middle's frame begins at kStack + 16, takes 32 bytes, and
// main's call of it returns by kReturn.
class FramePointerSearchTest : public WalkTest {
 protected:
  static constexpr uint64_t kSavedFp = kStack + 48;
  static constexpr uint64_t kReturn = kStack + 56;

  FramePointerSearchTest() {
    Row row = RowOn(kRbp, 16);
    row.registers[kRbp] = {RuleKind::kOffset, 0, -16};
    cfi_.AddRule(kMiddle, row);
    start_.Set(kRip, kLeaf + 4);
    start_.Forget(kRbp);
    PutStack({1, kMiddle + 0x25, 2, 3, 4, 5, 0xf0, kMain + 5, 7, kStart + 5});
    for (const uint64_t function : {kLeaf, kMain}) {
      memory_.PutBytes(function, std::vector<uint8_t>(16, 0x90));
    }
    PutCall(kMain + 5, kMiddle);
    PutPrologue(32);
  }

  // push %rbp; mov %rsp, %rbp; sub $bytes, %rsp
  void PutPrologue(uint8_t bytes) {
    const uint8_t code[0x25] = {0x55, 0x48, 0x89, 0xe5,
                                0x48, 0x83, 0xec, bytes};
    memory_.PutBytes(kMiddle, code);
  }
  // As alloca() makes it: SP is lower than the prologue says.
  void HidePrologue() { PutPrologue(16); }
  void PutIndirectCall(uint64_t ra) {
    const uint8_t code[8] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0};
    memory_.PutBytes(ra - sizeof(code), code);
  }

  static constexpr char kFound[] = "leaf+4! middle+37 main+5? start+5: root";
  static constexpr char kNotFound[] =
      "leaf+4! middle+37: no-register at middle+37";
};

TEST_F(FramePointerSearchTest, PrologueSaysWhereTheFrameIs) {
  // A call of middle that is no longer under way lies in its frame.
  memory_.PutWord(kReturn - 16, kMain + 0x55);
  PutCall(kMain + 0x55, kMiddle);
  EXPECT_EQ(Walk(), kFound);
}

TEST_F(FramePointerSearchTest, KnownFramePointerIsNoGuess) {
  start_.Set(kRbp, kSavedFp);
  EXPECT_EQ(Walk(), "leaf+4! middle+37 main+5 start+5: root");
}

TEST_F(FramePointerSearchTest, SavedRegistersArePartOfTheFrame) {
  Row row = RowOn(kRbp, 16);
  row.registers[kRbp] = {RuleKind::kOffset, 0, -16};
  row.registers[kRbx] = {RuleKind::kOffset, 0, -32};
  cfi_.AddRule(kMiddle, row);
  PutPrologue(16);
  PutIndirectCall(kMain + 5);
  PutIndirectCall(kStart + 5);
  EXPECT_EQ(Walk(), kFound);
}

TEST_F(FramePointerSearchTest, RecoversTheFramePointerOfTheCaller) {
  Row row = RowOn(kRbp, 16);
  row.registers[kRbp] = {RuleKind::kOffset, 0, -16};
  cfi_.AddRule(kMain, row);
  memory_.PutWord(kSavedFp, kStack + 0x100);
  PutStack({0xf1, kStart + 9}, kStack + 0x100);
  EXPECT_EQ(Walk(), "leaf+4! middle+37 main+5? start+9: root");
}

TEST_F(FramePointerSearchTest, CallByPointerNeedsACallerThatWasCalled) {
  PutIndirectCall(kMain + 5);
  EXPECT_EQ(Walk(), kNotFound);
  PutIndirectCall(kStart + 5);
  EXPECT_EQ(Walk(), kFound);
}

TEST_F(FramePointerSearchTest, CallByPointerFromARootNeedsNoCaller) {
  memory_.PutWord(kReturn, kStart + 9);
  PutIndirectCall(kStart + 9);
  EXPECT_EQ(Walk(), "leaf+4! middle+37 start+9?: root");
}

// It may have jumped to this one; as often the place is another frame's.
TEST_F(FramePointerSearchTest, CallOfAnotherFunctionIsNotBelieved) {
  PutCall(kMain + 5, kLeaf);
  PutCall(kStart + 5, kMain);
  EXPECT_EQ(Walk(), kNotFound);
}

TEST_F(FramePointerSearchTest,
       InterruptedPrologueIsNotBelievedByACallByPointer) {
  start_.Set(kRip, kMiddle + 4);
  start_.Set(kRsp, kStack + 16);
  PutIndirectCall(kMain + 5);
  PutIndirectCall(kStart + 5);
  EXPECT_EQ(Walk(), "middle+4!: no-register at middle+4");
  PutCall(kMain + 5, kMiddle);
  EXPECT_EQ(Walk(), "middle+4! main+5? start+5: root");
}

TEST_F(FramePointerSearchTest, OtherwiseTakesTheFirstCallOfTheFunction) {
  HidePrologue();
  EXPECT_EQ(Walk(), kFound);
  // Calls of others, calls by pointers, and what follows no call are passed by.
  memory_.PutWord(kStack + 24, kMain + 0x55);
  PutCall(kMain + 0x55, kLeaf);
  EXPECT_EQ(Walk(), kFound);
  PutIndirectCall(kMain + 0x55);
  EXPECT_EQ(Walk(), kFound);
  memory_.PutBytes(kMain + 0x55 - 8, std::vector<uint8_t>(8, 0x90));
  EXPECT_EQ(Walk(), kFound);
}

TEST_F(FramePointerSearchTest, FollowsAJumpStub) {
  HidePrologue();
  constexpr uint64_t kStub = 0x480000;
  const uint8_t stub[] = {0xff, 0x25, 0xfa, 0x0f, 0, 0};  // by kStub + 0x1000
  memory_.PutBytes(kStub, stub);
  for (uint64_t at = kStub + 6; at < kStub + 16; ++at) {
    memory_.PutBytes(at, std::vector<uint8_t>{0x90});
  }
  PutCall(kMain + 5, kStub);
  EXPECT_EQ(Walk(), kNotFound);
  memory_.PutWord(kStub + 0x1000, kLeaf);
  EXPECT_EQ(Walk(), kNotFound);
  memory_.PutWord(kStub + 0x1000, kMiddle);
  EXPECT_EQ(Walk(), kFound);
}

TEST_F(FramePointerSearchTest, OnlyAlignedFramesFit) {
  HidePrologue();
  memory_.PutWord(kReturn, 8);
  memory_.PutWord(kReturn + 8, kMain + 5);
  EXPECT_EQ(Walk(), kNotFound);
}

TEST_F(FramePointerSearchTest, EndsWhereTheFrameWouldBeTooLarge) {
  HidePrologue();
  memory_.PutWord(kReturn, 8);
  PutCall(kStart + 5, kMain);
  constexpr uint64_t kFar = kStack + 16 + (128 << 10);
  for (uint64_t at = kStack + 80; at < kFar + 64; at += 8) {
    memory_.PutWord(at, 9);
  }
  PutStack({0xf0, kMain + 5, 7, kStart + 5}, kFar - 16);
  EXPECT_EQ(Walk(), kFound);
  PutStack({0xf0, 9, 0xf0, kMain + 5, 7, kStart + 5}, kFar - 16);
  EXPECT_EQ(Walk(), kNotFound);
}

TEST_F(FramePointerSearchTest, WhatCannotBeReadIsNotPassedBy) {
  HidePrologue();
  PutStack({1, kMiddle + 0x25, 2, 3, 4, 5, 6, kMain + 0x85, 7, 8, 9, kMain + 5,
            7, kStart + 5});
  EXPECT_EQ(Walk(), kNotFound);  // nothing is known before main+0x85
  PutCall(kMain + 0x85, kLeaf);
  EXPECT_EQ(Walk(), kFound);
}

TEST_F(FramePointerSearchTest, FunctionWithoutUnwindDataIsNotLookedFor) {
  cfi_.AddAnswer(kMiddle, Answer::Kind::kNone, {});
  PutCall(kMiddle + 0x25, kLeaf);
  EXPECT_EQ(Walk(), "leaf+4! middle+37: no-cfi at middle+37");
}

}  // namespace
}  // namespace unspool::unwind
