// What a walk may take from the one before, and what it must not.

#include "unwind/stack_memo.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

#include "tests/unwind/walk_fixture.h"

namespace unspool::unwind {
namespace {

// leaf, middle, main, start, 16 bytes each; SP of each from kStack up.
class StackMemoTest : public WalkTest {
 protected:
  // Frames that the second of two walks of this stack need not walk.
  size_t SameAgain() {
    Walk();
    Walk();
    return same_;
  }
  // The caller's FP is in the frame's lower word.
  static Row SavingFp(Row row) {
    row.registers[kRbp] = {RuleKind::kOffset, 0, -16};
    return row;
  }
};

TEST_F(StackMemoTest, TheSameStackIsTheSameFromTheLeafOn) {
  EXPECT_EQ(SameAgain(), 4u);
}

TEST_F(StackMemoTest, FromTheFirstFrameThatIsWhereItWas) {
  Walk();
  start_.Set(kRip, kLeaf + 9);
  EXPECT_EQ(Walk(), "leaf+9! middle+5 main+5 start+5: root");
  EXPECT_EQ(same_, 3u);
  PutStack({1, kMiddle + 7});
  EXPECT_EQ(Walk(), "leaf+9! middle+7 main+5 start+5: root");
  EXPECT_EQ(same_, 2u);
  EXPECT_EQ(SameAgain(), 4u);
}

TEST_F(StackMemoTest, APlaceFurtherInOrOutIsFound) {
  Walk();
  start_.Set(kRip, kMiddle + 5);  // the leaf has returned
  start_.Set(kRsp, kStack + 16);
  EXPECT_EQ(Walk(), "middle+5! main+5 start+5: root");
  EXPECT_EQ(same_, 2u);           // "middle" was no interrupted frame
  start_.Set(kRsp, kStack - 16);  // and calls again, deeper
  start_.Set(kRip, kLeaf + 4);
  PutStack({0, kLeaf + 8, 1, kMiddle + 5}, kStack - 16);
  EXPECT_EQ(Walk(), "leaf+4! leaf+8 middle+5 main+5 start+5: root");
  EXPECT_EQ(same_, 0u);  // looked at "start" only, behind four frames
}

TEST_F(StackMemoTest, AChangeFurtherOutIsSeen) {
  Walk();
  PutStack({2, kMain + 7}, kStack + 16);
  EXPECT_EQ(Walk(), "leaf+4! middle+5 main+7 start+5: root");
  EXPECT_EQ(same_, 0u);  // the root alone is none
  PutStack({3, kStart + 6}, kStack + 32);
  EXPECT_EQ(Walk(), "leaf+4! middle+5 main+7 start+6: root");
  EXPECT_EQ(same_, 0u);
}

TEST_F(StackMemoTest, WordsThatNoRuleReadsMayChange) {
  Walk();
  PutStack({7, kMiddle + 5, 8, kMain + 5, 9, kStart + 5});
  Walk();
  EXPECT_EQ(same_, 4u);
}

TEST_F(StackMemoTest, ASavedFramePointerCountsWhereItIsUsed) {
  cfi_.AddRule(kMiddle, SavingFp(RowOn(kRsp, 16)));
  cfi_.AddRule(kMain, RowOn(kRbp, 16));
  PutStack({1, kMiddle + 5, kStack + 32, kMain + 5, 3, kStart + 5});
  EXPECT_EQ(SameAgain(), 4u);
  // Main's frame now is larger: another return address.
  PutStack({kStack + 48}, kStack + 16);
  PutStack({4, kStart + 9}, kStack + 48);
  EXPECT_EQ(Walk(), "leaf+4! middle+5 main+5 start+9: root");
  EXPECT_EQ(same_, 0u);
}

TEST_F(StackMemoTest, ASavedFramePointerThatIsDataDoesNot) {
  cfi_.AddRule(kMiddle, SavingFp(RowOn(kRsp, 16)));
  Walk();
  PutStack({0xda7a}, kStack + 16);
  Walk();
  EXPECT_EQ(same_, 4u);
}

TEST_F(StackMemoTest, FramePointerInItsRegisterCountsWhereItIsUsed) {
  cfi_.AddRule(kMain, RowOn(kRbp, 16));
  start_.Set(kRbp, kStack + 32);
  EXPECT_EQ(SameAgain(), 4u);
  start_.Set(kRbp, kStack + 48);
  PutStack({4, kStart + 9}, kStack + 48);
  EXPECT_EQ(Walk(), "leaf+4! middle+5 main+5 start+9: root");
  EXPECT_EQ(same_, 0u);
  // Restored by the leaf, it is none of the leaf's caller's callees' matter.
  ForgetStacks();
  cfi_.AddRule(kLeaf, SavingFp(RowOn(kRsp, 16)));
  PutStack({kStack + 32}, kStack);
  EXPECT_EQ(SameAgain(), 4u);
  start_.Set(kRbp, 0xda7a);
  Walk();
  EXPECT_EQ(same_, 4u);
}

TEST_F(StackMemoTest, AnUnknownFramePointerIsNotTheSame) {
  cfi_.AddRule(kMain, RowOn(kRbp, 16));
  start_.Set(kRbp, kStack + 32);
  Walk();
  start_.ForgetAll();
  start_.Set(kRip, kLeaf + 4);
  start_.Set(kRsp, kStack);
  Walk();
  EXPECT_EQ(same_, 0u);
}

TEST_F(StackMemoTest, OnlyWhatLiesOutsideAFrameOfAnotherKindIsUsed) {
  cfi_.AddRow(kMiddle, RowOn(kRsp, 16));
  EXPECT_EQ(SameAgain(), 2u);
}

TEST_F(StackMemoTest, GuessesAreMadeAnew) {
  PutStack({1, kNoCfi + 5, 2, kMain + 5, 3, kStart + 5});
  PutCall(kNoCfi + 5, kLeaf);
  PutCall(kMain + 5, kNoCfi);
  Walk();
  Walk();
  EXPECT_LE(same_, 2u);
}

TEST_F(StackMemoTest, NothingIsUsedOfAWalkThatFailed) {
  cfi_.AddAnswer(kStart, Answer::Kind::kRule, Rule::NoCaller());
  EXPECT_EQ(SameAgain(), 0u);
}

TEST_F(StackMemoTest, AStackThatWasCutIsTheSameUpToThere) {
  Walk(3);
  EXPECT_EQ(Walk(3), "leaf+4! middle+5 main+5: depth at main+5");
  EXPECT_EQ(same_, 3u);
  start_.Set(kRip, kLeaf + 9);
  EXPECT_EQ(Walk(3), "leaf+9! middle+5 main+5: depth at main+5");
  EXPECT_EQ(same_, 2u);
}

TEST_F(StackMemoTest, AStackThatGrowsIsCutFurtherIn) {
  Walk(4);
  start_.Set(kRsp, kStack - 16);
  PutStack({0, kLeaf + 8}, kStack - 16);
  PutStack({1, kMiddle + 5});
  EXPECT_EQ(Walk(4), "leaf+4! leaf+8 middle+5 main+5: depth at main+5");
  EXPECT_EQ(same_, 0u);  // its outermost frame is another
  start_.Set(kRsp, kStack - 32);
  PutStack({0, kLeaf + 7}, kStack - 32);
  EXPECT_EQ(Walk(4), "leaf+4! leaf+7 leaf+8 middle+5: depth at middle+5");
  EXPECT_EQ(Walk(4), "leaf+4! leaf+7 leaf+8 middle+5: depth at middle+5");
  EXPECT_EQ(same_, 4u);
}

TEST_F(StackMemoTest, AStackThatWasCutAndShrinksIsWalkedOn) {
  Walk(3);
  start_.Set(kRip, kMiddle + 5);
  start_.Set(kRsp, kStack + 16);
  EXPECT_EQ(Walk(3), "middle+5! main+5 start+5: root");
  start_.Set(kRip, kLeaf + 4);
  start_.Set(kRsp, kStack);
  EXPECT_EQ(Walk(3), "leaf+4! middle+5 main+5: depth at main+5");
  // From an interrupted frame whose caller is where it was, and on.
  start_.Set(kRip, kLeaf + 4);
  start_.Set(kRsp, kStack + 16);
  EXPECT_EQ(Walk(3), "leaf+4! main+5 start+5: root");
}

TEST_F(StackMemoTest, BeyondTheCutAnyFrameMayNeedTheFramePointer) {
  cfi_.AddRule(kStart, RowOn(kRbp, 16));
  start_.Set(kRbp, kStack + 64);
  PutStack({4, kLeaf + 7, 0, kMain + 9, 6, kLeaf + 3, 7, kStart + 7},
           kStack + 48);
  const std::string text = Walk(3);
  start_.Set(kRbp, kStack + 48);
  EXPECT_EQ(Walk(3), text);
  EXPECT_EQ(same_, 0u);
  start_.Set(kRip, kMain + 5);
  start_.Set(kRsp, kStack + 32);
  EXPECT_EQ(Walk(3), "main+5! start+5 leaf+7: depth at leaf+7");
}

TEST_F(StackMemoTest, AReplacedModuleIsNotTheSame) {
  Walk();
  cfi_.Replace(0);
  Walk();
  EXPECT_EQ(same_, 0u);
}

TEST_F(StackMemoTest, TheRootsModuleCountsToo) {
  cfi_.PutIntoModule(kStart, 1);
  Walk();
  cfi_.Replace(1);
  Walk();
  EXPECT_EQ(same_, 0u);
}

// Programs of functions with random rules on random stacks, a little of which
// changes from walk to walk. WalkTest::Walk() compares.
class RandomStacks : public StackMemoTest {
 protected:
  static constexpr uint64_t kFunctions = 24;

