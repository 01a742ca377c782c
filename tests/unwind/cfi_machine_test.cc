#include "unwind/cfi_machine.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unwind/cfi_builder.h"

namespace unspool::unwind {
namespace {

constexpr uint64_t kPc = 0x20000;

// Runs `instructions` as the FDE of kPc; "bad" if they cannot be.
std::string RowAt(uint64_t offset, const Bytes& instructions,
                  const CieSpec& cie_spec = {}) {
  CfiBuilder builder;
  builder.AddCie(cie_spec);
  const uint64_t address = builder.AddFde(
      {.pc_begin = kPc, .size = 0x1000, .instructions = instructions});
  SpanSource source = builder.source();
  Cie cie;
  Fde fde;
  if (!ReadFde(source, builder.section(), address, &cie, &fde)) return "no FDE";
  CfiMachine<X86_64> machine;
  if (!machine.FindRow(source, builder.section(), cie, fde, kPc + offset)) {
    return "bad";
  }
  return RowText(machine.row());
}

TEST(CfiMachine, ExecutesEachInstruction) {
  const struct {
    const char* name;
    Bytes instructions;
    const char* row;
  } rows[] = {
      {"nothing", {}, "cfa=r7+8 r16=c-8"},
      {"nop", {0x00, 0x00}, "cfa=r7+8 r16=c-8"},
      {"offset", {0x86, 2}, "cfa=r7+8 r6=c-16 r16=c-8"},
      {"offset_extended", {0x05, 6, 0x80, 1}, "cfa=r7+8 r6=c-1024 r16=c-8"},
      {"offset_extended_sf", {0x11, 6, 0x7f}, "cfa=r7+8 r6=c+8 r16=c-8"},
      {"GNU_negative_offset_extended",
       {0x2f, 6, 3},
       "cfa=r7+8 r6=c+24 r16=c-8"},
      {"val_offset", {0x14, 3, 2}, "cfa=r7+8 r3=v-16 r16=c-8"},
      {"val_offset_sf", {0x15, 3, 0x7e}, "cfa=r7+8 r3=v+16 r16=c-8"},
      {"undefined", {0x07, 16}, "cfa=r7+8 r16=undef"},
      {"same_value", {0x08, 3}, "cfa=r7+8 r3=same r16=c-8"},
      {"register", {0x09, 16, 5}, "cfa=r7+8 r16=r5"},
      {"expression", {0x10, 6, 2, 0x76, 0x78}, "cfa=r7+8 r6=exp[2] r16=c-8"},
      {"val_expression", {0x16, 6, 1, 0x30}, "cfa=r7+8 r6=vexp[1] r16=c-8"},
      {"restore goes to the CIE's rule",
       {0x07, 16, 0xc0 | 16},
       "cfa=r7+8 r16=c-8"},
      {"restore_extended", {0x86, 2, 0x06, 6}, "cfa=r7+8 r16=c-8"},
      {"def_cfa", {0x0c, 6, 16}, "cfa=r6+16 r16=c-8"},
      {"def_cfa_sf", {0x12, 6, 0x7e}, "cfa=r6+16 r16=c-8"},
      {"def_cfa_register", {0x0d, 6}, "cfa=r6+8 r16=c-8"},
      {"def_cfa_offset", {0x0e, 0x90, 1}, "cfa=r7+144 r16=c-8"},
      {"def_cfa_offset_sf", {0x13, 0x7d}, "cfa=r7+24 r16=c-8"},
      {"def_cfa_expression", {0x0f, 3, 0x77, 0x08, 0x06}, "cfa=exp[3] r16=c-8"},
      // Not DWARF 5's, but real: the offset outlives an expression.
      {"def_cfa_register after an expression",
       {0x0e, 64, 0x0f, 1, 0x30, 0x0d, 6},
       "cfa=r6+64 r16=c-8"},
      {"GNU_args_size", {0x2e, 0x90, 1}, "cfa=r7+8 r16=c-8"},
      {"rules of vector registers are dropped",
       {0x05, 17, 2},
       "cfa=r7+8 r16=c-8"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(RowAt(0, row.instructions), row.row) << row.name;
  }
}

TEST(CfiMachine, RememberedStatesNestAndHoldTheCfa) {
  const Bytes code = {
      0x0a,                       // remember: rsp+8
      0x0e, 16,   0x86, 2,        // rsp+16, rbp saved
      0x0a,                       // remember: rsp+16
      0x0c, 6,    32,   0x83, 4,  // rbp+32, rbx saved
      0x41, 0x0b,                 // 1: back to rsp+16
      0x41, 0x0b,                 // 2: back to rsp+8
  };
  EXPECT_EQ(RowAt(0, code), "cfa=r6+32 r3=c-32 r6=c-16 r16=c-8");
  EXPECT_EQ(RowAt(1, code), "cfa=r7+16 r6=c-16 r16=c-8");
  EXPECT_EQ(RowAt(2, code), "cfa=r7+8 r16=c-8");
}

TEST(CfiMachine, RestoredStateKeepsTheLocation) {
  // Advances count from where they are, not from where the state was saved.
  const Bytes code = {0x0a, 0x44, 0x0e, 16, 0x44, 0x0b, 0x44, 0x0e, 64};
  EXPECT_EQ(RowAt(11, code), "cfa=r7+8 r16=c-8");
  EXPECT_EQ(RowAt(12, code), "cfa=r7+64 r16=c-8");
}

TEST(CfiMachine, RowHoldsUpToTheNextAdvance) {
  const struct {
    const char* name;
    Bytes advance;
    uint64_t delta;
  } rows[] = {
      {"advance_loc", {0x45}, 5},
      {"advance_loc1", {0x02, 200}, 200},
      {"advance_loc2", {0x03, 0x00, 0x02}, 512},
      {"advance_loc4", {0x04, 0x34, 0x02, 0x00, 0x00}, 0x234},
      {"MIPS_advance_loc8", {0x1d, 0x34, 0x02, 0, 0, 0, 0, 0, 0}, 0x234},
  };
  for (const auto& row : rows) {
    Bytes code = row.advance;
    code.insert(code.end(), {0x0e, 64});
    EXPECT_EQ(RowAt(row.delta - 1, code), "cfa=r7+8 r16=c-8") << row.name;
    EXPECT_EQ(RowAt(row.delta, code), "cfa=r7+64 r16=c-8") << row.name;
  }
}

TEST(CfiMachine, FactorsApply) {
  const CieSpec cie = {.code_alignment = {4}, .data_alignment = {0x7c}};
  EXPECT_EQ(RowAt(11, {0x43, 0x86, 3}, cie), "cfa=r7+8 r16=c-4");
  EXPECT_EQ(RowAt(12, {0x43, 0x86, 3}, cie), "cfa=r7+8 r6=c-12 r16=c-4");
}

TEST(CfiMachine, SetLocUsesTheFdeEncoding) {
  CfiBuilder builder(0x10000, CfiFormat::kDebugFrame);
  builder.AddCie({.version = 3, .augmentation = ""});
  const uint64_t address = builder.AddFde(
      {.pc_begin = kPc,
       .size = 0x1000,
       .instructions = {0x01, 0x10, 0x00, 0x02, 0, 0, 0, 0, 0, 0x0e, 64}});
  SpanSource source = builder.source();
  Cie cie;
  Fde fde;
  ASSERT_TRUE(ReadFde(source, builder.section(), address, &cie, &fde));
  CfiMachine<X86_64> machine;
  ASSERT_TRUE(machine.FindRow(source, builder.section(), cie, fde, kPc + 15));
  EXPECT_EQ(RowText(machine.row()), "cfa=r7+8 r16=c-8");
  ASSERT_TRUE(machine.FindRow(source, builder.section(), cie, fde, kPc + 16));
  EXPECT_EQ(RowText(machine.row()), "cfa=r7+64 r16=c-8");
}

TEST(CfiMachine, MalformedProgramsAreUnusable) {
  const Bytes nine_remembers(9, 0x0a);
  const struct {
    const char* name;
    Bytes instructions;
    CieSpec cie;
  } rows[] = {
      {"unknown instruction", {0x3f}, {}},
      {"AARCH64_negate_ra_state", {0x2d}, {}},
      {"vendor instruction", {0x2c}, {}},
      {"restore_state without remember", {0x0b}, {}},
      {"remembered too deep", nine_remembers, {}},
      {"operand cut off", {0x0e}, {}},
      {"block longer than the FDE", {0x0f, 9, 0x77}, {}},
      {"half a CFA rule changed without one", {0x0e, 8}, {.instructions = {}}},
      {"location moved in the CIE", {}, {.instructions = {0x0c, 7, 8, 0x41}}},
      {"location moved back",
       {0x42, 0x04, 0xff, 0xff, 0xff, 0xff, 0x41},
       {.code_alignment = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                           0x01}}},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(RowAt(0xfff, row.instructions, row.cie), "bad") << row.name;
  }
}

TEST(CfiMachine, EndsAfterTooManyInstructions) {
  EXPECT_EQ(RowAt(0, Bytes(60000, 0x00)), "cfa=r7+8 r16=c-8");
  EXPECT_EQ(RowAt(0, Bytes(70000, 0x00)), "bad");
}

// A source whose windows are as small as they may be.
class SmallWindows {
 public:
  explicit SmallWindows(SpanSource source) : source_(source) {}
  std::span<const uint8_t> Window(uint64_t address, size_t size) {
    return source_.Window(address,
                          size < kMinWindowSize ? size : kMinWindowSize);
  }

