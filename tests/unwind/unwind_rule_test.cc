#include "unwind/unwind_rule.h"

#include <gtest/gtest.h>

#include "tests/unwind/cfi_builder.h"
#include "tests/unwind/fake_memory.h"
#include "unwind/row_step.h"

namespace unspool::unwind {
namespace {

constexpr size_t kRbx = 3, kRbp = 6, kRsp = 7, kR12 = 12, kRip = 16;
constexpr uint64_t kStack = 0x7ff000;

using Row = CfiRow<X86_64>;
using Rule = UnwindRule<X86_64>;

// CFA = register + offset, RA below it.
Row RowOn(uint32_t number, int64_t offset) {
  Row row;
  row.cfa = {CfaRule::Kind::kRegisterOffset, number, offset};
  row.registers[kRip] = {RuleKind::kOffset, 0, -8};
  return row;
}

Row With(Row row, size_t number, RegisterRule rule) {
  row.registers[number] = rule;
  return row;
}

X86_64Registers SomeRegisters() {
  X86_64Registers registers;
  for (size_t i = 0; i < X86_64Registers::kCount; ++i) {
    registers.Set(i, 0x100 + i);
  }
  registers.Set(kRsp, kStack);
  registers.Set(kRbp, kStack + 0x100);
  return registers;
}

// Every word of the stack is its own address plus one.
FakeMemory SomeMemory() {
  FakeMemory memory;
  for (uint64_t i = 0; i < 0x1000; i += 8) {
    memory.PutWord(kStack + i, kStack + i + 1);
  }
  return memory;
}

StepStatus ApplyRow(const Row& row, X86_64Registers* caller,
                    const Bytes& expressions = {}) {
  FakeMemory memory = SomeMemory();
  SpanSource source(expressions, 0x1000);
  const X86_64Registers frame = SomeRegisters();
  RowStep<X86_64, FakeMemory, SpanSource> step(frame, memory, source, 0);
  return step.Apply(row, kRip, caller);
}

TEST(UnwindRule, GivesWhatTheRowGives) {
  const struct {
    const char* name;
    Row row;
  } rows[] = {
      {"function's first instruction", RowOn(kRsp, 8)},
      {"rbp pushed", With(RowOn(kRsp, 16), kRbp, {RuleKind::kOffset, 0, -16})},
      {"frame on rbp",
       With(RowOn(kRbp, 16), kRbp, {RuleKind::kOffset, 0, -16})},
      {"the furthest slot",
       With(RowOn(kRsp, 1024), kR12, {RuleKind::kOffset, 0, -15 * 8})},
      {"rbp's furthest slot",
       With(RowOn(kRsp, 1024), kRbp, {RuleKind::kOffset, 0, -127 * 8})},
      {"all saved", With(With(With(With(With(With(RowOn(kRsp, 64), 15,
                                                  {RuleKind::kOffset, 0, -16}),
                                             14, {RuleKind::kOffset, 0, -24}),
                                        13, {RuleKind::kOffset, 0, -32}),
                                   kR12, {RuleKind::kOffset, 0, -40}),
                              kRbp, {RuleKind::kOffset, 0, -48}),
                         kRbx, {RuleKind::kOffset, 0, -56})},
      {"same value", With(RowOn(kRsp, 8), kRbx, {RuleKind::kSameValue, 0, 0})},
      {"what is lost anyway is undefined",
       With(RowOn(kRsp, 8), 0, {RuleKind::kUndefined, 0, 0})},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    const auto rule = Rule::Compile(row.row, kRip);
    ASSERT_TRUE(rule.has_value());
    ASSERT_TRUE(rule->is_step());
    FakeMemory memory = SomeMemory();
    X86_64Registers by_rule;
    X86_64Registers by_row;
    ASSERT_EQ(rule->Apply(SomeRegisters(), memory, &by_rule), StepStatus::kOk);
    ASSERT_EQ(ApplyRow(row.row, &by_row), StepStatus::kOk);
    for (size_t i = 0; i < X86_64Registers::kCount; ++i) {
      EXPECT_EQ(by_rule.Has(i), by_row.Has(i)) << i;
      EXPECT_EQ(by_rule.Get(i), by_row.Get(i)) << i;
    }
    EXPECT_EQ(Rule::FromWord(rule->word()).word(), rule->word());
    EXPECT_EQ(rule->word() & Rule::kFreeBits, 0u);
  }
}

// Expressions relative to rbp, at 0x1000 + 8 n: (rbp - 8 n), two bytes each.
constexpr uint32_t kExpressionBytes = 2;
Bytes Expressions() {
  Bytes bytes;
  for (uint8_t n = 0; n < 8; ++n) {
    const uint8_t offset = static_cast<uint8_t>(-8 * n) & 0x7f;
    const Bytes one = {0x76, offset, 0x06, 0, 0, 0, 0, 0};
    bytes.insert(bytes.end(), one.begin(), one.end());
  }
  return bytes;
}
RegisterRule BelowRbp(int64_t words) {
  return {RuleKind::kExpression, kExpressionBytes, 0x1000 + 8 * words};
}
// CFA = *(rbp - 8), as GCC describes functions that realign their stack.
Row RealignedRow() {
  Row row = RowOn(kRsp, 0);
  row.cfa = {CfaRule::Kind::kExpression, kExpressionBytes + 1, 0x1008};
  row.registers[kRbp] = BelowRbp(0);
  return row;
}
std::optional<Rule> CompileRealigned(const Row& row) {
  const Bytes bytes = Expressions();
  SpanSource source(bytes, 0x1000);
  return Rule::CompileRealigned(row, kRip, [&](AddressRange code) {
    return source.Window(code.address, code.size);
  });
}

TEST(UnwindRule, OfARealignedStackGivesWhatTheRowGives) {
  const Row rows[] = {RealignedRow(), With(RealignedRow(), kRbx, BelowRbp(5)),
                      With(With(RealignedRow(), kR12, BelowRbp(2)), 15,
                           {RuleKind::kSameValue, 0, 0})};
  for (const Row& row : rows) {
    // The frame's own FP, and a caller's.
    for (const uint64_t cfa : {kStack + 0x120, kStack + 0x80}) {
      const auto rule = CompileRealigned(row);
      ASSERT_TRUE(rule.has_value());
      ASSERT_TRUE(rule->is_realigned());
      FakeMemory memory = SomeMemory();
      memory.PutWord(kStack + 0xf8, cfa);
      X86_64Registers by_rule;
      X86_64Registers by_row;
      const X86_64Registers frame = SomeRegisters();
      ASSERT_EQ(rule->Apply(frame, memory, &by_rule), StepStatus::kOk);
      const Bytes bytes = Expressions();
      SpanSource source(bytes, 0x1000);
      RowStep<X86_64, FakeMemory, SpanSource> step(frame, memory, source, 0);
      ASSERT_EQ(step.Apply(row, kRip, &by_row), StepStatus::kOk);
      EXPECT_EQ(by_rule.sp(), cfa);
      for (size_t i = 0; i < X86_64Registers::kCount; ++i) {
        EXPECT_EQ(by_rule.Has(i), by_row.Has(i)) << i;
        EXPECT_EQ(by_rule.Get(i), by_row.Get(i)) << i;
      }
    }
  }
}

TEST(UnwindRule, OfARealignedStackLeavesTheRestToTheRow) {
  Row no_deref = RealignedRow();
  no_deref.cfa.register_or_size = kExpressionBytes;
  Row elsewhere = RealignedRow();
  elsewhere.cfa.value = 0x1002;  // no expression on rbp
  const Row rows[] = {
      no_deref,
      elsewhere,
      RowOn(kRsp, 8),
      With(RealignedRow(), kRbp, BelowRbp(1)),
      With(RealignedRow(), kRbp, {}),
      With(RealignedRow(), kRbx, BelowRbp(0)),
      With(RealignedRow(), kRbx, {RuleKind::kOffset, 0, -16}),
      With(RealignedRow(), 0, BelowRbp(3)),
      With(RealignedRow(), kRip, {}),
  };
  for (size_t i = 0; i < std::size(rows); ++i) {
    EXPECT_FALSE(CompileRealigned(rows[i]).has_value()) << i;
  }
}

TEST(UnwindRule, LeavesTheRestToTheRow) {
  const RegisterRule slot = {RuleKind::kOffset, 0, -16};
  const struct {
    const char* name;
    Row row;
    uint64_t ra;
  } rows[] = {
      {"CFA on rbx", RowOn(kRbx, 16), kRip},
      {"CFA by expression",
       [] {
         Row row = RowOn(kRsp, 0);
         row.cfa.kind = CfaRule::Kind::kExpression;
         return row;
       }(),
       kRip},
      {"no CFA", Row(), kRip},
      {"CFA below SP", RowOn(kRsp, -16), kRip},
      {"CFA not of whole words", RowOn(kRsp, 12), kRip},
      {"CFA far away", RowOn(kRsp, int64_t{1} << 21), kRip},
      {"RA in a register",
       With(RowOn(kRsp, 8), kRip, {RuleKind::kRegister, 5, 0}), kRip},
      {"RA elsewhere", With(RowOn(kRsp, 8), kRip, slot), kRip},
      {"RA not said", With(RowOn(kRsp, 8), kRip, {}), kRip},
      {"another column is the RA", RowOn(kRsp, 8), 15},
      {"SP saved", With(RowOn(kRsp, 8), kRsp, slot), kRip},
      {"SP undefined", With(RowOn(kRsp, 8), kRsp, {RuleKind::kUndefined, 0, 0}),
       kRip},
      {"caller-saved register saved", With(RowOn(kRsp, 8), 0, slot), kRip},
      {"slot too far",
       With(RowOn(kRsp, 2048), kRbx, {RuleKind::kOffset, 0, -16 * 8}), kRip},
      {"rbp's slot too far",
       With(RowOn(kRsp, 2048), kRbp, {RuleKind::kOffset, 0, -128 * 8}), kRip},
      {"slot above the CFA",
       With(RowOn(kRsp, 8), kRbx, {RuleKind::kOffset, 0, 8}), kRip},
      {"slot at the CFA", With(RowOn(kRsp, 8), kRbx, {RuleKind::kOffset, 0, 0}),
       kRip},
      {"slot not of whole words",
       With(RowOn(kRsp, 32), kRbx, {RuleKind::kOffset, 0, -20}), kRip},
      {"callee-saved register undefined",
       With(RowOn(kRsp, 8), kRbx, {RuleKind::kUndefined, 0, 0}), kRip},
      {"callee-saved register by expression",
       With(RowOn(kRsp, 8), kRbx, {RuleKind::kExpression, 1, 0x1000}), kRip},
  };
  for (const auto& row : rows) {
    EXPECT_FALSE(Rule::Compile(row.row, row.ra).has_value()) << row.name;
  }
}

TEST(UnwindRule, UnreadableReturnAddressIsBadMemory) {
  const X86_64Registers frame = SomeRegisters();
  X86_64Registers caller;
  const auto rule = Rule::Compile(RowOn(kRsp, 16), kRip);
  FakeMemory memory;
  EXPECT_EQ(rule->Apply(frame, memory, &caller), StepStatus::kBadMemory);
  memory.PutWord(kStack + 8, 1);
  EXPECT_EQ(rule->Apply(frame, memory, &caller), StepStatus::kOk);
}

TEST(UnwindRule, RegisterWithAnUnreadableSlotIsUnknown) {
  const X86_64Registers frame = SomeRegisters();
  X86_64Registers caller;
  FakeMemory only_ra;
  only_ra.PutWord(kStack + 8, 1);
  const auto rule = Rule::Compile(
      With(RowOn(kRsp, 16), kRbp, {RuleKind::kOffset, 0, -16}), kRip);
  EXPECT_EQ(rule->Apply(frame, only_ra, &caller), StepStatus::kOk);
  EXPECT_FALSE(caller.Has(kRbp));
  EXPECT_TRUE(caller.Has(kRbx));
}

TEST(UnwindRule, UnknownFramePointerIsTold) {
  X86_64Registers frame = SomeRegisters();
  frame.Forget(kRbp);
  FakeMemory memory = SomeMemory();
  X86_64Registers caller;
  const auto rule = Rule::Compile(RowOn(kRbp, 16), kRip);
  EXPECT_EQ(rule->Apply(frame, memory, &caller), StepStatus::kNoRegister);
}

TEST(UnwindRule, TellsWhereTheCfaIsAndWhatIsBelowIt) {
  Row row = RowOn(kRbp, 16);
  auto rule = Rule::Compile(row, kRip);
  EXPECT_EQ(rule->cfa_offset(), 16u);
  EXPECT_EQ(rule->saved_bytes(), 8u);
  constexpr int64_t kFarthest = (int64_t{1} << 21) - 8;
  EXPECT_EQ(Rule::Compile(RowOn(kRsp, kFarthest), kRip)->cfa_offset(),
            uint64_t{kFarthest});
  row.registers[kRbp] = {RuleKind::kOffset, 0, -16};
  row.registers[kRbx] = {RuleKind::kOffset, 0, -40};
  rule = Rule::Compile(row, kRip);
  EXPECT_EQ(rule->saved_bytes(), 40u);
}

TEST(UnwindRule, SpecialRulesAreNoSteps) {
  EXPECT_TRUE(Rule::Root().is_root());
  EXPECT_FALSE(Rule::Root().is_step());
  EXPECT_TRUE(Rule::NoCaller().is_no_caller());
  EXPECT_FALSE(Rule().is_step());
  EXPECT_FALSE(Rule().is_root());
}

TEST(RowStep, AppliesEveryKindOfRule) {
  const Bytes code = {0x23, 0x08};  // plus_uconst 8: CFA + 8
  const uint64_t cfa = kStack + 0x20;
  const struct {
    const char* name;
    size_t number;
    RegisterRule rule;
    bool known;
    uint64_t value;
  } rows[] = {
      {"callee-saved is kept", kRbx, {}, true, 0x103},
      {"caller-saved is lost", 0, {}, false, 0},
      {"SP is the CFA", kRsp, {}, true, cfa},
      {"undefined", kRbx, {RuleKind::kUndefined, 0, 0}, false, 0},
      {"slot unreadable", kRbx, {RuleKind::kOffset, 0, -64}, false, 0},
      {"expression unreadable",
       kRbx,
       {RuleKind::kExpression, 9, 0x1000},
       false,
       0},
      {"same value", 0, {RuleKind::kSameValue, 0, 0}, true, 0x100},
      {"offset", kRbx, {RuleKind::kOffset, 0, -16}, true, cfa - 15},
      {"val_offset", kRbx, {RuleKind::kValOffset, 0, -16}, true, cfa - 16},
      {"register", kRbx, {RuleKind::kRegister, 5, 0}, true, 0x105},
      {"register that is not tracked",
       kRbx,
       {RuleKind::kRegister, 40, 0},
       false,
       0},
      {"expression", kRbx, {RuleKind::kExpression, 2, 0x1000}, true, cfa + 9},
      {"val_expression",
       kRbx,
       {RuleKind::kValExpression, 2, 0x1000},
       true,
       cfa + 8},
      {"RA in a register", kRip, {RuleKind::kRegister, 5, 0}, true, 0x105},
      {"RA by val_offset", kRip, {RuleKind::kValOffset, 0, 4}, true, cfa + 4},
  };
  for (const auto& row : rows) {
    X86_64Registers caller;
    const Row cfi = With(RowOn(kRsp, 0x20), row.number, row.rule);
    ASSERT_EQ(ApplyRow(cfi, &caller, code), StepStatus::kOk) << row.name;
    EXPECT_EQ(caller.Has(row.number), row.known) << row.name;
    EXPECT_EQ(caller.Get(row.number), row.value) << row.name;
  }
}

TEST(RowStep, AllRulesReadTheOldRegisters) {
  // rbp changes, and rbx, r12 and the CFA count from what it was.
  Row row = RowOn(kRbp, 16);
  row.registers[kRbp] = {RuleKind::kOffset, 0, -16};
  row.registers[kRbx] = {RuleKind::kValExpression, 2, 0x1000};
  row.registers[kR12] = {RuleKind::kRegister, kRbp, 0};
  X86_64Registers caller;
  ASSERT_EQ(ApplyRow(row, &caller, {0x76, 0x04}), StepStatus::kOk);
  EXPECT_EQ(caller.Get(kRbp), kStack + 0x101);
  EXPECT_EQ(caller.Get(kRbx), kStack + 0x104);
  EXPECT_EQ(caller.Get(kR12), kStack + 0x100);
}

// As in the last instructions of a function that realigns its stack, where the
// rules are not true any more.
TEST(RowStep, RegistersRelativeToACallersFpAreKept) {
  const Bytes eight_below_rbp = {0x76, 0x78};
  Row row = With(RowOn(kRsp, 8), kRbx, {RuleKind::kExpression, 2, 0x1000});
  row.registers[kRbp] = {RuleKind::kExpression, 2, 0x1000};
  X86_64Registers caller;
  ASSERT_EQ(ApplyRow(row, &caller, eight_below_rbp), StepStatus::kOk);
  EXPECT_EQ(caller.Get(kRbp), kStack + 0x100);
  EXPECT_EQ(caller.Get(kRbx), 0x103u);
  row.cfa.value = 0x200;  // now it is the frame's own
  ASSERT_EQ(ApplyRow(row, &caller, eight_below_rbp), StepStatus::kOk);
  EXPECT_EQ(caller.Get(kRbp), kStack + 0xf9);
  EXPECT_EQ(caller.Get(kRbx), kStack + 0xf9);
}

TEST(RowStep, BadRowsAndMemoryAreTold) {
  Row expression_cfa = RowOn(kRsp, 0);
  expression_cfa.cfa = {CfaRule::Kind::kExpression, 1, 0x1000};
  const struct {
    const char* name;
    Row row;
    StepStatus status;
  } rows[] = {
      {"no CFA", With(Row(), kRip, {RuleKind::kOffset, 0, -8}),
       StepStatus::kBadCfi},
      {"CFA on a register that is not tracked", RowOn(33, 0),
       StepStatus::kNoRegister},
      {"RA not said", With(RowOn(kRsp, 8), kRip, {}), StepStatus::kBadCfi},
      {"RA kept", With(RowOn(kRsp, 8), kRip, {RuleKind::kSameValue, 0, 0}),
       StepStatus::kBadCfi},
      {"RA in a register that is not tracked",
       With(RowOn(kRsp, 8), kRip, {RuleKind::kRegister, 33, 0}),
       StepStatus::kBadCfi},
      {"RA unreadable", RowOn(kRsp, 0x2000), StepStatus::kBadMemory},
      {"expression that cannot be read", expression_cfa, StepStatus::kBadCfi},
  };
  for (const auto& row : rows) {
    X86_64Registers caller;
    EXPECT_EQ(ApplyRow(row.row, &caller), row.status) << row.name;
  }
}

}  // namespace
}  // namespace unspool::unwind
