#include "unwind/walk.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "tests/unwind/fake_memory.h"
#include "unwind/arch/x86_64/arch.h"
#include "unwind/byte_source.h"
#include "unwind/row_step.h"

namespace unspool::unwind {
namespace {

constexpr size_t kRbx = 3, kRdi = 5, kRbp = 6, kRsp = 7, kRip = 16;
constexpr uint64_t kStack = 0x7ffff000;

// Functions of 0x100 bytes in one module, [0x400000, 0x500000).
constexpr uint64_t kCode = 0x400000;
constexpr uint64_t kLeaf = 0x400100;
constexpr uint64_t kMiddle = 0x400200;
constexpr uint64_t kMain = 0x400300;
constexpr uint64_t kStart = 0x400400;
constexpr uint64_t kTrampoline = 0x400900;
constexpr uint64_t kNoCfi = 0x400600;
constexpr uint64_t kHandler = 0x400700;
constexpr uint64_t kJit = 0x900000;  // in no module

using Answer = CfiAnswer<X86_64>;
using Row = CfiRow<X86_64>;
using Rule = UnwindRule<X86_64>;

Row RowOn(uint32_t number, int64_t offset) {
  Row row;
  row.cfa = {CfaRule::Kind::kRegisterOffset, number, offset};
  row.registers[kRip] = {RuleKind::kOffset, 0, -8};
  return row;
}

// CfiAnswers out of a table by function.
class FakeCfi {
 public:
  void AddRule(uint64_t function, const Row& row) {
    AddAnswer(function, Answer::Kind::kRule, *Rule::Compile(row, kRip));
  }
  void AddRow(uint64_t function, const Row& row, bool is_signal_frame = false) {
    AddAnswer(function, Answer::Kind::kRow, {});
    functions_[function].answer.is_signal_frame = is_signal_frame;
    functions_[function].row = row;
  }
  void AddAnswer(uint64_t function, Answer::Kind kind, Rule rule) {
    functions_[function].answer = {.module = 0, .kind = kind, .rule = rule};
  }

  Answer Find(uint64_t pc, bool exact) {
    const uint64_t lookup_pc = LookupPc(pc, exact);
    if (!IsCode(lookup_pc)) return {};
    const auto function = functions_.find(lookup_pc & ~uint64_t{0xff});
    if (function == functions_.end()) return {.module = 0, .rule = {}};
    row_ = function->second.row;
    return function->second.answer;
  }
  StepStatus ApplyRow(const X86_64Registers& frame, FakeMemory& memory,
                      X86_64Registers* caller) {
    SpanSource source({}, 0);
    RowStep<X86_64, FakeMemory, SpanSource> step(frame, memory, source, 0);
    return step.Apply(row_, kRip, caller);
  }
  bool IsCode(uint64_t address) {
    return address >= kCode && address < 0x500000;
  }

 private:
  struct Function {
    Answer answer;
    Row row;
  };
  std::map<uint64_t, Function> functions_;
  Row row_;
};

// A stack of words from kStack up; leaf, middle and main use 2 words each, and
// _start is the root.
class WalkTest : public testing::Test {
 protected:
  WalkTest() {
    for (const uint64_t function : {kLeaf, kMiddle, kMain}) {
      cfi_.AddRule(function, RowOn(kRsp, 16));
    }
    cfi_.AddAnswer(kStart, Answer::Kind::kRule, Rule::Root());
    start_.Set(kRip, kLeaf + 4);
    start_.Set(kRsp, kStack);
    start_.Set(kRbp, kStack);
    start_.Set(kRbx, 0xb);
    PutStack({1, kMiddle + 5, 2, kMain + 5, 3, kStart + 5});
  }

  void PutStack(const std::vector<uint64_t>& words, uint64_t at = kStack) {
    for (const uint64_t word : words) {
      memory_.PutWord(at, word);
      at += 8;
    }
  }
  // A call of `target` whose return address is `ra`.
  void PutCall(uint64_t ra, uint64_t target) {
    const auto displacement = static_cast<uint32_t>(target - ra);
    uint8_t code[7] = {0x90, 0x90, 0xe8};
    std::memcpy(&code[3], &displacement, 4);
    memory_.PutBytes(ra - 7, code);
  }