 private:
  SpanSource source_;
};

TEST(CfiMachine, FdeMayBeLongerThanAWindow) {
  Bytes code;
  for (int i = 0; i < 9000; ++i) {
    code.insert(code.end(), {0x41, 0x0e, static_cast<uint8_t>(i % 100)});
  }
  CfiBuilder builder;
  builder.AddCie();
  const uint64_t address =
      builder.AddFde({.pc_begin = kPc, .size = 0x10000, .instructions = code});
  SmallWindows source(builder.source());
  Cie cie;
  Fde fde;
  ASSERT_TRUE(ReadFde(source, builder.section(), address, &cie, &fde));
  CfiMachine<X86_64> machine;
  size_t count = 0;
  ASSERT_TRUE(machine.ForEachRow(source, builder.section(), cie, fde,
                                 [&](const auto& row) {
                                   EXPECT_EQ(row.pc, kPc + count);
                                   ++count;
                                 }));
  EXPECT_EQ(count, 9001u);
  ASSERT_TRUE(machine.FindRow(source, builder.section(), cie, fde, kPc + 8766));
  EXPECT_EQ(RowText(machine.row()), "cfa=r7+65 r16=c-8");
}

TEST(CfiMachine, ForEachRowGivesAllRowsInOrder) {
  CfiBuilder builder;
  builder.AddCie();
  const uint64_t address =
      builder.AddFde({.pc_begin = kPc,
                      .size = 0x40,
                      .instructions = {0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6,
                                       0x02, 0x20, 0x0c, 7, 8}});
  SpanSource source = builder.source();
  Cie cie;
  Fde fde;
  ASSERT_TRUE(ReadFde(source, builder.section(), address, &cie, &fde));
  CfiMachine<X86_64> machine;
  std::vector<std::string> rows;
  ASSERT_TRUE(machine.ForEachRow(
      source, builder.section(), cie, fde, [&](const auto& row) {
        rows.push_back(std::to_string(row.pc - kPc) + " " + RowText(row));
      }));
  EXPECT_EQ(rows, (std::vector<std::string>{
                      "0 cfa=r7+8 r16=c-8",
                      "1 cfa=r7+16 r6=c-16 r16=c-8",
                      "4 cfa=r6+16 r6=c-16 r16=c-8",
                      "36 cfa=r7+8 r6=c-16 r16=c-8",
                  }));
}

}  // namespace
}  // namespace unspool::unwind
