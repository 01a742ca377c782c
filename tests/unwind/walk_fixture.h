// Walks over a fake stack, with fake answers about fake functions.

#ifndef UNSPOOL_TESTS_UNWIND_WALK_FIXTURE_H_
#define UNSPOOL_TESTS_UNWIND_WALK_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "tests/unwind/fake_memory.h"
#include "unwind/arch/x86_64/arch.h"
#include "unwind/byte_source.h"
#include "unwind/row_step.h"
#include "unwind/walk.h"

namespace unspool::unwind {

inline constexpr size_t kRbx = 3, kRdi = 5, kRbp = 6, kRsp = 7, kRip = 16;
inline constexpr uint64_t kStack = 0x7ffff000;

// Functions of 0x100 bytes in one module, [0x400000, 0x500000).
inline constexpr uint64_t kCode = 0x400000;
inline constexpr uint64_t kLeaf = 0x400100;
inline constexpr uint64_t kMiddle = 0x400200;
inline constexpr uint64_t kMain = 0x400300;
inline constexpr uint64_t kStart = 0x400400;
inline constexpr uint64_t kTrampoline = 0x400900;
inline constexpr uint64_t kNoCfi = 0x400600;
inline constexpr uint64_t kHandler = 0x400700;
inline constexpr uint64_t kJit = 0x900000;  // in no module

using Answer = CfiAnswer<X86_64>;
using Row = CfiRow<X86_64>;
using Rule = UnwindRule<X86_64>;

inline Row RowOn(uint32_t number, int64_t offset) {
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
  void AddRow(uint64_t function, const Row& row, bool is_signal_frame = false,
              Landing landing = Landing::kNone) {
    AddAnswer(function, Answer::Kind::kRow, {});
    functions_[function].answer.landing = landing;
    functions_[function].answer.is_signal_frame = is_signal_frame;
    functions_[function].row = row;
  }
  void AddAnswer(uint64_t function, Answer::Kind kind, Rule rule) {
    functions_[function].answer = {.module = 0, .kind = kind, .rule = rule};
  }

  // What is not learnt yet is new, and learnt at its own address alone.
  void MakeNew() { is_new_ = true; }

  void PutIntoModule(uint64_t function, ModuleId module) {
    functions_[function].answer.module = module;
  }

  Answer Find(uint64_t pc, bool exact) {
    const uint64_t lookup_pc = LookupPc(pc, exact);
    if (!IsCode(lookup_pc)) return {};
    const auto function = functions_.find(lookup_pc & ~uint64_t{0xff});
    if (function == functions_.end()) {
      Answer none;
      none.module = 0;
      return none;
    }
    row_ = function->second.row;
    Answer answer = function->second.answer;
    const auto known = learnt_rules_.find(lookup_pc);
    answer.is_new = is_new_ && known == learnt_rules_.end();
    if (is_new_ && !answer.is_new) answer.rule = known->second;
    return answer;
  }
  KnownRule<X86_64> FindKnown(uint64_t lookup_pc) {
    const Answer answer = Find(lookup_pc, /*exact=*/true);
    if (!knows_rules_ || answer.is_new || answer.kind != Answer::Kind::kRule) {
      return {};
    }
    return {answer.rule, answer.module};
  }
  // What is new is usual, too, if it is a plain rule.
  Rule FindUsual(uint64_t lookup_pc) {
    const Answer answer = Find(lookup_pc, /*exact=*/true);
    const bool is_found = finds_usual_ && answer.is_new &&
                          answer.kind == Answer::Kind::kRule &&
                          answer.rule.is_plain();
    return is_found ? answer.rule : Rule();
  }
  void FindUsualRules() { finds_usual_ = true; }
  static size_t StepOn(FakeMemory&, Position*, std::span<Frame>) { return 0; }
  void KnowRules(bool knows_rules) { knows_rules_ = knows_rules; }
  StepStatus ApplyRow(const X86_64Registers& frame, FakeMemory& memory,
                      X86_64Registers* caller) {
    SpanSource source({}, 0);
    RowStep<X86_64, FakeMemory, SpanSource> step(frame, memory, source, 0);
    return step.Apply(row_, kRip, caller);
  }
  void Learn(uint64_t lookup_pc, Rule rule) {
    learnt_ = rule;
    learnt_rules_[lookup_pc] = rule;
  }
  // The module goes away, and another comes in its place.
  void Replace(ModuleId module) { replaced_ = module; }
  bool IsStill(uint64_t, ModuleId module) const { return module != replaced_; }
  Rule learnt() const { return learnt_; }
  bool IsCode(uint64_t address) {
    return address >= kCode && address < 0x500000;
  }
  uint64_t FindFunction(uint64_t lookup_pc) {
    const uint64_t function = lookup_pc & ~uint64_t{0xff};
    return functions_.contains(function) ? function : 0;
  }

 private:
  struct Function {
    Answer answer;
    Row row;
  };
  std::map<uint64_t, Function> functions_;
  bool knows_rules_ = false;
  bool finds_usual_ = false;
  bool is_new_ = false;
  std::map<uint64_t, Rule> learnt_rules_;  // by look-up PC
  Rule learnt_;
  ModuleId replaced_ = kNoModule;
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
    uint8_t code[8] = {0x90, 0x90, 0x90, 0xe8};
    std::memcpy(&code[4], &displacement, 4);
    memory_.PutBytes(ra - sizeof(code), code);
  }

