#include "unwind/cfi_entry.h"

#include <gtest/gtest.h>

#include "tests/unwind/cfi_builder.h"

namespace unspool::unwind {
namespace {

using namespace dwarf;

constexpr uint64_t kPc = 0x20000;

Fde ReadOnlyFde(const CfiBuilder& builder, uint64_t address, Cie* cie) {
  SpanSource source = builder.source();
  Fde fde;
  EXPECT_TRUE(ReadFde(source, builder.section(), address, cie, &fde));
  return fde;
}

TEST(CfiEntry, ReadsFormatsVersionsAndWidths) {
  const struct {
    const char* name;
    CfiFormat format;
    bool is_64bit;
    uint8_t version;
    std::string_view augmentation;
  } rows[] = {
      {"eh_frame as compilers write it", CfiFormat::kEhFrame, false, 1, "zR"},
      {"eh_frame, no augmentation", CfiFormat::kEhFrame, false, 1, ""},
      {"eh_frame, extended length", CfiFormat::kEhFrame, true, 1, "zR"},
      {"eh_frame, version 3", CfiFormat::kEhFrame, false, 3, "zR"},
      {"debug_frame, version 1", CfiFormat::kDebugFrame, false, 1, ""},
      {"debug_frame, version 3", CfiFormat::kDebugFrame, false, 3, ""},
      {"debug_frame, version 4", CfiFormat::kDebugFrame, false, 4, ""},
      {"debug_frame, 64-bit", CfiFormat::kDebugFrame, true, 4, ""},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    CfiBuilder builder(0x10000, row.format, row.is_64bit);
    const uint64_t cie_address = builder.AddCie(
        {.version = row.version, .augmentation = row.augmentation});
    const uint64_t fde_address = builder.AddFde(
        {.pc_begin = kPc, .size = 0x123, .instructions = {0x41, 0x00}});
    Cie cie;
    const Fde fde = ReadOnlyFde(builder, fde_address, &cie);
    EXPECT_EQ(cie.address, cie_address);
    EXPECT_EQ(cie.version, row.version);
    EXPECT_EQ(cie.code_alignment, 1u);
    EXPECT_EQ(cie.data_alignment, -8);
    EXPECT_EQ(cie.ra_register, 16u);
    EXPECT_EQ(cie.instructions.size, 5u);
    EXPECT_EQ(fde.pc_begin, kPc);
    EXPECT_EQ(fde.pc_end, kPc + 0x123);
    EXPECT_EQ(fde.instructions.size, 2u);
    EXPECT_EQ(fde.instructions.address + 2, 0x10000u + builder.bytes().size());
  }
}

TEST(CfiEntry, UnderstandsAugmentations) {
  const struct {
    const char* name;
    CieSpec spec;
    bool is_signal_frame;
    uint8_t fde_encoding;
  } rows[] = {
      {"personality and LSDA before R",
       {.augmentation = "zPLR",
        .augmentation_data = {DW_EH_PE_indirect | DW_EH_PE_pcrel |
                                  DW_EH_PE_sdata4,
                              1, 2, 3, 4, DW_EH_PE_udata4, DW_EH_PE_udata8}},
       false,
       DW_EH_PE_udata8},
      {"personality without a base",
       {.augmentation = "zPR",
        .augmentation_data = {DW_EH_PE_textrel | DW_EH_PE_udata2, 1, 2,
                              DW_EH_PE_udata8}},
       false,
       DW_EH_PE_udata8},
      {"signal frame", {.augmentation = "zRS"}, true, 0x1b},
      {"B key", {.augmentation = "zRB"}, false, 0x1b},
      {"signal frame without data", {.augmentation = "BS"}, true, 0},
      {"no signal frame without data", {.augmentation = "B"}, false, 0},
      {"unknown letter ends what is understood",
       {.augmentation = "zR?S", .augmentation_data = {DW_EH_PE_udata8, 1, 2}},
       false,
       DW_EH_PE_udata8},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    CfiBuilder builder;
    const uint64_t address = builder.AddCie(row.spec);
    SpanSource source = builder.source();
    Cie cie;
    ASSERT_TRUE(ReadCie(source, builder.section(), address, &cie));
    EXPECT_EQ(cie.is_signal_frame, row.is_signal_frame);
    EXPECT_EQ(cie.fde_encoding, row.fde_encoding);
    EXPECT_EQ(cie.instructions.size, 5u);
  }
}

TEST(CfiEntry, RefusesWhatNobodyCanInterpret) {
  const struct {
    const char* name;
    CieSpec spec;
  } rows[] = {
      {"version 2", {.version = 2}},
      {"version 5", {.version = 5}},
      {"augmentation without z", {.augmentation = "R"}},
      {"one that may have data behind S", {.augmentation = "SL"}},
      {"augmentation longer than any", {.augmentation = "zRRRRRRRRRRRRRRRR"}},
      {"segment selectors", {.version = 4, .version_4_fields = {8, 2}}},
      {"address of two bytes", {.version = 4, .version_4_fields = {2, 0}}},
      {"augmentation data too short",
       {.augmentation = "zPR", .augmentation_data = {DW_EH_PE_udata8, 1}}},
      {"unknown personality encoding",
       {.augmentation = "zPR", .augmentation_data = {0x06, 1, 2, 3, 4, 5}}},
  };
  for (const auto& row : rows) {
    CfiBuilder builder;
    const uint64_t address = builder.AddCie(row.spec);
    SpanSource source = builder.source();
    Cie cie;
    EXPECT_FALSE(ReadCie(source, builder.section(), address, &cie)) << row.name;
  }
}

TEST(CfiEntry, RefusesBrokenFrames) {
  const struct {
    const char* name;
    Bytes bytes;
  } rows[] = {
      {"reserved length", {0xf0, 0xff, 0xff, 0xff, 0, 0, 0, 0}},
      {"longer than the section", {9, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4}},
      {"64-bit length that wraps",
       {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0,    0,    0,    0,    0,    0,    0,    0}},
      {"shorter than its id", {3, 0, 0, 0, 0, 0, 0, 0}},
      {"cut length", {1, 0}},
  };
  for (const auto& row : rows) {
    CfiBuilder builder;
    const uint64_t address = builder.AddRaw(row.bytes);
    SpanSource source = builder.source();
    CfiEntry entry;
    EXPECT_FALSE(ReadEntry(source, builder.section(), address, &entry))
        << row.name;
  }
}

TEST(CfiEntry, FdeWithoutItsCieIsRefused) {
  CfiBuilder builder;
  // Its CIE pointer leads to itself, then before the section, then to a middle.
  for (const uint8_t pointer : {4, 200, 7}) {
    const uint64_t fde =
        builder.AddRaw({12, 0, 0, 0, pointer, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    SpanSource source = builder.source();
    Cie cie;
    Fde out;
    EXPECT_FALSE(ReadFde(source, builder.section(), fde, &cie, &out));
  }
}

TEST(CfiEntry, AbsolutePointersGetTheBias) {
  CfiBuilder builder(0x500, CfiFormat::kDebugFrame);
  builder.AddCie({.version = 4, .augmentation = ""});
  const uint64_t address = builder.AddFde({.pc_begin = 0x1000, .size = 16});
  CfiSection section = builder.section();
  section.bias = 0x7f0000000000;
  SpanSource source = builder.source();
  Cie cie;
  Fde fde;
  ASSERT_TRUE(ReadFde(source, section, address, &cie, &fde));
  EXPECT_EQ(fde.pc_begin, 0x7f0000001000u);
}

TEST(CfiEntry, RangeThatWrapsIsRefused) {
  CfiBuilder builder(0x500, CfiFormat::kDebugFrame);
  builder.AddCie({.version = 4, .augmentation = ""});
  const uint64_t address =
      builder.AddFde({.pc_begin = 0x1000, .size = ~uint64_t{0}});
  SpanSource source = builder.source();
  Cie cie;
  Fde fde;
  EXPECT_FALSE(ReadFde(source, builder.section(), address, &cie, &fde));
}

TEST(CfiEntryCursor, GoesToTheTerminator) {
  CfiBuilder builder;
  builder.AddCie();
  builder.AddFde({.pc_begin = kPc, .size = 1});
  builder.AddFde({.pc_begin = kPc + 1, .size = 1});
  builder.AddRaw({0, 0, 0, 0});
  builder.AddFde({.pc_begin = kPc + 2, .size = 1});  // not part of it
  SpanSource source = builder.source();
  CfiEntryCursor cursor(builder.section());
  CfiEntry entry;
  std::string kinds;
  while (cursor.Next(source, &entry)) {
    kinds += entry.kind == CfiEntry::Kind::kCie ? 'C' : 'F';
  }
  EXPECT_EQ(kinds, "CFF");
  EXPECT_TRUE(cursor.ok());
}

TEST(CfiEntryCursor, GoesBeyondATerminatorIfTheSectionDoes) {
  CfiBuilder builder;
  builder.AddCie();
  builder.AddRaw({0, 0, 0, 0});
  const uint64_t second = builder.AddCie();
  CfiSection section = builder.section();
  section.has_exact_size = true;
  SpanSource source = builder.source();
  CfiEntryCursor cursor(section);
  CfiEntry entry;
  ASSERT_TRUE(cursor.Next(source, &entry));
  ASSERT_TRUE(cursor.Next(source, &entry));
  EXPECT_EQ(entry.address, second);
  EXPECT_FALSE(cursor.Next(source, &entry));
  EXPECT_TRUE(cursor.ok());
}

TEST(CfiEntryCursor, DebugFrameHasNoTerminator) {
  CfiBuilder builder(0x10000, CfiFormat::kDebugFrame);
  builder.AddCie({.augmentation = ""});
  builder.AddRaw({0, 0, 0, 0});
  builder.AddFde({.pc_begin = kPc, .size = 1});
  SpanSource source = builder.source();
  CfiEntryCursor cursor(builder.section());
  CfiEntry entry;
  ASSERT_TRUE(cursor.Next(source, &entry));
  ASSERT_TRUE(cursor.Next(source, &entry));
  EXPECT_EQ(entry.kind, CfiEntry::Kind::kFde);
  EXPECT_FALSE(cursor.Next(source, &entry));
  EXPECT_TRUE(cursor.ok());
}

TEST(CfiEntryCursor, SaysThatTheSectionIsBroken) {
  CfiBuilder builder;
  builder.AddCie();
  builder.AddRaw({0x40, 0, 0, 0});
  SpanSource source = builder.source();
  CfiEntryCursor cursor(builder.section());
  CfiEntry entry;
  EXPECT_TRUE(cursor.Next(source, &entry));
  EXPECT_FALSE(cursor.Next(source, &entry));
  EXPECT_FALSE(cursor.ok());
}

}  // namespace
}  // namespace unspool::unwind
