#include "unwind/walk.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unwind/walk_fixture.h"

namespace unspool::unwind {
namespace {

constexpr uint8_t kPopAndRet[] = {0x5b, 0xc3};  // pop %rbx; ret

TEST_F(WalkTest, ReachesTheRoot) {
  EXPECT_EQ(Walk(), "leaf+4! middle+5 main+5 start+5: root");
}

TEST_F(WalkTest, RoomForAllFramesIsEnough) {
  EXPECT_EQ(Walk(4), "leaf+4! middle+5 main+5 start+5: root");
}

TEST_F(WalkTest, StopsWhereRoomEnds) {
  EXPECT_EQ(Walk(2), "leaf+4! middle+5: depth at middle+5");
}

TEST_F(WalkTest, ReturnAddressBehindItsFunctionBelongsToIt) {
  PutStack({1, kMiddle + 0x100});  // the call is the function's last byte
  PutStack({2, kStart + 5}, kStack + 16);
  EXPECT_EQ(Walk(), "leaf+4! main+0 start+5: root");
}

TEST_F(WalkTest, InterruptedFirstInstructionBelongsToItsFunction) {
  start_.Set(kRip, kLeaf);
  EXPECT_EQ(Walk(2), "leaf+0! middle+5: depth at middle+5");
}

TEST_F(WalkTest, UndefinedReturnAddressElsewhereIsNoRoot) {
  cfi_.AddAnswer(kMain, Answer::Kind::kRule, Rule::NoCaller());
  EXPECT_EQ(Walk(), "leaf+4! middle+5 main+5: no-cfi at main+5");
}

// swapcontext() with another context's SP: its start is no caller of libc's.
TEST_F(WalkTest, ContextStartIsTheRootOfOtherModulesOnly) {
  cfi_.AddAnswer(kMain, Answer::Kind::kRule, Rule::ContextRoot());
  EXPECT_EQ(Walk(), "leaf+4! middle+5: bad-cfi at middle+5");
  cfi_.PutIntoModule(kMain, 1);
  EXPECT_EQ(Walk(), "leaf+4! middle+5 main+5: root");
}

TEST_F(WalkTest, NullReturnAddressIsNoRoot) {
  PutStack({1, kMiddle + 5, 2, 0});
  EXPECT_EQ(Walk(), "leaf+4! middle+5: bad-cfi at middle+5");
}

// CFI that leads to a word which is no return address, as one that is off by a
// word does.
TEST_F(WalkTest, NewReturnAddressesFollowACall) {
  cfi_.MakeNew();
  PutCalls();
  EXPECT_EQ(Walk(), "leaf+4! middle+5 main+5 start+5: root");
  PutStack({1, kMiddle + 0x20});
  EXPECT_EQ(Walk(), "leaf+4!: bad-cfi at leaf+4");
}

TEST_F(WalkTest, AUsualRuleOfACallerIsLearntIfThereIsACall) {
  cfi_.MakeNew();
  cfi_.FindUsualRules();
  PutCalls();
  EXPECT_EQ(Walk(), "leaf+4! middle+5 main+5 start+5: root");
  EXPECT_EQ(cfi_.learnt().word(), Rule::Root().word());
  cfi_.MakeNew();
  PutStack({1, kMiddle + 0x20});
  EXPECT_EQ(Walk(), "leaf+4!: bad-cfi at leaf+4");
}

// Its last instructions say that the return address is a word lower than the
// rule does, which clang's notes do where it has moved `add $8,%rsp`.
TEST_F(WalkTest, ANearReturnOverrulesTheRule) {
  cfi_.MakeNew();
  PutCalls();
  cfi_.AddRule(kLeaf, RowOn(kRsp, 24));
  memory_.PutBytes(kLeaf + 4, kPopAndRet);
  EXPECT_EQ(Walk(), "leaf+4! middle+5? main+5 start+5: root");
}

TEST_F(WalkTest, ANearReturnThatAgreesIsNoGuess) {
  cfi_.MakeNew();
  PutCalls();
  memory_.PutBytes(kLeaf + 4, kPopAndRet);
  EXPECT_EQ(Walk(), "leaf+4! middle+5 main+5 start+5: root");
}

TEST_F(WalkTest, UnreadableStackIsBadMemory) {
  start_.Set(kRsp, 0x1000);
  EXPECT_EQ(Walk(), "leaf+4!: bad-memory at leaf+4");
}

TEST_F(WalkTest, StackPointerMustMoveUp) {
  cfi_.AddRow(kMiddle, RowOn(kRsp, 0));
  EXPECT_EQ(Walk(), "leaf+4! middle+5: loop at middle+5");
  cfi_.AddRow(kMiddle, RowOn(kRsp, -8));
  EXPECT_EQ(Walk(), "leaf+4! middle+5: loop at middle+5");
}

TEST_F(WalkTest, StackPointerMustBeAligned) {
  memory_.PutWord(kStack + 20, kMain + 5);
  cfi_.AddRow(kMiddle, RowOn(kRsp, 12));
  EXPECT_EQ(Walk(), "leaf+4! middle+5: bad-cfi at middle+5");
}

TEST_F(WalkTest, LeafMayKeepItsStackPointer) {
  // As vfork does, with its return address in rdi.
  Row row = RowOn(kRsp, 0);
  row.registers[kRip] = {RuleKind::kRegister, kRdi, 0};
  cfi_.AddRow(kLeaf, row);
  start_.Set(kRdi, kMiddle + 9);
  PutStack({2, kStart + 5});
  EXPECT_EQ(Walk(), "leaf+4! middle+9 start+5: root");
}

TEST_F(WalkTest, RegisterThatWasLostIsLabelled) {
  cfi_.AddRow(kMiddle, RowOn(kRdi, 16));
  EXPECT_EQ(Walk(), "leaf+4! middle+5: no-register at middle+5");
}

TEST_F(WalkTest, GarbageReturnAddressIsNoFrame) {
  PutStack({1, kMiddle + 5, 2, 0x1234});
  EXPECT_EQ(Walk(), "leaf+4! middle+5: bad-cfi at middle+5");
}

TEST_F(WalkTest, UnknownCodeThatCallsIsAFrame) {
  PutStack({1, kJit + 5});
  PutCall(kJit + 5, kLeaf);
  EXPECT_EQ(Walk(), "leaf+4! jit+5: no-cfi at jit+5");
}

TEST_F(WalkTest, FramePointerLeadsThroughUnknownCode) {
  // leaf returns into jit code, whose frame is {rbp, ra} at kStack + 32.
  start_.Set(kRbp, kStack + 32);
  PutStack({1, kJit + 5, 2, 3, 0x77, kMain + 5, 3, kStart + 5});
  PutCall(kJit + 5, kLeaf);
  PutCall(kMain + 5, kJit);
  EXPECT_EQ(Walk(), "leaf+4! jit+5 main+5? start+5: root");
}

// A chain of two: of code in no module, called by code without unwind data that
// was itself what the direct call aims at.
TEST_F(WalkTest, FramePointersSpeakForACallOfWhatMayHaveJumpedHere) {
  start_.Set(kRbp, kStack + 32);
  PutStack({1, kJit + 5, 2, 3, kStack + 64, kJit + 0x85, 4, 5, 0x77, kMain + 5,
            3, kStart + 5});
  PutCall(kJit + 5, kLeaf);
  PutCall(kMain + 5, kJit);
  PutCall(kJit + 0x85, kNoCfi);
  EXPECT_EQ(Walk(), "leaf+4! jit+5 jit+133? main+5? start+5: root");
  PutCall(kJit + 0x85, kMiddle);
  EXPECT_EQ(Walk(), "leaf+4! jit+5: no-cfi at jit+5");
}

// Its rule needs a register that a callee need not keep, and this one does.
TEST_F(WalkTest, ScratchRegisterOfTheInterruptedCalleeIsAGuess) {
  constexpr size_t kRax = 0;
  start_.Set(kRax, kStack + 16);
  cfi_.AddRow(kMiddle, RowOn(kRax, 16));
  EXPECT_EQ(Walk(), "leaf+4! middle+5: no-cfi at middle+5");
  PutCall(kMain + 5, kMiddle);
  EXPECT_EQ(Walk(), "leaf+4! middle+5 main+5? start+5: root");
  cfi_.AddRow(kMain, RowOn(kRax, 32));
  EXPECT_EQ(Walk(), "leaf+4! middle+5 main+5?: no-register at main+5");
}

// One that was learnt from another call: here SP may be on a thread's first
// word.
TEST_F(WalkTest, LearntRuleMustLeadBehindACall) {
  cfi_.AddAnswer(kLeaf, Answer::Kind::kRule, *Rule::Guess(kRsp, 16, {}));
  EXPECT_EQ(Walk(), "leaf+4!: no-cfi at leaf+4");
  PutCall(kMiddle + 5, kLeaf);
  EXPECT_EQ(Walk(), "leaf+4! middle+5? main+5 start+5: root");
}

TEST_F(WalkTest, FramePointerMustBeBelievable) {
  const struct {
    const char* name;
    uint64_t fp;
    uint64_t ra;
    uint64_t target;
  } rows[] = {
      {"below SP", kStack + 8, kMain + 5, kJit},
      {"not aligned", kStack + 36, kMain + 5, kJit},
      {"unreadable", 0x1000, kMain + 5, kJit},
      {"not code", kStack + 32, 0x12345, kJit},
      {"calls another function", kStack + 32, kMain + 5, kMain + 0x80},
      {"does not follow a call", kStack + 32, kMain + 6, kJit},
  };
  for (const auto& row : rows) {
    start_.Set(kRbp, row.fp);
    PutStack({1, kJit + 5, 2, 3, 0x77, row.ra, 3, kStart + 5});
    PutCall(kJit + 5, kLeaf);
    PutCall(kMain + 5, row.target);
    EXPECT_EQ(Walk(), "leaf+4! jit+5: no-cfi at jit+5") << row.name;
  }
}

TEST_F(WalkTest, CallAtTheStartOfWhatIsMapped) {
  const uint8_t call_rax[] = {0xff, 0xd0};
  memory_.PutBytes(kJit, call_rax);
  PutStack({1, kJit + 2});
  EXPECT_EQ(Walk(), "leaf+4! jit+2: no-cfi at jit+2");
}

TEST_F(WalkTest, FramePointerDoesNotSkipTheCaller) {
  // nocfi has not set up a frame, and leads nowhere: FP is middle's, whose
  // caller calls middle, not nocfi.
  start_.Set(kRip, kNoCfi + 9);
  start_.Set(kRbp, kStack + 32);
  PutStack({1, 2, kMiddle + 5, 3, 0x77, kMain + 5, 3, kStart + 5});
  memory_.PutBytes(kNoCfi + 9, std::vector<uint8_t>{0xff, 0x24, 0xd0});
  PutCall(kMain + 5, kMiddle);
  EXPECT_EQ(Walk(), "nocfi+9!: no-cfi at nocfi+9");
  PutCall(kMain + 5, kNoCfi);
  EXPECT_EQ(Walk(), "nocfi+9! main+5? start+5: root");
}

TEST_F(WalkTest, OnlyCodeThatWasReadAndLeadsNowhereIsHopeless) {
  const std::vector<uint8_t> no_code(16, 0x06);
  const std::vector<uint8_t> ret(16, 0xc3);
  start_.Set(kRip, kNoCfi + 9);
  EXPECT_EQ(Walk(), "nocfi+9!: no-cfi at nocfi+9");
  EXPECT_FALSE(cfi_.learnt().is_no_way()) << "not read";
  memory_.PutBytes(kNoCfi + 9, ret);
  EXPECT_EQ(Walk(), "nocfi+9!: no-cfi at nocfi+9");
  EXPECT_FALSE(cfi_.learnt().is_no_way()) << "led to what follows no call";
  memory_.PutBytes(kNoCfi + 9, no_code);
  EXPECT_EQ(Walk(), "nocfi+9!: no-cfi at nocfi+9");
  EXPECT_TRUE(cfi_.learnt().is_no_way());
}

TEST_F(WalkTest, LeafWithoutCfiHasItsReturnAddressAtTheStackPointer) {
  start_.Set(kRip, kNoCfi + 9);
  PutStack({kMiddle + 5, 2, kMain + 5, 3, kStart + 5});
  PutCall(kMiddle + 5, kNoCfi);
  EXPECT_EQ(Walk(), "nocfi+9! middle+5? main+5 start+5: root");
}

// Middle called handler, which jumped to nocfi: following FP skips middle.
TEST_F(WalkTest, FramePointerIsNoGuessBelowAReturnAddressAtTheStackPointer) {
  start_.Set(kRip, kNoCfi + 9);
  start_.Set(kRbp, kStack + 8);
  memory_.PutBytes(kNoCfi + 9, std::vector<uint8_t>{0x90});
  PutStack({kMiddle + 5, 2, kMain + 5, 3, kStart + 5});
  PutCall(kMiddle + 5, kHandler);
  PutCall(kMain + 5, kNoCfi);
  EXPECT_EQ(Walk(), "nocfi+9!: no-cfi at nocfi+9");
  memory_.PutWord(kStack, 1);
  EXPECT_EQ(Walk(), "nocfi+9! main+5? start+5: root");
}

TEST_F(WalkTest, CallThroughABadPointerIsGuessed) {
  start_.Set(kRip, 0);
  PutStack({kMiddle + 5, 2, kMain + 5, 3, kStart + 5});
  const uint8_t call_rax[8] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0};
  memory_.PutBytes(kMiddle + 5 - sizeof(call_rax), call_rax);
  EXPECT_EQ(Walk(), "0! middle+5? main+5 start+5: root");
}

TEST_F(WalkTest, CallThroughAStubAimsAtTheStub) {
  start_.Set(kRip, kNoCfi + 9);
  PutStack({kMiddle + 5, 2, kMain + 5, 3, kStart + 5});
  PutCall(kMiddle + 5, 0x480000);
  EXPECT_EQ(Walk(), "nocfi+9!: no-cfi at nocfi+9");
  memory_.PutBytes(0x480000, std::vector<uint8_t>{0xff, 0x25, 0, 0, 0, 0});
  EXPECT_EQ(Walk(), "nocfi+9! middle+5? main+5 start+5: root");
  memory_.PutWord(0x480006, kNoCfi);
  EXPECT_EQ(Walk(), "nocfi+9! middle+5? main+5 start+5: root");
  // What has unwind data is another function than this one.
  memory_.PutWord(0x480006, kLeaf);
  EXPECT_EQ(Walk(), "nocfi+9!: no-cfi at nocfi+9");
}

TEST_F(WalkTest, BadCfiIsLabelledWhenNothingIsBelievable) {
  cfi_.AddAnswer(kMiddle, Answer::Kind::kBad, {});
  EXPECT_EQ(Walk(), "leaf+4! middle+5: bad-cfi at middle+5");
}

// The ucontext of an interruption of kMiddle + 7 at `sp`.
void PutUcontext(FakeMemory& memory, uint64_t at, uint64_t sp) {
  for (uint64_t offset = 0; offset < 256; offset += 8) {
    memory.PutWord(at + offset, 0);
  }
  memory.PutWord(at + offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]), sp);
  memory.PutWord(at + offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]),
                 kMiddle);
}

