#include "unwind/pointer_encoding.h"

#include <gtest/gtest.h>

#include <vector>

namespace unspool::unwind {
namespace {

using Bytes = std::vector<uint8_t>;
using namespace dwarf;

// Bases that cannot be mixed up.
constexpr uint64_t kAddress = 0x10003;
constexpr PointerBases kBases = {
    .text = 0x200000, .data = 0x3000000, .function = 0x40000000};

TEST(PointerEncoding, ReadsEveryFormAndRelation) {
  const struct {
    const char* name;
    int encoding;
    Bytes bytes;
    uint64_t value;
  } rows[] = {
      {"absptr",
       DW_EH_PE_absptr,
       {1, 2, 0, 0, 0, 0, 0, 0x80},
       0x8000000000000201},
      {"signed",
       DW_EH_PE_signed,
       {0xfe, 255, 255, 255, 255, 255, 255, 255},
       ~uint64_t{1}},
      {"uleb128", DW_EH_PE_uleb128, {0x80, 0x01}, 128},
      {"sleb128", DW_EH_PE_sleb128, {0x7f}, ~uint64_t{0}},
      {"udata2", DW_EH_PE_udata2, {0xff, 0xff}, 0xffff},
      {"sdata2", DW_EH_PE_sdata2, {0xff, 0xff}, ~uint64_t{0}},
      {"udata4", DW_EH_PE_udata4, {0xfe, 0xff, 0xff, 0xff}, 0xfffffffe},
      {"sdata4", DW_EH_PE_sdata4, {0xfe, 0xff, 0xff, 0xff}, ~uint64_t{1}},
      {"udata8", DW_EH_PE_udata8, {1, 0, 0, 0, 1, 0, 0, 0}, 0x100000001},
      {"sdata8", DW_EH_PE_sdata8, {1, 0, 0, 0, 1, 0, 0, 0}, 0x100000001},
      {"pcrel",
       DW_EH_PE_pcrel | DW_EH_PE_sdata4,
       {0xfe, 255, 255, 255},
       kAddress - 2},
      {"textrel", DW_EH_PE_textrel | DW_EH_PE_udata4, {5, 0, 0, 0}, 0x200005},
      {"datarel", DW_EH_PE_datarel | DW_EH_PE_udata4, {5, 0, 0, 0}, 0x3000005},
      {"funcrel", DW_EH_PE_funcrel | DW_EH_PE_udata4, {5, 0, 0, 0}, 0x40000005},
      {"aligned", DW_EH_PE_aligned, {9, 9, 9, 9, 9, 7, 0, 0, 0, 0, 0, 0, 0}, 7},
      {"null is null", DW_EH_PE_pcrel | DW_EH_PE_sdata4, {0, 0, 0, 0}, 0},
  };
  for (const auto& row : rows) {
    ByteReader reader(row.bytes, kAddress);
    const auto pointer =
        ReadEncodedPointer(reader, static_cast<uint8_t>(row.encoding), kBases);
    EXPECT_TRUE(reader.ok()) << row.name;
    EXPECT_TRUE(reader.empty()) << row.name;
    EXPECT_EQ(pointer.value, row.value) << row.name;
    EXPECT_FALSE(pointer.indirect) << row.name;
  }
}

TEST(PointerEncoding, SaysThatAPointerIsIndirect) {
  const Bytes bytes = {4, 0, 0, 0};
  ByteReader reader(bytes, kAddress);
  const auto pointer = ReadEncodedPointer(
      reader, DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4, kBases);
  EXPECT_TRUE(pointer.indirect);
  EXPECT_EQ(pointer.value, kAddress + 4);
}

TEST(PointerEncoding, AbsptrFollowsTheAddressSize) {
  const Bytes bytes = {0xfe, 0xff, 0xff, 0xff};
  ByteReader reader(bytes, 0);
  EXPECT_EQ(ReadEncodedPointer(reader, DW_EH_PE_absptr, {}, 4).value,
            0xfffffffeu);
  EXPECT_TRUE(reader.ok());
}

TEST(PointerEncoding, FailsOnWhatCannotBeRead) {
  const struct {
    const char* name;
    int encoding;
    size_t size;
    PointerBases bases;
  } rows[] = {
      {"omit", DW_EH_PE_omit, 8, kBases},
      {"unknown form", 0x05, 8, kBases},
      {"unknown relation", 0x60 | DW_EH_PE_udata4, 8, kBases},
      {"aligned, not absolute", DW_EH_PE_aligned | DW_EH_PE_udata4, 16, kBases},
      {"text base not known", DW_EH_PE_textrel | DW_EH_PE_udata4, 8, {}},
      {"data base not known", DW_EH_PE_datarel | DW_EH_PE_udata4, 8, {}},
      {"function not known", DW_EH_PE_funcrel | DW_EH_PE_udata4, 8, {}},
      {"too short", DW_EH_PE_udata8, 7, kBases},
  };
  for (const auto& row : rows) {
    const Bytes bytes(row.size, 1);
    ByteReader reader(bytes, kAddress);
    EXPECT_EQ(ReadEncodedPointer(reader, static_cast<uint8_t>(row.encoding),
                                 row.bases)
                  .value,
              0u)
        << row.name;
    EXPECT_FALSE(reader.ok()) << row.name;
  }
}

}  // namespace
}  // namespace unspool::unwind
