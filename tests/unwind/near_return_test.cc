// Code a few instructions before a return, and where that finds its address.

#include "unwind/near_return.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "unwind/arch/x86_64/arch.h"

namespace unspool::unwind {
namespace {

struct Row {
  const char* text;
  std::vector<uint8_t> code;
  const char* expected;  // "sp+…", "fp+…"; "": none
};

std::string Find(const std::vector<uint8_t>& code) {
  const auto place = NearReturn<X86_64>(code).Find();
  if (!place) return "";
  return (place->base == X86_64::kSp ? "sp+" : "fp+") +
         std::to_string(place->offset);
}

void Check(const std::vector<Row>& rows) {
  for (const Row& row : rows)
    EXPECT_EQ(Find(row.code), row.expected) << row.text;
}

TEST(NearReturn, FollowsEpilogues) {
  Check({
      {"ret", {0xc3}, "sp+0"},
      {"pop %rbx; ret", {0x5b, 0xc3}, "sp+8"},
      {"add $24,%rsp; pop %r12; ret",
       {0x48, 0x83, 0xc4, 24, 0x41, 0x5c, 0xc3},
       "sp+32"},
      {"push %rax; pop %rbx; ret", {0x50, 0x5b, 0xc3}, "sp+0"},
      {"leave; ret", {0xc9, 0xc3}, "fp+8"},
      {"lea -8(%rbp),%rsp; pop %rbx; pop %rbp; ret",
       {0x48, 0x8d, 0x65, 0xf8, 0x5b, 0x5d, 0xc3},
       "fp+8"},
      {"mov %rbp,%rsp; pop %rbp; ret", {0x48, 0x89, 0xec, 0x5d, 0xc3}, "fp+8"},
      {"lea 40(%rsp),%rsp; ret", {0x48, 0x8d, 0x64, 0x24, 40, 0xc3}, "sp+40"},
      {"xor %eax,%eax; mov %rax,(%rdi); ret",
       {0x31, 0xc0, 0x48, 0x89, 0x07, 0xc3},
       "sp+0"},
  });
}

TEST(NearReturn, OfABranchEitherSideWillDo) {
  Check({
      {"jne over ud2; pop %rbx; ret",
       {0x75, 2, 0x5b, 0xc3, 0x0f, 0x0b},
       "sp+8"},
      {"je +1; ud2 … pop %rbx; ret", {0x74, 2, 0x0f, 0x0b, 0x5b, 0xc3}, "sp+8"},
      {"as clang does: je; pop; jmp away; pop; ret",
       {0x74, 6, 0x5b, 0xe9, 0, 1, 0, 0, 0x5b, 0xc3},
       "sp+8"},
      {"a loop before the end: jne back; pop %rbx; ret",
       {0x75, 0xfe, 0x5b, 0xc3},
       "sp+8"},
      {"jmp +1; int3; pop %rbx; ret", {0xeb, 1, 0xcc, 0x5b, 0xc3}, "sp+8"},
      {"two that agree: je; pop; ret; pop; ret",
       {0x74, 2, 0x5b, 0xc3, 0x5b, 0xc3},
       "sp+8"},
      {"two that do not: one jumps to what was pushed before: jne; ret; pop; "
       "ret",
       {0x75, 1, 0xc3, 0x5b, 0xc3},
       ""},
      {"more than are followed",
       {0x74, 8, 0x74, 6, 0x74, 4, 0x74, 2, 0x74, 0x01, 0x90, 0xc3},
       ""},
  });
}

TEST(NearReturn, AJumpByMemoryReturnsBehindAnEpilogue) {
  Check({
      {"pop %rbx; jmp *0x100(%rip)", {0x5b, 0xff, 0x25, 0, 1, 0, 0}, "sp+8"},
      {"behind displacements below 0",
       {0xe9, 0xff, 0xff, 0xff, 0xff, 0x5b, 0xff, 0x25, 0xff, 0xff, 0xff, 0xff},
       ""},
      {"by a table: pop %rbx; jmp *(%rax)", {0x5b, 0xff, 0x20}, ""},
      {"as a PLT: push *(%rip); jmp *(%rip)",
       {0xff, 0x35, 2, 0, 0, 0, 0xff, 0x25, 4, 0, 0, 0},
       ""},
      {"its second half", {0xff, 0x25, 4, 0, 0, 0}, ""},
  });
}

TEST(NearReturn, GivesUpOnWhatMayMislead) {
  std::vector<uint8_t> far(33, 0x90);
  far.push_back(0xc3);
  std::vector<uint8_t> many(20, 0x90);
  many.push_back(0xc3);
  Check({
      {"nothing", {}, ""},
      {"no return", {0x90, 0x90}, ""},
      {"it is too far", far, ""},
      {"there are too many instructions", many, ""},
      {"it is an operand: mov $0xc3,%al", {0xb0, 0xc3}, ""},
      {"call; ret: does it go on?", {0xe8, 0, 0, 0, 0, 0xc3}, ""},
      {"ud2; ret", {0x0f, 0x0b, 0xc3}, ""},
      {"push %rax; ret: a jump", {0x50, 0xc3}, ""},
      {"mov %rax,(%rsp); ret: a jump", {0x48, 0x89, 0x04, 0x24, 0xc3}, ""},
      {"pop %rsp; ret", {0x5c, 0xc3}, ""},
      {"mov %rsi,%rsp; ret: another stack", {0x48, 0x89, 0xf4, 0xc3}, ""},
      {"mov 8(%rdi),%rsp; ret", {0x48, 0x8b, 0x67, 8, 0xc3}, ""},
      {"and $-32,%rsp; ret", {0x48, 0x83, 0xe4, 0xe0, 0xc3}, ""},
      {"pop %rbp; leave; ret: FP is not known", {0x5d, 0xc9, 0xc3}, ""},
      {"xor %ebp,%ebp; leave; ret", {0x31, 0xed, 0xc9, 0xc3}, ""},
      {"add $8,%rbp; leave; ret", {0x48, 0x83, 0xc5, 8, 0xc9, 0xc3}, ""},
      {"jmp back; ret", {0xeb, 0xfe, 0xc3}, ""},
      {"not decoded; ret", {0x06, 0xc3}, ""},
      {"it is cut: add $…", {0x48, 0x83, 0xc4}, ""},
  });
}

}  // namespace
}  // namespace unspool::unwind