TEST_F(WalkTest, TrampolineWithoutCfiIsKnownByItsCode) {
  const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  memory_.PutBytes(kTrampoline, code);
  PutStack({1, kTrampoline});
  const uint64_t sp = kStack + 0x1000;
  PutUcontext(memory_, kStack + 16, sp);
  PutStack({2, kMain + 5, 3, kStart + 5}, sp);
  EXPECT_EQ(Walk(), "leaf+4! tramp+0 middle+0! main+5 start+5: root");
}

TEST_F(WalkTest, SignalFramesMaySwitchStacks) {
  // The handler's stack is above the interrupted one.
  Row row;
  row.cfa = {CfaRule::Kind::kRegisterOffset, kRsp, -0x10000};
  row.registers[kRip] = {RuleKind::kOffset, 0, 0};
  cfi_.AddRow(kHandler, row, true);
  PutStack({1, kHandler + 5});
  PutStack({kMiddle, 0}, kStack + 16 - 0x10000);
  PutStack({kMain + 5, 3, kStart + 5}, kStack + 16 - 0x10000 + 8);
  EXPECT_EQ(Walk(), "leaf+4! handler+5 middle+0! main+5 start+5: root");
}

TEST_F(WalkTest, EndlessSignalFramesAreALoop) {
  Row row;
  row.cfa = {CfaRule::Kind::kRegisterOffset, kRsp, 0};
  row.registers[kRip] = {RuleKind::kValOffset, 0,
                         static_cast<int64_t>(kHandler + 9 - kStack - 16)};
  cfi_.AddRow(kHandler, row, true);
  PutStack({1, kHandler + 5});
  const std::string text = Walk(1000);
  EXPECT_TRUE(text.ends_with("handler+9!: loop at handler+9")) << text;
}

}  // namespace
}  // namespace unspool::unwind