  // "leaf+4! middle+5 …: root": '!' is exact, '?' guessed.
  std::string Walk(size_t room = 16) {
    std::vector<Frame> frames(room);
    WalkRegisters<X86_64> registers;
    Walker<X86_64, FakeMemory, FakeCfi> walker(memory_, cfi_, registers);
    const WalkResult result = walker.Walk(start_, frames);
    std::string text;
    for (size_t i = 0; i < result.depth; ++i) {
      text += Name(frames[i].pc) + (frames[i].exact ? "!" : "") +
              (frames[i].guessed ? "? " : " ");
    }
    text.back() = ':';
    constexpr const char* kEnds[] = {"root",       "depth", "no-cfi",
                                     "bad-memory", "loop",  "bad-cfi"};
    text += std::string(" ") + kEnds[static_cast<size_t>(result.end)];
    if (result.end != WalkEnd::kRoot) text += " at " + Name(result.failed_pc);
    return text;
  }

  static std::string Name(uint64_t pc) {
    const std::map<uint64_t, const char*> names = {
        {kLeaf, "leaf"},       {kMiddle, "middle"},    {kMain, "main"},
        {kStart, "start"},     {kTrampoline, "tramp"}, {kNoCfi, "nocfi"},
        {kHandler, "handler"}, {kJit, "jit"}};
    const auto name = names.find(pc & ~uint64_t{0xff});
    char text[32];
    std::snprintf(text, sizeof(text), name == names.end() ? "%lx" : "+%lu",
                  name == names.end() ? pc : pc & 0xff);
    return name == names.end() ? text : std::string(name->second) + text;
  }

  FakeMemory memory_;
  FakeCfi cfi_;
  X86_64Registers start_;
};

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

TEST_F(WalkTest, NullReturnAddressIsNoRoot) {
  PutStack({1, kMiddle + 5, 2, 0});
  EXPECT_EQ(Walk(), "leaf+4! middle+5: bad-cfi at middle+5");
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

TEST_F(WalkTest, RegisterThatWasLostIsBadCfi) {
  cfi_.AddRow(kMiddle, RowOn(kRdi, 16));
  EXPECT_EQ(Walk(), "leaf+4! middle+5: bad-cfi at middle+5");
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

TEST_F(WalkTest, LeafWithoutCfiHasItsReturnAddressAtTheStackPointer) {
  start_.Set(kRip, kNoCfi + 9);
  PutStack({kMiddle + 5, 2, kMain + 5, 3, kStart + 5});
  PutCall(kMiddle + 5, kNoCfi);
  EXPECT_EQ(Walk(), "nocfi+9! middle+5? main+5 start+5: root");
}

TEST_F(WalkTest, CallThroughABadPointerIsGuessed) {
  start_.Set(kRip, 0);
  PutStack({kMiddle + 5, 2, kMain + 5, 3, kStart + 5});
  const uint8_t call_rax[] = {0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0};
  memory_.PutBytes(kMiddle + 5 - 7, call_rax);
  EXPECT_EQ(Walk(), "0! middle+5? main+5 start+5: root");
}

TEST_F(WalkTest, CallThroughAStubAimsAtTheStub) {
  start_.Set(kRip, kNoCfi + 9);
  PutStack({kMiddle + 5, 2, kMain + 5, 3, kStart + 5});
  PutCall(kMiddle + 5, 0x480000);
  EXPECT_EQ(Walk(), "nocfi+9!: no-cfi at nocfi+9");
  memory_.PutBytes(0x480000, std::vector<uint8_t>{0xff, 0x25, 0, 0, 0, 0});
  EXPECT_EQ(Walk(), "nocfi+9! middle+5? main+5 start+5: root");
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
