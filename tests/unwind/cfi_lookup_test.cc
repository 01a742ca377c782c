#include "unwind/cfi_lookup.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/unwind/cfi_builder.h"
#include "unwind/cfi_machine.h"
#include "unwind/fde_index.h"

namespace unspool::unwind {
namespace {

class PinnedBytes : public SpanSource {
 public:
  explicit PinnedBytes(const SpanSource& source) : SpanSource(source) {}
};

}  // namespace

template <>
inline constexpr bool kIsPinned<PinnedBytes> = true;

namespace {

using namespace dwarf;

struct Range {
  uint64_t pc_begin;
  uint64_t size;
};

// How the FDE of a PC is looked up.
enum class By { kTable, kIndex, kLinear };

void AppendNumber(Bytes& bytes, uint64_t value, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
}

// A section with the given FDEs and, in the same bytes behind it, its header.
class Section {
 public:
  explicit Section(const std::vector<Range>& ranges,
                   int encoding = DW_EH_PE_datarel | DW_EH_PE_sdata4,
                   const CieSpec& cie = {}) {
    builder_.AddCie(cie);
    for (const Range& range : ranges) {
      const uint64_t fde =
          builder_.AddFde({.pc_begin = range.pc_begin, .size = range.size});
      entries_.push_back({range.pc_begin, fde});
    }
    section_ = builder_.section();
    std::stable_sort(
        entries_.begin(), entries_.end(),
        [](const auto& a, const auto& b) { return a.pc_begin < b.pc_begin; });
    AddHeader(static_cast<uint8_t>(encoding));
  }

  // As lld does.
  void KeepOneEntryForEachStart() {
    const auto last = std::unique(
        entries_.begin(), entries_.end(),
        [](const auto& a, const auto& b) { return a.pc_begin == b.pc_begin; });
    entries_.erase(last, entries_.end());
    AddHeader(DW_EH_PE_datarel | DW_EH_PE_sdata4);
  }

  // "found BEGIN+SIZE", "none" or "bad", hexadecimal.
  std::string Find(uint64_t pc, By by) {
    SpanSource copied = builder_.source();
    PinnedBytes pinned(copied);
    const std::string text = FindIn(copied, pc, by);
    EXPECT_EQ(FindIn(pinned, pc, by), text);
    return text;
  }

  template <ByteSource Source>
  std::string FindIn(Source& source, uint64_t pc, By by) {
    Cie cie;
    Fde fde;
    UnwindSource unwind_source = {.section = section_, .hdr = {}, .index = {}};
    FdeLookup result = FdeLookup::kNone;
    if (by == By::kLinear) {
      result = FindFdeLinear(source, section_, pc, &cie, &fde);
    } else {
      if (by == By::kTable) unwind_source.hdr = *header();
      if (by == By::kIndex) {
        unwind_source.index = BuildFdeIndex(builder_.bytes(), section_);
      }
      result = FindFde(source, unwind_source, pc, &cie, &fde);
    }
    if (result == FdeLookup::kNone) return "none";
    if (result == FdeLookup::kBad) return "bad";
    char text[64];
    std::snprintf(text, sizeof(text), "found %lx+%lx", fde.pc_begin,
                  fde.pc_end - fde.pc_begin);
    return text;
  }

  std::optional<EhFrameHdr> header() {
    SpanSource source = builder_.source();
    ByteReader reader(source.Window(header_, 1 << 16), header_);
    return ParseEhFrameHdr(reader, builder_.bytes().size());
  }

 private:
  void AddHeader(uint8_t encoding) {
    Bytes bytes = {1, DW_EH_PE_absptr, DW_EH_PE_udata4, encoding};
    header_ = section_.address + builder_.bytes().size();
    AppendNumber(bytes, section_.address, 8);
    AppendNumber(bytes, entries_.size(), 4);
    for (const auto& entry : entries_) {
      for (const uint64_t value : {entry.pc_begin, entry.fde}) {
        const uint64_t here = header_ + bytes.size();
        const uint64_t base = (encoding & 0x70) == DW_EH_PE_datarel ? header_
                              : (encoding & 0x70) == DW_EH_PE_pcrel ? here
                                                                    : 0;
        AppendNumber(bytes, value - base, EncodedPointerSize(encoding));
      }
    }
    builder_.AddRaw(bytes);
  }

