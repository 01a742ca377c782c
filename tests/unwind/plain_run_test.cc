#include "unwind/plain_run.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "unwind/cfi_row.h"

namespace unspool::unwind {
namespace {

constexpr size_t kRbp = 6, kRsp = 7, kRip = 16;
constexpr ModuleId kModule = 3;
constexpr AddressRange kCode = {0x400000, 0x1000};
constexpr uint64_t kFunctionBytes = 16;
constexpr uint64_t kFunctions = kCode.size / kFunctionBytes;
constexpr size_t kWords = 512;

using Rule = UnwindRule<NativeArch>;

// Where the calls of function `i` return to.
uint64_t ReturnInto(uint64_t i) { return kCode.address + i * 16 + 5; }

Rule RuleOf(size_t base, int64_t offset, int64_t fp_slot) {
  CfiRow<NativeArch> row;
  row.cfa = {CfaRule::Kind::kRegisterOffset, static_cast<uint32_t>(base),
             offset};
  row.registers[kRip] = {RuleKind::kOffset, 0, -8};
  if (fp_slot != 0) {
    row.registers[kRbp] = {RuleKind::kOffset, 0, -8 * fp_slot};
  }
  return *Rule::Compile(row, kRip);
}

// A stack in this process, all of whose words are return addresses at first,
// and rules for where these lead to.
class PlainRun : public testing::Test {
 protected:
  PlainRun() {
    for (auto& word : stack_) word = ReturnInto(random_() % kFunctions);
    for (uint64_t i = 0; i < kFunctions; ++i) SetRule(i, RuleOf(kRsp, 16, 0));
  }

  uint64_t At(size_t word) const {
    return reinterpret_cast<uint64_t>(&stack_[word]);
  }
  void SetRule(uint64_t function, Rule rule) {
    rules_->Insert(ReturnInto(function) - 1, kModule, rule.word());
  }
  Position Start(uint64_t function) const {
    return {ReturnInto(function), At(0), At(8), /*has_fp=*/true,
            /*exact=*/false};
  }
  SelfMemory Memory(size_t words) { return {At(0), At(words), page_}; }

  size_t Run(Position* at, size_t room, size_t words = kWords) {
    frames_.assign(room, {});
    const SelfMemory memory = Memory(words);
    RuleCache::Trail trail(*rules_);
    return RunPlain(memory, &trail, kModule, kCode, at, frames_);
  }

  // Steps one by one, and expects of the run that it did the same, and of what
  // it ended in front of that it is not easy.
  size_t ExpectSameSteps(Position at, size_t room) {
    Position run = at;
    const size_t count = Run(&run, room);
    SelfMemory memory = Memory(kWords);
    for (size_t i = 0; i < count; ++i) {
      Frame frame;
      const auto rule =
          Rule::FromWord(rules_->Find(LookupPc(at.pc, false), kModule));
      EXPECT_EQ(frames_[i].pc, at.pc);
      EXPECT_EQ(frames_[i].sp, at.sp);
      EXPECT_EQ(frames_[i].fp, at.fp);
      EXPECT_EQ(frames_[i].module, kModule);
      EXPECT_FALSE(frames_[i].exact || frames_[i].guessed);
      EXPECT_TRUE(StepPlain(rule, memory, &at, &frame));
      EXPECT_EQ(frames_[i].step, frame.step);
      EXPECT_EQ(frames_[i].fp_rule, frame.fp_rule);
    }
    EXPECT_EQ(run.pc, at.pc);
    EXPECT_EQ(run.sp, at.sp);
    EXPECT_EQ(run.fp, at.fp);
    EXPECT_TRUE(run.has_fp);
    return count;
  }

  alignas(16) std::array<uint64_t, kWords> stack_;
  std::unique_ptr<RuleCache> rules_ = std::make_unique<RuleCache>();
  PageCopy page_;
  std::vector<Frame> frames_;
  std::mt19937_64 random_{20240229};
};

TEST_F(PlainRun, TakesTheStepsThatStepPlainTakes) {
  size_t steps = 0;
  for (int round = 0; round < 2000; ++round) {
    for (uint64_t i = 0; i < kFunctions; ++i) {
      const bool is_on_fp = random_() % 4 == 0;
      const auto slot = static_cast<int64_t>(random_() % 5);
      SetRule(i, RuleOf(is_on_fp ? kRbp : kRsp,
                        static_cast<int64_t>(8 * (1 + random_() % 6)),
                        slot == 1 ? 0 : slot));
    }
    // Where frame pointers are kept, or not.
    for (size_t i = 0; i < kWords; ++i) {
      stack_[i] = random_() % 2 == 0 ? At(random_() % kWords)
                                     : ReturnInto(random_() % kFunctions);
    }
    steps += ExpectSameSteps(Start(random_() % kFunctions), 64);
  }
  EXPECT_GT(steps, 2000u);
}

TEST_F(PlainRun, EndsWhereThereIsNoRoom) {
  Position at = Start(1);
  EXPECT_EQ(Run(&at, 3), 3u);
  EXPECT_EQ(at.sp, At(6));
  EXPECT_EQ(Run(&at, 0), 0u);
}

TEST_F(PlainRun, EndsAtTheEndOfWhatMayBeRead) {
  Position at = Start(1);
  EXPECT_EQ(Run(&at, kWords, 9), 4u);  // the next would read word 9
  at = Start(1);
  EXPECT_EQ(Run(&at, kWords, 8), 3u);
  at = Start(1);
  EXPECT_EQ(Run(&at, kWords, 0), 0u);
}

TEST_F(PlainRun, EndsInFrontOfWhatIsNotEasy) {
  const struct {
    const char* name;
    std::optional<uint64_t> pc;
    std::optional<Rule> rule;
    std::optional<uint64_t> fp = {};
  } rows[] = {
      {"behind the module", kCode.address + kCode.size + 1, {}},
      {"in front of it", kCode.address, {}},
      {"no rule", ReturnInto(2) + 1, {}},
      {"root", {}, Rule::Root()},
      {"no caller", {}, Rule::NoCaller()},
      {"no way", {}, Rule::NoWay()},
      {"guess", {}, Rule::Guess(kRsp, 16, {})},
      {"CFA is not above SP", {}, RuleOf(kRbp, 8, 0), At(1)},
      {"CFA is not aligned", {}, RuleOf(kRbp, 16, 0), At(8) + 4},
      {"CFA is elsewhere", {}, RuleOf(kRbp, 16, 0), At(kWords)},
      {"FP is below the stack", {}, RuleOf(kRsp, 16, 5)},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    SetRule(2, RuleOf(kRsp, 16, 0));
    if (row.rule) SetRule(2, *row.rule);
    Position at = Start(1);
    stack_[1] = row.pc.value_or(ReturnInto(2));
    if (row.fp) at.fp = *row.fp;
    EXPECT_EQ(Run(&at, kWords), 1u);
    EXPECT_EQ(at.pc, stack_[1]);
    EXPECT_EQ(at.sp, At(2));
  }
}

}  // namespace
}  // namespace unspool::unwind