  // In front of the stack's return addresses.
  void PutCalls() {
    for (const uint64_t ra : {kMiddle + 5, kMain + 5, kStart + 5}) {
      PutCall(ra, kLeaf);
    }
  }

  // "leaf+4! middle+5 …: root": '!' is exact, '?' guessed. The walks that know
  // rules, and the last stack, must find the same.
  std::string Walk(size_t room = 16) {
    cfi_.KnowRules(false);
    const std::string text = WalkWhole(room);
    cfi_.KnowRules(true);
    EXPECT_EQ(WalkWhole(room), text);
    EXPECT_EQ(WalkAgain(room), text);
    return text;
  }
  std::string WalkWhole(size_t room) {
    std::vector<Frame> frames(room);
    WalkState<X86_64> state;
    Walker<X86_64, FakeMemory, FakeCfi> walker(memory_, cfi_, state);
    return Text(walker.Walk(start_, frames), frames);
  }
  std::string WalkAgain(size_t room = 16) {
    auto& [storage, memo] = memos_[room];
    if (storage.empty()) {
      storage.resize(StackMemo<X86_64>::StorageFor(room));
      memo = StackMemo<X86_64>(storage, room);
    }
    WalkState<X86_64> state;
    Walker<X86_64, FakeMemory, FakeCfi> walker(memory_, cfi_, state);
    const WalkResult result = walker.Walk(start_, memo);
    same_ = result.same;
    EXPECT_EQ(memo.frames().size(), result.depth);
    return Text(result, memo.frames());
  }

  // After a rule changes, which those of real programs do not.
  void ForgetStacks() { memos_.clear(); }

  static std::string Text(const WalkResult& result,
                          std::span<const Frame> frames) {
    std::string text;
    for (size_t i = 0; i < result.depth; ++i) {
      text += Name(frames[i].pc) + (frames[i].exact ? "!" : "") +
              (frames[i].guessed ? "? " : " ");
    }
    text.back() = ':';
    constexpr const char* kEnds[] = {"root",       "depth", "no-cfi",
                                     "bad-memory", "loop",  "bad-cfi",
                                     "no-register"};
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
  // Of the last walk that knew the stack before: frames that were the same.
  size_t same_ = 0;

 private:
  struct Memo {
    std::vector<Frame> storage;
    StackMemo<X86_64> memo;
  };
  std::map<size_t, Memo> memos_;  // by room
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_TESTS_UNWIND_WALK_FIXTURE_H_
