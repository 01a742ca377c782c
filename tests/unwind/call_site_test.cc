#include "unwind/arch/x86_64/call_site.h"

#include <gtest/gtest.h>

#include <vector>

#include "unwind/arch/x86_64/signal_frame.h"

namespace unspool::unwind {
namespace {

using Bytes = std::vector<uint8_t>;
using Kind = CallSite::Kind;

TEST(X86_64CallSite, RecognizesCalls) {
  const struct {
    const char* name;
    Bytes code;
    Kind kind;
  } rows[] = {
      {"call rel32", {0xe8, 1, 2, 3, 4}, Kind::kDirect},
      {"call *%rax", {0xff, 0xd0}, Kind::kIndirect},
      {"call *%r11", {0x41, 0xff, 0xd3}, Kind::kIndirect},
      {"call *(%rax)", {0xff, 0x10}, Kind::kIndirect},
      {"call *8(%rax)", {0xff, 0x50, 8}, Kind::kIndirect},
      {"call *0x100(%rax)", {0xff, 0x90, 0, 1, 0, 0}, Kind::kIndirect},
      {"call *disp(%rip)", {0xff, 0x15, 0, 1, 0, 0}, Kind::kIndirect},
      {"call *(%rax,%rbx,8)", {0xff, 0x14, 0xd8}, Kind::kIndirect},
      {"call *8(%rsp)", {0xff, 0x54, 0x24, 8}, Kind::kIndirect},
      {"call *0x100(%rsp)", {0xff, 0x94, 0x24, 0, 1, 0, 0}, Kind::kIndirect},
      {"call *table(,%rax,8)", {0xff, 0x14, 0xc5, 0, 1, 0, 0}, Kind::kIndirect},
      {"nothing", {}, Kind::kNone},
      {"nops", {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, Kind::kNone},
      {"ret", {0x90, 0x90, 0xc3}, Kind::kNone},
      {"jmp *%rax", {0xff, 0xe0}, Kind::kNone},
      {"jmp rel32", {0xe9, 1, 2, 3, 4}, Kind::kNone},
      {"push (%rax)", {0xff, 0x30}, Kind::kNone},
      {"lcall *(%rax)", {0xff, 0x18}, Kind::kNone},
      {"end of a call cut off", {0xe8, 1, 2, 3}, Kind::kNone},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(X86_64Code::FindCallBefore(row.code, 0x1000).kind, row.kind)
        << row.name;
  }
}

TEST(X86_64CallSite, GivesTheTargetOfADirectCall) {
  const Bytes forward = {0x90, 0x90, 0xe8, 0x10, 0, 0, 0};
  const Bytes back = {0xe8, 0xf0, 0xff, 0xff, 0xff};
  EXPECT_EQ(X86_64Code::FindCallBefore(forward, 0x1000).target, 0x1010u);
  EXPECT_EQ(X86_64Code::FindCallBefore(back, 0x1000).target, 0xff0u);
}

TEST(X86_64CallSite, GivesTheWordOfACallThroughAFixedPlace) {
  const Bytes word = {0x90, 0xff, 0x15, 0x10, 0, 0, 0};
  const Bytes pointer = {0x90, 0xff, 0x90, 0x10, 0, 0, 0};
  EXPECT_EQ(X86_64Code::FindCallBefore(word, 0x1000).target, 0x1010u);
  EXPECT_EQ(X86_64Code::FindCallBefore(pointer, 0x1000).target, 0u);
}

TEST(X86_64CallSite, RecognizesJumpStubs) {
  const struct {
    const char* name;
    Bytes code;
    JumpStub::Kind kind;
    uint64_t target;
  } rows[] = {
      {".plt", {0xff, 0x25, 1, 2, 0, 0}, JumpStub::Kind::kIndirect, 0x1207},
      {"jmp rel32",
       {0xe9, 0xf0, 0xff, 0xff, 0xff, 0},
       JumpStub::Kind::kDirect,
       0xff5},
      {".plt.sec",
       {0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, 0x10, 0, 0, 0},
       JumpStub::Kind::kIndirect,
       0x101a},
      {".plt.sec with bnd",
       {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x20, 0, 0, 0},
       JumpStub::Kind::kIndirect,
       0x102b},
      {"a function with endbr64",
       {0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48},
       JumpStub::Kind::kNone,
       0},
      {"push rbp",
       {0x55, 0x48, 0x89, 0xe5, 0x90, 0x90},
       JumpStub::Kind::kNone,
       0},
      {"cut", {0xff, 0x25, 0, 0, 0}, JumpStub::Kind::kNone, 0},
      {"cut behind bnd",
       {0xf3, 0x0f, 0x1e, 0xfa, 0xf2},
       JumpStub::Kind::kNone,
       0},
  };
  for (const auto& row : rows) {
    const JumpStub stub = X86_64Code::ParseJumpStub(row.code, 0x1000);
    EXPECT_EQ(stub.kind, row.kind) << row.name;
    EXPECT_EQ(stub.target, row.target) << row.name;
  }
}

TEST(X86_64Code, FindsWhatAFunctionTakesFromTheStack) {
  const struct {
    const char* name;
    Bytes code;
    uint64_t amount;
  } rows[] = {
      {"byte", {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x70}, 0x70},
      {"word", {0x55, 0x48, 0x81, 0xec, 0x10, 0x20, 0, 0, 0x90}, 0x2010},
      {"first", {0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xec, 16}, 8},
      {"adds", {0x48, 0x83, 0xec, 0x80, 0x48, 0x83, 0xc4, 8}, 0},
      {"another register", {0x48, 0x83, 0xe9, 8}, 0},
      {"cut", {0x48, 0x81, 0xec, 0x10, 0x20, 0}, 0},
      {"nothing", {}, 0},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(X86_64Code::FindStackAllocation(row.code), row.amount)
        << row.name;
  }
}

TEST(X86_64SignalFrame, RecognizesTheTrampoline) {
  Bytes code = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  EXPECT_TRUE(X86_64SignalFrame::IsTrampoline(code));
  code[3] = 0x0e;
  EXPECT_FALSE(X86_64SignalFrame::IsTrampoline(code));
  code.pop_back();
  EXPECT_FALSE(X86_64SignalFrame::IsTrampoline(code));
}

}  // namespace
}  // namespace unspool::unwind