  CfiBuilder builder_;
  CfiSection section_;
  std::vector<EhFrameHdrEntry> entries_;
  uint64_t header_ = 0;
};

TEST(CfiLookup, FindsTheFdeThatCovers) {
  const struct {
    const char* name;
    std::vector<Range> ranges;
    uint64_t pc;
    const char* expected;
  } rows[] = {
      {"no FDE at all", {}, 0x20000, "none"},
      {"first byte", {{0x20000, 0x10}}, 0x20000, "found 20000+10"},
      {"last byte", {{0x20000, 0x10}}, 0x2000f, "found 20000+10"},
      {"behind", {{0x20000, 0x10}}, 0x20010, "none"},
      {"before", {{0x20000, 0x10}}, 0x1ffff, "none"},
      {"in a gap", {{0x20000, 0x10}, {0x20020, 0x10}}, 0x20018, "none"},
      {"not in address order",
       {{0x20040, 8}, {0x20000, 8}, {0x20020, 8}},
       0x20021,
       "found 20020+8"},
      {"an empty FDE at the same start, after",
       {{0x20000, 0x10}, {0x20000, 0}},
       0x20004,
       "found 20000+10"},
      {"an empty FDE at the same start, before",
       {{0x20000, 0}, {0x20000, 0x10}},
       0x20000,
       "found 20000+10"},
      {"an empty FDE inside",
       {{0x20000, 0x10}, {0x20008, 0}},
       0x20009,
       "found 20000+10"},
      {"many empty FDEs inside",
       {{0x20000, 0x10},
        {0x20001, 0},
        {0x20002, 0},
        {0x20003, 0},
        {0x20004, 0}},
       0x20009,
       "found 20000+10"},
      {"the shorter of two at the same start",
       {{0x20000, 0x1000}, {0x20000, 0x10}},
       0x20004,
       "found 20000+10"},
      {"the one that begins last",
       {{0x20000, 0x1000}, {0x20100, 0x10}},
       0x20108,
       "found 20100+10"},
      {"the outer one, where the inner does not reach",
       {{0x20000, 0x1000}, {0x20100, 0x10}},
       0x20200,
       "found 20000+1000"},
  };
  for (const auto& row : rows) {
    Section section(row.ranges);
    EXPECT_EQ(section.Find(row.pc, By::kTable), row.expected) << row.name;
    EXPECT_EQ(section.Find(row.pc, By::kIndex), row.expected) << row.name;
    EXPECT_EQ(section.Find(row.pc, By::kLinear), row.expected) << row.name;
  }
}

TEST(CfiLookup, FindsEachOfManyAndNothingBetween) {
  std::vector<Range> ranges;
  for (uint64_t i = 0; i < 1000; ++i) {
    ranges.push_back({0x200000 + 0x20 * i, 0x10});
  }
  Section section(ranges);
  for (const Range& range : ranges) {
    char expected[64];
    std::snprintf(expected, sizeof(expected), "found %lx+10", range.pc_begin);
    EXPECT_EQ(section.Find(range.pc_begin + 15, By::kTable), expected);
    EXPECT_EQ(section.Find(range.pc_begin + 16, By::kTable), "none");
  }
}

// Of bytes that stay, a CIE and its row are kept from one FDE to the next.
TEST(CfiLookup, WhatIsKeptOfACieIsThatCies) {
  CfiBuilder builder;
  std::vector<uint64_t> fdes;
  for (uint8_t i = 0; i < 3; ++i) {
    builder.AddCie(
        {.instructions = {DW_CFA_def_cfa, 7, static_cast<uint8_t>(8 * (i + 1)),
                          DW_CFA_offset | 16, 1}});
    for (uint64_t j = 0; j < 2; ++j) {
      fdes.push_back(builder.AddFde(
          {.pc_begin = 0x20000 + 0x100 * i + 0x10 * j, .size = 0x10}));
    }
  }
  const CfiSection section = builder.section();
  PinnedBytes source(builder.source());
  CfiMachine<X86_64> machine;
  Cie cie;
  Fde fde;
  for (const size_t i : {0, 1, 2, 0, 5, 4, 4, 3, 1, 5}) {
    ASSERT_TRUE(ReadFde(source, section, fdes[i], &cie, &fde));
    ASSERT_TRUE(machine.FindRow(source, section, cie, fde, fde.pc_begin));
    EXPECT_EQ(machine.row().pc, fde.pc_begin);
    EXPECT_EQ(machine.row().cfa.value, 8 * (static_cast<int64_t>(i) / 2 + 1));
  }
}

TEST(CfiLookup, FindsWhatTheTableHasDroppedForAnEmptyOne) {
  Section section({{0x20000, 0}, {0x20000, 0x10}, {0x20010, 0}, {0x30000, 8}});
  section.KeepOneEntryForEachStart();
  EXPECT_EQ(section.header()->count, 3u);
  EXPECT_EQ(section.Find(0x20004, By::kTable), "found 20000+10");
  EXPECT_EQ(section.Find(0x20010, By::kTable), "none");
  EXPECT_EQ(section.Find(0x30000, By::kTable), "found 30000+8");
}

TEST(CfiLookup, EC19TablesOfEveryFixedSizeAreRead) {
  for (const int encoding :
       {DW_EH_PE_datarel | DW_EH_PE_sdata4, DW_EH_PE_datarel | DW_EH_PE_sdata8,
        DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_absptr | 0,
        DW_EH_PE_udata4 | 0, DW_EH_PE_udata8 | 0}) {
    Section section({{0x20000, 8}, {0x20010, 8}, {0x20020, 8}}, encoding);
    ASSERT_TRUE(section.header());
    EXPECT_EQ(section.header()->count, 3u) << encoding;
    EXPECT_EQ(section.Find(0x20011, By::kTable), "found 20010+8") << encoding;
  }
}

TEST(CfiLookup, EC19FunctionsMayBeGigabytesApart) {
  for (const int encoding :
       {DW_EH_PE_datarel | DW_EH_PE_sdata8, DW_EH_PE_pcrel | DW_EH_PE_sdata8,
        DW_EH_PE_absptr | 0, DW_EH_PE_udata8 | 0}) {
    Section section({{0x20000, 8}, {0x1'4000'0000, 8}, {0x7f'0000'0000, 8}},
                    encoding, {.augmentation = ""});
    for (const By by : {By::kTable, By::kIndex, By::kLinear}) {
      EXPECT_EQ(section.Find(0x1'4000'0001, by), "found 140000000+8")
          << encoding;
      EXPECT_EQ(section.Find(0x7f'0000'0007, by), "found 7f00000000+8")
          << encoding;
      EXPECT_EQ(section.Find(0x4000'0001, by), "none") << encoding;
    }
  }
}

TEST(EhFrameHdr, WhatCannotBeSearchedIsNoTable) {
  const struct {
    const char* name;
    Bytes bytes;
    bool is_header;
  } rows[] = {
      {"table omitted", {1, 0x1b, 0x03, 0xff, 4, 0, 0, 0, 1, 0, 0, 0}, true},
      {"count omitted", {1, 0x1b, 0xff, 0x3b, 4, 0, 0, 0}, true},
      {"entries of no fixed size",
       {1, 0x1b, 0x03, 0x31, 4, 0, 0, 0, 1, 0, 0, 0, 1, 1},
       true},
      {"more entries than bytes",
       {1, 0x1b, 0x03, 0x3b, 4, 0, 0, 0, 2, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1},
       true},
      {"empty", {1, 0x1b, 0x03, 0x3b, 4, 0, 0, 0, 0, 0, 0, 0}, true},
      {"version 2", {2, 0x1b, 0x03, 0x3b, 4, 0, 0, 0, 0, 0, 0, 0}, false},
      {"cut", {1, 0x1b, 0x03}, false},
  };
  for (const auto& row : rows) {
    ByteReader reader(row.bytes, 0x1000);
    const auto header = ParseEhFrameHdr(reader, row.bytes.size());
    ASSERT_EQ(header.has_value(), row.is_header) << row.name;
    if (!header) continue;
    EXPECT_FALSE(header->has_table()) << row.name;
    EXPECT_EQ(header->eh_frame, 0x1008u) << row.name;
  }
}

TEST(FdeIndex, SortsAndDropsEmptyOnes) {
  CfiBuilder builder;
  builder.AddCie();
  for (uint64_t i = 0; i < 100; ++i) {
    builder.AddFde({.pc_begin = 0x20000 + (i * 37 % 100) * 16,
                    .size = i % 5 == 0 ? 0 : 8u});
  }
  const auto index = BuildFdeIndex(builder.bytes(), builder.section());
  ASSERT_EQ(index.size(), 80u);
  for (size_t i = 1; i < index.size(); ++i) {
    EXPECT_LT(index[i - 1].pc_begin, index[i].pc_begin);
  }
}

}  // namespace
}  // namespace unspool::unwind
