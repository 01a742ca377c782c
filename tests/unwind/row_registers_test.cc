// All callee-saved registers are recovered, not only those that PCs need.

#include <gtest/gtest.h>

#include <memory>

#include "tests/unwind/odd_frames.h"
#include "tests/unwind/self_walk.h"
#include "unwind/module_setup.h"
#include "unwind/row_step.h"
#include "unwind/self_cfi.h"

namespace unspool::unwind {
namespace {

// The registers of the frame whose PC is in [start, end), going up from `from`.
Registers RecoverAt(const Registers& from, uint64_t start, uint64_t end) {
  const auto state = std::make_unique<SelfUnwinderState>();
  const auto scratch = std::make_unique<WalkScratch>();
  EXPECT_TRUE(TakeModuleSnapshot(nullptr, &state->modules));
  SelfMemory memory(0, 0, scratch->page);
  RegisteredCode registered;
  SelfCfi cfi(*state, registered, *scratch);
  Registers frame = from;
  for (int i = 0; i < 64 && !(start <= frame.pc() && frame.pc() < end); ++i) {
    const auto answer = cfi.Find(frame.pc(), i == 0);
    Registers caller;
    StepStatus status = StepStatus::kBadCfi;
    if (answer.kind == SelfCfi::Answer::Kind::kRow) {
      status = cfi.ApplyRow(frame, memory, &caller);
    } else if (answer.rule.is_step() || answer.rule.is_realigned()) {
      status = answer.rule.Apply(frame, memory, &caller);
    }
    EXPECT_EQ(status, StepStatus::kOk);
    if (status != StepStatus::kOk) break;
    frame = caller;
  }
  return frame;
}

void ExpectKnownRegisters(const Registers& here) {
  const Registers frame = RecoverAt(here, AddressOf(call_with_registers),
                                    AddressOf(call_with_registers_end));
  const struct {
    X86_64Register number;
    uint64_t value;
  } rows[] = {
      {X86_64Register::kRbx, 0xb1}, {X86_64Register::kRbp, 0xb2},
      {X86_64Register::kR12, 0xc1}, {X86_64Register::kR13, 0xc2},
      {X86_64Register::kR14, 0xc3}, {X86_64Register::kR15, 0xc4},
  };
  for (const auto& row : rows) {
    EXPECT_TRUE(frame.Has(row.number));
    EXPECT_EQ(frame.Get(row.number), row.value) << static_cast<int>(row.number);
  }
}

TEST(RecoveredRegisters, AreThoseOfTheCaller) {
  call_with_registers([] { ExpectKnownRegisters(Registers::Here()); });
}

// The function's rules for rbp, r12 and others are all expressions on rbp.
TEST(RecoveredRegisters, SurviveARealignedStack) {
  realigned_callback = [] { ExpectKnownRegisters(Registers::Here()); };
  call_with_registers(call_realigned);
}

}  // namespace
}  // namespace unspool::unwind
