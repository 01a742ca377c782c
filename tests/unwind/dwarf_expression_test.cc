#include "unwind/dwarf_expression.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/unwind/fake_memory.h"
#include "unwind/arch/x86_64/registers.h"

namespace unspool::unwind {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr uint64_t kCfa = 0x1111;
constexpr uint64_t kBias = 0x500000;

// Registers 0 to 6 are 1000 + number, the others unknown.
X86_64Registers SomeRegisters() {
  X86_64Registers registers;
  for (size_t i = 0; i <= 6; ++i) registers.Set(i, 1000 + i);
  return registers;
}

struct Result {
  StepStatus status;
  uint64_t value;
};

Result Evaluate(const Bytes& code) {
  FakeMemory memory;
  memory.PutWord(1003, 0x8877665544332211);
  const X86_64Registers registers = SomeRegisters();
  DwarfExpression<X86_64Registers, FakeMemory> expression(registers, memory,
                                                          kBias);
  Result result = {};
  result.status = expression.Evaluate(code, kCfa, &result.value);
  return result;
}

TEST(DwarfExpression, EvaluatesEveryOperation) {
  constexpr auto kMinusOne = ~uint64_t{0};
  constexpr uint64_t kMin = uint64_t{1} << 63;
  const struct {
    const char* name;
    Bytes code;
    uint64_t value;
  } rows[] = {
      {"starts with the CFA", {}, kCfa},
      {"addr is biased", {0x03, 1, 0, 0, 0, 0, 0, 0, 0}, kBias + 1},
      {"const1u", {0x08, 0xff}, 0xff},
      {"const1s", {0x09, 0xff}, kMinusOne},
      {"const2u", {0x0a, 0xff, 0xff}, 0xffff},
      {"const2s", {0x0b, 0xff, 0xff}, kMinusOne},
      {"const4u", {0x0c, 0xff, 0xff, 0xff, 0xff}, 0xffffffff},
      {"const4s", {0x0d, 0xff, 0xff, 0xff, 0xff}, kMinusOne},
      {"const8u", {0x0e, 1, 2, 3, 4, 5, 6, 7, 8}, 0x0807060504030201},
      {"const8s", {0x0f, 1, 2, 3, 4, 5, 6, 7, 8}, 0x0807060504030201},
      {"constu", {0x10, 0x80, 1}, 128},
      {"consts", {0x11, 0x7f}, kMinusOne},
      {"lit0", {0x30}, 0},
      {"lit31", {0x4f}, 31},
      {"breg3", {0x73, 0x7f}, 1002},
      {"bregx", {0x92, 4, 2}, 1006},
      {"dup", {0x32, 0x12, 0x22}, 4},
      {"drop", {0x32, 0x13}, kCfa},
      {"over", {0x32, 0x33, 0x14}, 2},
      {"pick", {0x32, 0x33, 0x34, 0x15, 2}, 2},
      {"swap", {0x32, 0x33, 0x16}, 2},
      {"swap keeps both", {0x32, 0x33, 0x16, 0x13}, 3},
      // DWARF 5 §2.5.1.3: the top goes to third place.
      {"rot", {0x32, 0x33, 0x34, 0x17}, 3},
      {"rot, second", {0x32, 0x33, 0x34, 0x17, 0x13}, 2},
      {"rot, third", {0x32, 0x33, 0x34, 0x17, 0x13, 0x13}, 4},
      {"deref", {0x73, 0, 0x06}, 0x8877665544332211},
      {"deref_size 1", {0x73, 0, 0x94, 1}, 0x11},
      {"deref_size 2", {0x73, 0, 0x94, 2}, 0x2211},
      {"deref_size 4", {0x73, 0, 0x94, 4}, 0x44332211},
      {"deref_size 8", {0x73, 0, 0x94, 8}, 0x8877665544332211},
      {"abs", {0x09, 0xfb, 0x19}, 5},
      {"neg", {0x35, 0x1f}, ~uint64_t{4}},
      {"not", {0x35, 0x20}, ~uint64_t{5}},
      {"plus_uconst", {0x35, 0x23, 0x80, 1}, 133},
      {"and", {0x36, 0x33, 0x1a}, 2},
      {"or", {0x36, 0x33, 0x21}, 7},
      {"xor", {0x36, 0x33, 0x27}, 5},
      {"plus", {0x36, 0x33, 0x22}, 9},
      {"minus", {0x33, 0x36, 0x1c}, ~uint64_t{2}},
      {"mul", {0x36, 0x33, 0x1e}, 18},
      {"div is signed", {0x09, 0xf9, 0x32, 0x1b}, ~uint64_t{2}},
      {"smallest / -1 wraps",
       {0x0e, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x09, 0xff, 0x1b},
       kMin},
      {"mod is unsigned", {0x09, 0xff, 0x3a, 0x1d}, 5},
      {"shl", {0x33, 0x32, 0x24}, 12},
      {"shl by 64", {0x33, 0x08, 64, 0x24}, 0},
      {"shr", {0x09, 0xff, 0x08, 60, 0x25}, 15},
      {"shr by 64", {0x09, 0xff, 0x08, 64, 0x25}, 0},
      {"shra", {0x09, 0xf8, 0x31, 0x26}, ~uint64_t{3}},
      {"shra by 64", {0x09, 0xf8, 0x08, 64, 0x26}, kMinusOne},
      {"eq", {0x32, 0x32, 0x29}, 1},
      {"ne", {0x32, 0x32, 0x2e}, 0},
      {"ge is signed", {0x30, 0x09, 0xff, 0x2a}, 1},
      {"gt is signed", {0x30, 0x09, 0xff, 0x2b}, 1},
      {"le", {0x32, 0x32, 0x2c}, 1},
      {"lt is signed", {0x09, 0xff, 0x30, 0x2d}, 1},
      {"skip", {0x32, 0x2f, 1, 0, 0x33, 0x96}, 2},
      {"bra taken", {0x32, 0x31, 0x28, 1, 0, 0x33}, 2},
      {"bra not taken", {0x32, 0x30, 0x28, 1, 0, 0x33}, 3},
      {"a loop that ends: 5 times",
       {0x30, 0x23, 1, 0x12, 0x35, 0x2d, 0x28, 0xf8, 0xff},
       5},
      // glibc's PLT: 8 more bytes from the eleventh byte of a slot on.
      {"PLT",
       {0x76, 0x08, 0x72, 0x0f, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22},
       1006 + 8 + 0},
  };
  for (const auto& row : rows) {
    const Result result = Evaluate(row.code);
    EXPECT_EQ(result.status, StepStatus::kOk) << row.name;
    EXPECT_EQ(result.value, row.value) << row.name;
  }
}

TEST(DwarfExpression, RefusesWhatHasNoMeaningInCfi) {
  Bytes deep;
  for (int i = 0; i < 65; ++i) deep.push_back(0x30);
  const struct {
    const char* name;
    Bytes code;
    StepStatus status;
  } rows[] = {
      {"stack underflow", {0x13, 0x13}, StepStatus::kBadCfi},
      {"nothing left", {0x13}, StepStatus::kBadCfi},
      {"stack overflow", deep, StepStatus::kBadCfi},
      {"pick too deep", {0x15, 1}, StepStatus::kBadCfi},
      {"operand cut off", {0x08}, StepStatus::kBadCfi},
      {"skip out of the code", {0x2f, 9, 0}, StepStatus::kBadCfi},
      {"endless loop", {0x2f, 0xfd, 0xff}, StepStatus::kBadCfi},
      {"division by zero", {0x30, 0x1b}, StepStatus::kBadCfi},
      {"modulo zero", {0x30, 0x1d}, StepStatus::kBadCfi},
      {"unknown register", {0x77, 0}, StepStatus::kNoRegister},
      {"register that is not tracked",
       {0x92, 0xff, 0xff, 0x7f, 0},
       StepStatus::kNoRegister},
      {"deref_size 3", {0x73, 0, 0x94, 3}, StepStatus::kBadCfi},
      {"unreadable", {0x30, 0x06}, StepStatus::kBadMemory},
      {"reg0", {0x50}, StepStatus::kBadCfi},
      {"fbreg", {0x91, 0}, StepStatus::kBadCfi},
      {"piece", {0x93, 8}, StepStatus::kBadCfi},
      {"xderef", {0x18}, StepStatus::kBadCfi},
      {"push_object_address", {0x97}, StepStatus::kBadCfi},
      {"call2", {0x98, 0, 0}, StepStatus::kBadCfi},
      {"form_tls_address", {0x9b}, StepStatus::kBadCfi},
      {"call_frame_cfa", {0x9c}, StepStatus::kBadCfi},
      {"stack_value", {0x9f}, StepStatus::kBadCfi},
      {"addrx", {0xa1, 0}, StepStatus::kBadCfi},
      {"entry_value", {0xa3, 1, 0x50}, StepStatus::kBadCfi},
      {"vendor operation", {0xf0}, StepStatus::kBadCfi},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(Evaluate(row.code).status, row.status) << row.name;
  }
}

TEST(DwarfExpression, StartsEmptyForACfa) {
  FakeMemory memory;
  const X86_64Registers registers = SomeRegisters();
  DwarfExpression<X86_64Registers, FakeMemory> expression(registers, memory, 0);
  uint64_t value = 0;
  EXPECT_EQ(expression.Evaluate({}, std::nullopt, &value), StepStatus::kBadCfi);
}

}  // namespace
}  // namespace unspool::unwind