  uint64_t Random(uint64_t below) { return random_() % below; }
  static uint64_t FunctionAt(uint64_t number) {
    return kCode + 0x100 * (16 + number);
  }

  void MakeFunctions() {
    ForgetStacks();
    for (uint64_t i = 0; i < kFunctions; ++i) {
      Row row = Random(3) == 0
                    ? RowOn(kRbp, 16)
                    : RowOn(kRsp, static_cast<int64_t>(16 + 8 * Random(4)));
      if (Random(2) == 0) row = SavingFp(row);
      realigned_[i] = Random(6) == 0;
      if (realigned_[i]) {
        row = SavingFp(RowOn(kRsp, 40));
        cfi_.AddAnswer(FunctionAt(i), Answer::Kind::kRule,
                       Rule::FromWord(uint64_t{0x81} << 56 | 4));
        // CFA = *(FP - 8)
      } else if (Random(12) == 0) {
        cfi_.AddRow(FunctionAt(i), row);
      } else {
        cfi_.AddRule(FunctionAt(i), row);
      }
      words_[i] = row.cfa.register_or_size == kRbp
                      ? 0
                      : static_cast<uint64_t>(row.cfa.value / 8);
      if (words_[i] == 0) words_[i] = 2 + Random(3);
      uses_fp_[i] = row.cfa.register_or_size == kRbp;
      saves_fp_[i] = row.registers[kRbp].kind == RuleKind::kOffset;
    }
  }

