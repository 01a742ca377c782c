// Sizes of instructions against a disassembler's, over libraries with much
// assembler code; what an instruction does, row by row.

#include "unwind/arch/x86_64/decode.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace unspool::unwind {
namespace {

using Kind = Instruction::Kind;
constexpr uint8_t kNone = Instruction::kNoRegister;
constexpr uint8_t kRax = 0, kRdx = 1, kRcx = 2, kRbx = 3, kRbp = 6, kRsp = 7;
constexpr uint8_t kR12 = 12, kR13 = 13;

Instruction Decode(const std::vector<uint8_t>& code) {
  return DecodeX86_64(code);
}

struct Row {
  const char* text;
  std::vector<uint8_t> code;
  Kind kind;
  uint8_t reg = kNone;
  uint8_t base = kNone;
  int64_t value = 0;
};

TEST(DecodeX8664, WhatMovesTheStackPointerAndValues) {
  const Row rows[] = {
      {"push %rbp", {0x55}, Kind::kPush, kRbp},
      {"push %r13", {0x41, 0x55}, Kind::kPush, kR13},
      {"push $-1", {0x6a, 0xff}, Kind::kPush},
      {"push $0x12345678", {0x68, 0x78, 0x56, 0x34, 0x12}, Kind::kPush},
      {"push 8(%rax)", {0xff, 0x70, 0x08}, Kind::kPush},
      {"pushfq", {0x9c}, Kind::kPush},
      {"pop %rbx", {0x5b}, Kind::kPop, kRbx},
      {"pop %r12", {0x41, 0x5c}, Kind::kPop, kR12},
      {"pop (%rax)", {0x8f, 0x00}, Kind::kPop},
      {"sub $8,%rsp", {0x48, 0x83, 0xec, 8}, Kind::kAdd, kRsp, kNone, -8},
      {"sub $-128,%rsp",
       {0x48, 0x83, 0xec, 0x80},
       Kind::kAdd,
       kRsp,
       kNone,
       128},
      {"add $0x1000,%rsp",
       {0x48, 0x81, 0xc4, 0, 0x10, 0, 0},
       Kind::kAdd,
       kRsp,
       kNone,
       0x1000},
      {"and $-32,%rsp", {0x48, 0x83, 0xe4, 0xe0}, Kind::kAnd, kRsp, kNone, -32},
      {"mov %rsp,%rbp", {0x48, 0x89, 0xe5}, Kind::kMove, kRbp, kRsp},
      {"mov %rsp,%rbp, the other way",
       {0x48, 0x8b, 0xec},
       Kind::kMove,
       kRbp,
       kRsp},
      {"mov %rsp,%r12", {0x49, 0x89, 0xe4}, Kind::kMove, kR12, kRsp},
      {"lea -40(%rbp),%rsp",
       {0x48, 0x8d, 0x65, 0xd8},
       Kind::kAddress,
       kRsp,
       kRbp,
       -40},
      {"lea 0x100(%rsp),%rsp",
       {0x48, 0x8d, 0xa4, 0x24, 0, 1, 0, 0},
       Kind::kAddress,
       kRsp,
       kRsp,
       0x100},
      {"mov 8(%rsp),%rbx",
       {0x48, 0x8b, 0x5c, 0x24, 8},
       Kind::kLoad,
       kRbx,
       kRsp,
       8},
      {"mov (%r12),%rsp", {0x49, 0x8b, 0x24, 0x24}, Kind::kLoad, kRsp, kR12},
      {"mov 0(%r13),%rax", {0x49, 0x8b, 0x45, 0}, Kind::kLoad, kRax, kR13},
      {"mov %rbx,-8(%rsp)",
       {0x48, 0x89, 0x5c, 0x24, 0xf8},
       Kind::kStore,
       kRbx,
       kRsp,
       -8},
      {"leave", {0xc9}, Kind::kLeave},
      {"ret", {0xc3}, Kind::kReturn},
      {"rep ret", {0xf3, 0xc3}, Kind::kReturn},
      {"ret $16", {0xc2, 0x10, 0}, Kind::kReturn, kNone, kNone, 16},
      {"call", {0xe8, 1, 0, 0, 0}, Kind::kCall, kNone, kNone, 1},
      {"call *%rax", {0xff, 0xd0}, Kind::kCall},
      {"jmp, short", {0xeb, 0xfe}, Kind::kJump, kNone, kNone, -2},
      {"jmp", {0xe9, 0, 1, 0, 0}, Kind::kJump, kNone, kNone, 0x100},
      {"jne, short", {0x75, 0x10}, Kind::kBranch, kNone, kNone, 0x10},
      {"jne", {0x0f, 0x85, 0, 0, 0, 0}, Kind::kBranch},
      {"jrcxz", {0xe3, 1}, Kind::kBranch, kNone, kNone, 1},
      {"jmp *8(%rip)",
       {0xff, 0x25, 8, 0, 0, 0},
       Kind::kJumpByMemory,
       kNone,
       kNone,
       8},
      {"jmp *%r12", {0x41, 0xff, 0xe4}, Kind::kJumpToRegister, kR12},
      {"jmp *(%rax,%rdx,8)", {0xff, 0x24, 0xd0}, Kind::kUnknown},
      {"ud2", {0x0f, 0x0b}, Kind::kTrap},
      {"int3", {0xcc}, Kind::kTrap},
      {"xchg %rax,%rsp", {0x48, 0x94}, Kind::kUnknown},
      {"or $1,%rsp", {0x48, 0x83, 0xcc, 1}, Kind::kUnknown},
      {"mov %fs:0,%rax; no address to follow",
       {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0},
       Kind::kOther},
  };
  for (const Row& row : rows) {
    const Instruction decoded = Decode(row.code);
    EXPECT_EQ(decoded.size, row.code.size()) << row.text;
    EXPECT_EQ(decoded.kind, row.kind) << row.text;
    EXPECT_EQ(decoded.reg, row.reg) << row.text;
    EXPECT_EQ(decoded.base, row.base) << row.text;
    EXPECT_EQ(decoded.value, row.value) << row.text;
  }
}

TEST(DecodeX8664, WhatElseChangesRegisters) {
  const struct {
    const char* text;
    std::vector<uint8_t> code;
    uint32_t writes;
  } rows[] = {
      {"xor %ebx,%ebx", {0x31, 0xdb}, 1 << kRbx},
      {"cmp %rbx,%rbp", {0x48, 0x39, 0xdd}, 0},
      {"test %rbx,%rbx", {0x48, 0x85, 0xdb}, 0},
      {"mov $1,%r12d", {0x41, 0xbc, 1, 0, 0, 0}, 1 << kR12},
      {"mov (%rdi,%rax),%rbp", {0x48, 0x8b, 0x2c, 0x07}, 1 << kRbp},
      {"imul %rdi,%rbx", {0x48, 0x0f, 0xaf, 0xdf}, 1 << kRbx},
      {"mul %rdi", {0x48, 0xf7, 0xe7}, 1 << kRax | 1 << kRdx},
      {"cmp $0,%rbp", {0x48, 0x83, 0xfd, 0}, 0},
      {"and $0xf7,%ch", {0x80, 0xe5, 0xf7}, 1 << kRcx},
      {"mov $1,%ah", {0xb4, 1}, 1 << kRax},
      {"xor %bh,%dh", {0x30, 0xfe}, 1 << kRdx},
      {"mov (%rax),%bh", {0x8a, 0x38}, 1 << kRbx},
      {"sete %ch", {0x0f, 0x94, 0xc5}, 1 << kRcx},
      {"sete %bpl", {0x40, 0x0f, 0x94, 0xc5}, 1 << kRbp},
      {"and $0xf7,%bpl", {0x40, 0x80, 0xe5, 0xf7}, 1 << kRbp},
      {"and $7,%ebp", {0x83, 0xe5, 7}, 1 << kRbp},
      {"movzbl %ch,%ebp", {0x0f, 0xb6, 0xed}, 1 << kRbp},
      {"paddd %xmm3,%xmm5: no general register", {0x66, 0x0f, 0xfe, 0xeb}, 0},
      {"movd %xmm0,%ebp", {0x66, 0x0f, 0x7e, 0xc5}, 1 << kRbp},
      {"movq %xmm5,%xmm3", {0xf3, 0x0f, 0x7e, 0xdd}, 0},
      {"pmovmskb %xmm1,%ebx", {0x66, 0x0f, 0xd7, 0xd9}, 1 << kRbx},
      {"vpaddd %ymm3,%ymm1,%ymm5", {0xc5, 0xf5, 0xfe, 0xeb}, 0},
      {"vmovd %xmm0,%ebp", {0xc5, 0xf9, 0x7e, 0xc5}, 1 << kRbp},
      {"andn %rax,%rdi,%rbx", {0xc4, 0xe2, 0xc0, 0xf2, 0xd8}, 1 << kRbx},
      {"rorx $7,%rax,%rbx", {0xc4, 0xe3, 0xfb, 0xf0, 0xd8, 7}, 1 << kRbx},
      {"cpuid", {0x0f, 0xa2}, 0x37 | 1 << kRbx},
  };
  for (const auto& row : rows) {
    const Instruction decoded = Decode(row.code);
    EXPECT_EQ(decoded.size, row.code.size()) << row.text;
    EXPECT_EQ(decoded.kind, Kind::kOther) << row.text;
    EXPECT_EQ(decoded.writes, row.writes) << row.text;
  }
}

TEST(DecodeX8664, WhatIsCutOffOrInvalidHasNoSize) {
  const std::vector<uint8_t> rows[] = {
      {},     {0x48},       {0xe8, 1, 2, 3}, {0x66, 0x66, 0x66},
      {0x06}, {0x0f, 0x04}, {0xd5, 0x00},    std::vector<uint8_t>(16, 0x66),
  };
  for (const auto& row : rows) EXPECT_EQ(Decode(row).size, 0);
}

std::vector<uint8_t> ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Every instruction of .text, as objdump finds them: where the next one begins
// must be where this one ends. Of libraries that keep no data there.
class DecodedLibrary : public testing::TestWithParam<const char*> {};

TEST_P(DecodedLibrary, SizesAreThoseOfTheDisassembler) {
  const std::string path = GetParam();
  const std::vector<uint8_t> bytes = ReadFile(path);
  ASSERT_FALSE(bytes.empty());
  const std::string command =
      "objdump -d -w --no-show-raw-insn -F -j .text " + path;
  FILE* const objdump = popen(command.c_str(), "r");
  ASSERT_NE(objdump, nullptr);
  // Of shared libraries .text is mapped where its file offset says.
  char line[512];
  uint64_t last = 0;
  std::string last_text;
  size_t compared = 0, different = 0;
  while (fgets(line, sizeof(line), objdump) != nullptr) {
    char* end = nullptr;
    const uint64_t address = strtoull(line, &end, 16);
    if (*end != ':' || end == line) {
      last = 0;
      continue;
    }
    const bool is_data = last_text.find("(bad)") != std::string::npos ||
                         last_text.find(".byte") != std::string::npos;
    if (last != 0 && !is_data && address <= bytes.size()) {
      const size_t room = std::min<size_t>(bytes.size() - last, 15);
      const Instruction decoded = DecodeX86_64({&bytes[last], room});
      ++compared;
      if (decoded.size != address - last && ++different < 10) {
        ADD_FAILURE() << std::hex << last << ": " << std::dec
                      << int{decoded.size} << last_text;
      }
    }
    last = address;
    last_text = end;
  }
  EXPECT_EQ(pclose(objdump), 0);
  EXPECT_EQ(different, 0u);
  EXPECT_GT(compared, 10'000u);
}

INSTANTIATE_TEST_SUITE_P(
    OfDebian, DecodedLibrary,
    testing::Values("/usr/lib/x86_64-linux-gnu/libc.so.6",
                    "/usr/lib/x86_64-linux-gnu/libjpeg.so.62",
                    "/usr/lib/x86_64-linux-gnu/libgmp.so.10",
                    "/usr/lib/x86_64-linux-gnu/libdav1d.so.6",
                    "/usr/lib/x86_64-linux-gnu/libx265.so.199"));

}  // namespace
}  // namespace unspool::unwind
