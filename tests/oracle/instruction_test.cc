#include "tests/oracle/instruction.h"

#include <gtest/gtest.h>

#include <vector>

namespace unspool::oracle {
namespace {

TEST(Instruction, FlowByItsBytes) {
  const struct {
    const char* name;
    std::vector<uint8_t> code;
    Flow flow;
  } rows[] = {
      {"call rel32", {0xe8, 1, 0, 0, 0}, Flow::kCall},
      {"call of the next instruction", {0xe8, 0, 0, 0, 0}, Flow::kOther},
      {"call *%rax", {0xff, 0xd0}, Flow::kCall},
      {"call *%r11", {0x41, 0xff, 0xd3}, Flow::kCall},
      {"notrack call *%rax", {0x3e, 0xff, 0xd0}, Flow::kCall},
      {"bnd call rel32", {0xf2, 0xe8, 1, 0, 0, 0}, Flow::kCall},
      {"call *disp(%rip)", {0xff, 0x15, 0, 1, 0, 0}, Flow::kCall},
      {"jmp *%rax", {0xff, 0xe0}, Flow::kIndirectJump},
      {"bnd jmp *disp(%rip)",
       {0xf2, 0xff, 0x25, 0, 1, 0, 0},
       Flow::kIndirectJump},
      {"push (%rax)", {0xff, 0x30}, Flow::kOther},
      {"jmp rel32", {0xe9, 1, 0, 0, 0}, Flow::kOther},
      {"ret", {0xc3}, Flow::kReturn},
      {"rep ret", {0xf3, 0xc3}, Flow::kReturn},
      {"ret imm16", {0xc2, 8, 0}, Flow::kReturn},
      {"syscall", {0x0f, 0x05}, Flow::kSystemCall},
      {"endbr64", {0xf3, 0x0f, 0x1e, 0xfa}, Flow::kOther},
      {"cut off", {0xff}, Flow::kOther},
      {"nothing", {}, Flow::kOther},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(DecodeFlow(row.code), row.flow) << row.name;
  }
}

}  // namespace
}  // namespace unspool::oracle