  // Lays the stack out for `calls_`, outermost first, so that walks find it.
  void Lay() {
    uint64_t sp = kTop;
    memory_.PutWord(sp - 8, kStart + 5);
    uint64_t fp = 0xf00;
    for (size_t i = 0; i < calls_.size(); ++i) {
      const uint64_t function = calls_[i].function;
      const uint64_t cfa = sp;
      sp = cfa - 8 * words_[function];
      memory_.PutWord(cfa - 8, i == 0 ? kStart + 5 : ReturnTo(calls_[i - 1]));
      if (realigned_[function]) {
        memory_.PutWord(cfa - 24, fp);
        fp = cfa - 24;
        memory_.PutWord(fp - 8, cfa);
      } else if (saves_fp_[function]) {
        memory_.PutWord(cfa - 16, fp);
        fp = 0xda7a + Random(3);
      }
      if (uses_fp_[function]) fp = cfa - 16;
    }
    start_.Set(kRip, ReturnTo(calls_.back()));
    start_.Set(kRsp, sp);
    start_.Set(kRbp, fp);
  }

  void Change() {
    for (uint64_t i = Random(4); i > 0 && calls_.size() > 1; --i) {
      calls_.pop_back();
    }
    for (uint64_t i = Random(4); i > 0; --i) {
      calls_.push_back({Random(kFunctions), 1 + Random(200)});
    }
    if (Random(4) == 0) calls_[Random(calls_.size())].offset ^= 1;
  }

  struct Call {
    uint64_t function;
    uint64_t offset;
  };
  static uint64_t ReturnTo(const Call& call) {
    return FunctionAt(call.function) + call.offset;
  }
  static constexpr uint64_t kTop = kStack + 0x10000;

  std::mt19937_64 random_{1};
  std::array<uint64_t, kFunctions> words_{};
  std::array<bool, kFunctions> uses_fp_{};
  std::array<bool, kFunctions> saves_fp_{};
  std::array<bool, kFunctions> realigned_{};
  std::vector<Call> calls_;
};

TEST_F(RandomStacks, AreTheSameWithAndWithoutTheLastOne) {
  size_t frames = 0;
  size_t same = 0;
  size_t same_where_cut = 0;
  for (int program = 0; program < 200; ++program) {
    MakeFunctions();
    calls_.assign(8, {0, 5});
    for (int walk = 0; walk < 100; ++walk) {
      Change();
      Lay();
      Walk(40);
      same += same_;
      frames += calls_.size();
      Walk(7);  // most are cut
      same_where_cut += same_;
      // Any one word of the stack, as a program that fails may leave it.
      if (Random(8) == 0) {
        memory_.PutWord(start_.sp() + 8 * Random((kTop - start_.sp()) / 8),
                        Random(2) == 0 ? ReturnTo(calls_[0]) : Random(4));
        Walk(40);
        Walk(7);
      }
    }
  }
  EXPECT_GT(same, frames / 5);
  EXPECT_GT(same_where_cut, 10'000u);
}

}  // namespace
}  // namespace unspool::unwind
