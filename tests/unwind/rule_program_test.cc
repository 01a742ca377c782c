#include "unwind/rule_program.h"

#include <gtest/gtest.h>

#include "tests/unwind/cfi_builder.h"

namespace unspool::unwind {
namespace {

using Rule = UnwindRule<X86_64>;
constexpr size_t kRsp = 7;
constexpr size_t kRbp = 6;

Rule RuleAt(uint64_t distance, Bytes instructions) {
  const size_t size = instructions.size();
  // What follows would change the rule, were it executed.
  instructions.resize(size + kRuleProgramMargin, 0x83);
  return RuleProgram<X86_64>(std::span(instructions).first(size))
      .RunTo(distance);
}

TEST(RuleProgram, TellsTheRuleThatCompilersMean) {
  // Slots: rbx, rbp, r12 … r15 from the lowest byte on.
  const struct {
    const char* name;
    uint64_t distance;
    Bytes instructions;
    size_t base;
    uint64_t offset;
    uint64_t slots;
  } rows[] = {
      {"nothing", 0, {}, kRsp, 8, 0},
      {"nop", 0, {0x00, 0x00}, kRsp, 8, 0},
      {"before the first advance", 2, {0x43, 0x0e, 16}, kRsp, 8, 0},
      {"behind it", 3, {0x43, 0x0e, 16}, kRsp, 16, 0},
      {"offset", 0, {0x86, 2}, kRsp, 8, 0x0200},
      {"each register",
       0,
       {0x83, 1, 0x86, 2, 0x8c, 3, 0x8d, 4, 0x8e, 5, 0x8f, 15},
       kRsp,
       8,
       0x0f0504030201},
      {"restore", 0, {0x86, 2, 0x83, 3, 0xc6}, kRsp, 8, 0x03},
      {"the last of two offsets", 0, {0x86, 7, 0x86, 2}, kRsp, 8, 0x0200},
      {"def_cfa_offset of two bytes", 0, {0x0e, 0x90, 1}, kRsp, 144, 0},
      {"def_cfa_register", 0, {0x0d, 6}, kRbp, 8, 0},
      {"def_cfa", 0, {0x0c, 6, 16}, kRbp, 16, 0},
      {"def_cfa of two bytes", 0, {0x0c, 6, 0xa8, 2}, kRbp, 296, 0},
      {"advance_loc1", 0x90, {0x02, 0x90, 0x0e, 24}, kRsp, 24, 0},
      {"short of it", 0x8f, {0x02, 0x90, 0x0e, 24}, kRsp, 8, 0},
      {"advance_loc2", 0x190, {0x03, 0x90, 1, 0x0e, 24}, kRsp, 24, 0},
      {"advance_loc4", 0x10000, {0x04, 0, 0, 1, 0, 0x0e, 24}, kRsp, 24, 0},
      {"remember and restore",
       2,
       {0x86, 2, 0x0c, 6, 16, 0x0a, 0x41, 0x0c, 7, 8, 0x83, 3, 0x41, 0x0b},
       kRbp,
       16,
       0x0200},
      {"what is behind the PC does not matter",
       4,
       {0x0e, 16, 0x45, 0x0f, 0x01},
       kRsp,
       16,
       0},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    EXPECT_EQ(RuleAt(row.distance, row.instructions).word(),
              Rule::Step(row.base, row.offset, row.slots).word());
    EXPECT_TRUE(RuleAt(row.distance, row.instructions).is_plain());
  }
}

TEST(RuleProgram, SaysNothingOfWhatItDoesNotKnow) {
  const struct {
    const char* name;
    Bytes instructions;
  } rows[] = {
      {"an unknown instruction", {0x3f}},
      {"undefined return address", {0x07, 16}},
      {"an expression", {0x0f, 1, 0x30}},
      {"a register that the rule does not hold", {0x80, 2}},
      {"the return address elsewhere", {0x90, 2}},
      {"a register above all", {0xbf, 2}},
      {"saved at the CFA", {0x86, 0}},
      {"saved too far away", {0x83, 16}},
      {"rbp saved too far away", {0x86, 0x80, 1}},
      {"saved at the CFA, by two bytes", {0x86, 0x80, 0}},
      {"odd once, then as usual", {0x86, 0x80, 0x86, 2}},
      {"restore of a register that the rule does not hold", {0xc0}},
      {"the same, of one that was saved", {0x80, 2, 0xc0}},
      {"CFA on another register", {0x0d, 10}},
      {"the same, then as usual", {0x0c, 10, 0, 0x0c, 7, 8}},
      {"a CFA between words", {0x0e, 12}},
      {"an offset of three bytes", {0x0e, 0x80, 0x80, 1}},
      {"nothing remembered", {0x0b}},
      {"too much remembered",
       {0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a}},
      {"an operand behind the end", {0x0e}},
      {"half of one", {0x0e, 0x90}},
      {"a slot behind the end", {0x86}},
      {"half of a distance", {0x03, 1}},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(RuleAt(0x1000000, row.instructions).word(), 0u) << row.name;
  }
}

}  // namespace
}  // namespace unspool::unwind
