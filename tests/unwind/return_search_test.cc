// Code without unwind data, a few instructions each, and the caller that they
// lead to.

#include "unwind/return_search.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unwind/walk_fixture.h"

namespace unspool::unwind {
namespace {

using Code = std::vector<uint8_t>;

constexpr uint64_t kCode = kNoCfi;
constexpr uint64_t kFrame = 0x7fff0000;  // SP at the code's first instruction
constexpr uint64_t kReturnAddress = kMain + 5;

Code operator+(Code a, const Code& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

const Code kPushRbx = {0x53};
const Code kPushRbp = {0x55};
const Code kPopRbx = {0x5b};
const Code kPopRbp = {0x5d};
const Code kSub24 = {0x48, 0x83, 0xec, 24};
const Code kAdd24 = {0x48, 0x83, 0xc4, 24};
const Code kXorEbx = {0x31, 0xdb};
const Code kXorEbp = {0x31, 0xed};
const Code kNop = {0x90};
const Code kRet = {0xc3};
const Code kMovRspRbp = {0x48, 0x89, 0xe5};
const Code kLeave = {0xc9};

Code JumpBy(int8_t bytes) { return {0xeb, static_cast<uint8_t>(bytes)}; }
Code JneBy(int8_t bytes) { return {0x75, static_cast<uint8_t>(bytes)}; }

class ReturnSearchTest : public testing::Test {
 protected:
  ReturnSearchTest() {
    for (uint8_t reg = 0; reg < 16; ++reg) now_.Set(reg, 0x100 + reg);
    now_.Set(kRsp, kFrame);
  }

  void PutWords(std::vector<uint64_t> words) {
    for (size_t i = 0; i < words.size(); ++i) {
      memory_.PutWord(now_.sp() + 8 * i, words[i]);
    }
  }

  // "ra=… sp=+24 rbx=… rbp=…", SP relative to the start's, as far as known;
  // "none".
  static constexpr unsigned kSteps = 3000;
  std::string Find(const Code& code, size_t begin = 0) {
    memory_.PutBytes(kCode, code);
    ReturnSearch<X86_64, FakeMemory, FakeCfi> search(memory_, cfi_, followed_);
    X86_64Registers caller;
    rule_.reset();
    unsigned steps = kSteps;
    if (!search.Find(kCode + begin, now_, &steps, &caller)) return "none";
    EXPECT_LE(steps, kSteps);
    rule_ = search.rule();
    char text[96];
    snprintf(text, sizeof(text), "ra=%lx sp=+%lu", caller.pc(),
             caller.sp() - now_.sp());
    std::string found = text;
    for (const auto& [reg, name] : {std::pair{kRbx, "rbx"}, {kRbp, "rbp"}}) {
      if (!caller.Has(reg)) continue;
      snprintf(text, sizeof(text), " %s=%lx", name, caller.Get(reg));
      found += text;
    }
    return found;
  }

  // What the rule gives, as Find(), where it was found; "no rule".
  std::string ApplyRule() {
    if (!rule_) return "no rule";
    EXPECT_TRUE(rule_->is_guess());
    X86_64Registers caller;
    if (rule_->Apply(now_, memory_, &caller) != StepStatus::kOk) return "fails";
    char text[96];
    snprintf(text, sizeof(text), "ra=%lx sp=+%lu rbx=%lx rbp=%lx", caller.pc(),
             caller.sp() - now_.sp(), caller.Get(kRbx), caller.Get(kRbp));
    return text;
  }

  FakeMemory memory_;
  FakeCfi cfi_;
  FollowedCode<X86_64> followed_;
  X86_64Registers now_;
  std::optional<UnwindRule<X86_64>> rule_;
};

TEST_F(ReturnSearchTest, WhatIsOnTheStackSaysHowFarTheCodeIs) {
  const Code function = kPushRbx + kPushRbp + kSub24 + kXorEbx + kXorEbp +
                        kNop + kAdd24 + kPopRbp + kPopRbx + kRet;
  const struct {
    const char* text;
    size_t begin;
    std::vector<uint64_t> stack;
    const char* found;
  } rows[] = {
      {"first instruction",
       0,
       {kReturnAddress},
       "ra=400305 sp=+8 rbx=103 rbp=106"},
      {"one register saved",
       1,
       {0xb, kReturnAddress},
       "ra=400305 sp=+16 rbx=b rbp=106"},
      {"two", 2, {0xe, 0xb, kReturnAddress}, "ra=400305 sp=+24 rbx=b rbp=e"},
      {"in the body",
       10,
       {1, 2, 3, 0xe, 0xb, kReturnAddress},
       "ra=400305 sp=+48 rbx=b rbp=e"},
      {"frame given back",
       15,
       {0xe, 0xb, kReturnAddress},
       "ra=400305 sp=+24 rbx=b rbp=e"},
      {"one register restored",
       16,
       {0xb, kReturnAddress},
       "ra=400305 sp=+16 rbx=b rbp=106"},
      {"at the return",
       17,
       {kReturnAddress},
       "ra=400305 sp=+8 rbx=103 rbp=106"},
  };
  for (const auto& row : rows) {
    PutWords(row.stack);
    EXPECT_EQ(Find(function, row.begin), row.found) << row.text;
    EXPECT_EQ(ApplyRule(), row.found) << row.text;
  }
}

TEST_F(ReturnSearchTest, FramePointerLeadsPastWhatItsFunctionPushed) {
  const Code function = kPushRbp + kMovRspRbp + kSub24 + kNop + kLeave + kRet;
  now_.Set(kRbp, kFrame + 40);
  memory_.PutWord(kFrame + 40, 0xe);
  memory_.PutWord(kFrame + 48, kReturnAddress);
  EXPECT_EQ(Find(function, 8), "ra=400305 sp=+56 rbx=103 rbp=e");
  EXPECT_EQ(ApplyRule(), "ra=400305 sp=+56 rbx=103 rbp=e");
}

// mov %rsp,%rax; and $-32,%rsp; sub $64,%rsp; mov %rax,32(%rsp); nop;
// mov 32(%rsp),%rsp; ret: what assembler code does to align its stack.
TEST_F(ReturnSearchTest, RealignedStackHasNoRuleButACaller) {
  const Code function = {0x48, 0x89, 0xe0, 0x48, 0x83, 0xe4, 0xe0, 0x48,
                         0x83, 0xec, 0x40, 0x48, 0x89, 0x44, 0x24, 0x20,
                         0x90, 0x48, 0x8b, 0x64, 0x24, 0x20, 0xc3};
  constexpr size_t kBody = 16;
  memory_.PutWord(kFrame + 32, kFrame + 72);
  memory_.PutWord(kFrame + 72, kReturnAddress);
  EXPECT_EQ(Find(function, kBody), "ra=400305 sp=+80 rbx=103 rbp=106");
  EXPECT_EQ(ApplyRule(), "no rule");
  // Before, the code itself stores what it loads.
  PutWords({kReturnAddress});
  EXPECT_EQ(Find(function), "ra=400305 sp=+8 rbx=103 rbp=106");
}

TEST_F(ReturnSearchTest, RegistersThatWereChangedAndNotSavedAreUnknown) {
  PutWords({kReturnAddress});
  EXPECT_EQ(Find(kXorEbx + kRet), "ra=400305 sp=+8 rbp=106");
  EXPECT_EQ(ApplyRule(), "no rule");
}

TEST_F(ReturnSearchTest, UnknownRegistersStayUnknownAndHaveARule) {
  now_.Forget(kRbx);
  PutWords({kReturnAddress});
  EXPECT_EQ(Find(kNop + kRet), "ra=400305 sp=+8 rbp=106");
  EXPECT_TRUE(rule_.has_value());
}

TEST_F(ReturnSearchTest, LoopsAreLeftByTheirBranch) {
  PutWords({0xb, kReturnAddress});
  const char* kFound = "ra=400305 sp=+16 rbx=b rbp=106";
  // jne back; pop; ret
  EXPECT_EQ(Find(kNop + JneBy(-3) + kPopRbx + kRet), kFound);
  // Left in the middle: jne out; jmp back; out: pop; ret
  EXPECT_EQ(Find(kNop + JneBy(2) + JumpBy(-5) + kPopRbx + kRet), kFound);
  // In two pieces: jmp over; over: jne out; jmp back
  EXPECT_EQ(Find(JumpBy(1) + kNop + JneBy(2) + JumpBy(-7) + kPopRbx + kRet),
            kFound);
  // mov is not needed: jmp *%rbx back into the loop
  now_.Set(kRbx, kCode);
  EXPECT_EQ(Find(kNop + JneBy(2) + Code{0xff, 0xe3} + kPopRbx + kRet), kFound);
}

TEST_F(ReturnSearchTest, CallInPlaceOfTheReturn) {
  PutWords({0xb, kReturnAddress});
  // jmp *8(%rip), a stub
  EXPECT_EQ(Find(kPopRbx + Code{0xff, 0x25, 8, 0, 0, 0}),
            "ra=400305 sp=+16 rbx=b rbp=106");
  // jmp to a function that unwind data covers
  cfi_.AddRule(kLeaf, RowOn(kRsp, 16));
  const auto displacement = static_cast<uint32_t>(kLeaf - (kCode + 6));
  Code jump = {0xe9, 0, 0, 0, 0};
  std::memcpy(&jump[1], &displacement, sizeof(displacement));
  EXPECT_EQ(Find(kPopRbx + jump), "ra=400305 sp=+16 rbx=b rbp=106");
}

TEST_F(ReturnSearchTest, CallsKeepWhatTheAbiSays) {
  PutWords({0xb, kReturnAddress});
  // The stack pointer's copy in a register that calls keep, and in one that
  // they do not: mov %rsp,%rbp / %rax; call; mov back; pop; ret
  const Code call = {0xe8, 0, 0, 0, 0};
  EXPECT_EQ(Find(kMovRspRbp + call + Code{0x48, 0x89, 0xec} + kPopRbx + kRet),
            "ra=400305 sp=+16 rbx=b rbp=7fff0000");
  EXPECT_EQ(Find(Code{0x48, 0x89, 0xe0} + call + Code{0x48, 0x89, 0xc4} +
                 kPopRbx + kRet),
            "none");
}

TEST_F(ReturnSearchTest, WhatLeadsNowhereGivesNothing) {
  const struct {
    const char* text;
    Code code;
  } rows[] = {
      {"endless loop", kNop + JumpBy(-3)},
      {"two of them", JneBy(2) + JumpBy(-4) + JumpBy(-2)},
      {"trap", {0x0f, 0x0b}},
      {"no instruction", {0x06}},
      {"table of jumps", {0xff, 0x24, 0xd0}},
      {"unreadable", {0xe9, 0, 0, 0, 0x10}},
      {"stack pointer from nowhere", Code{0x48, 0x94} + kRet},
      {"stack pointer from other memory",
       Code{0x48, 0x8b, 0x20} + kRet},  // mov (%rax),%rsp
      {"return to what was pushed", kPushRbx + kRet},
      {"not aligned", Code{0x48, 0x83, 0xc4, 4} + kRet},
      {"below where it began", Code{0x48, 0x83, 0xec, 64} + kRet},
  };
  for (const auto& row : rows) {
    memory_ = {};
    for (int64_t i = -16; i < 16; ++i) {
      memory_.PutWord(kFrame + static_cast<uint64_t>(8 * i), kReturnAddress);
    }
    EXPECT_EQ(Find(row.code), "none") << row.text;
  }
}

TEST_F(ReturnSearchTest, IsBounded) {
  PutWords({kReturnAddress});
  EXPECT_EQ(Find(Code(20'000, 0x90) + kRet), "none");
  EXPECT_LT(memory_.reads(), 20'000u);
  // Branches that each double the ways.
  Code branches;
  for (int i = 0; i < 2000; ++i) branches = branches + JneBy(2) + JneBy(0);
  EXPECT_EQ(Find(branches + JumpBy(-2)), "none");
}

}  // namespace
}  // namespace unspool::unwind
