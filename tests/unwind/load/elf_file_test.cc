#include "unwind/load/elf_file.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unwind/load/exercise_elf.h"
#include "tests/unwind/load/test_elf.h"
#include "unwind/load/mapped_file.h"

namespace unspool::unwind {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;

constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

// At its exact size on the heap, where a sanitizer sees a read past the end.
std::unique_ptr<uint8_t[]> OnHeap(std::span<const uint8_t> bytes) {
  auto copy = std::make_unique<uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return copy;
}

TEST(ElfFile, ReadsAWellFormedFile) {
  const std::vector<uint8_t> bytes = TestElf().Bytes();
  ElfFile elf;
  ASSERT_EQ(elf.Parse(bytes), ElfError::kNone);
  EXPECT_EQ(elf.type(), ET_DYN);
  EXPECT_EQ(elf.machine(), EM_X86_64);
  EXPECT_EQ(elf.entry(), TestElf::kBase + 0x123);
  EXPECT_EQ(elf.program_header_count(), 4u);
  EXPECT_EQ(elf.section_count(), 5u);
  EXPECT_EQ(elf.section_error(), ElfError::kNone);
  EXPECT_EQ(elf.FindProgramHeader(PT_NOTE)->p_offset, TestElf::kNote);
  EXPECT_EQ(elf.FindProgramHeader(PT_TLS), std::nullopt);
  EXPECT_EQ(elf.FindSection(".eh_frame")->sh_offset, TestElf::kFrame);
  EXPECT_EQ(elf.FindSection(".eh_fram"), std::nullopt);
  EXPECT_EQ(elf.FindSection(".debug_frame"), std::nullopt);
}

TEST(ElfFile, FindsTheUnwindTables) {
  const std::vector<uint8_t> bytes = TestElf().Bytes();
  ElfFile elf;
  ASSERT_EQ(elf.Parse(bytes), ElfError::kNone);
  const auto hdr = elf.EhFrameHdr();
  ASSERT_TRUE(hdr.has_value());
  EXPECT_EQ(hdr->address, TestElf::kBase + TestElf::kHdr);
  EXPECT_EQ(hdr->bytes.data(), bytes.data() + TestElf::kHdr);
  EXPECT_EQ(hdr->bytes.size(), 12u);
  const auto frame = elf.EhFrame();
  ASSERT_TRUE(frame.has_value());
  EXPECT_EQ(frame->address, TestElf::kBase + TestElf::kFrame);
  EXPECT_EQ(frame->bytes.data(), bytes.data() + TestElf::kFrame);
  EXPECT_EQ(frame->bytes.size(), 4u);
}

TEST(ElfFile, FindsEhFrameThroughItsHeaderWhereThereAreNoSections) {
  struct Row {
    const char* name;
    std::array<uint8_t, 12> hdr;
    bool found;
  };
  const Row rows[] = {
      {"pcrel sdata4", {1, 0x1b, 0xff, 0xff, 8}, true},
      {"datarel sdata4", {1, 0x3b, 0xff, 0xff, 12}, true},
      {"absolute udata4", {1, 0x03, 0xff, 0xff, 0x54, 0x01, 0x40}, true},
      {"absolute 8 bytes", {1, 0x00, 0xff, 0xff, 0x54, 0x01, 0x40}, true},
      {"pcrel sdata2", {1, 0x1a, 0xff, 0xff, 8}, true},
      {"version 2", {2, 0x1b, 0xff, 0xff, 8}, false},
      {"no pointer", {1, 0xff, 0xff, 0xff, 8}, false},
      {"indirect", {1, 0x9b, 0xff, 0xff, 8}, false},
      {"text-relative", {1, 0x2b, 0xff, 0xff, 8}, false},
      {"before the file", {1, 0x1b, 0xff, 0xff, 0, 0, 0xf0, 0xff}, false},
      {"behind the file", {1, 0x1b, 0xff, 0xff, 0, 0, 0x10, 0}, false},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    TestElf image;
    image.header.e_shoff = 0;
    std::copy(row.hdr.begin(), row.hdr.end(), image.eh_frame_hdr);
    const std::vector<uint8_t> bytes = image.Bytes();
    ElfFile elf;
    ASSERT_EQ(elf.Parse(bytes), ElfError::kNone);
    EXPECT_EQ(elf.section_count(), 0u);
    const auto frame = elf.EhFrame();
    ASSERT_EQ(frame.has_value(), row.found);
    if (!row.found) continue;
    EXPECT_EQ(frame->address, TestElf::kBase + TestElf::kFrame);
    EXPECT_EQ(frame->bytes.data(), bytes.data() + TestElf::kFrame);
    EXPECT_EQ(frame->bytes.size(), bytes.size() - TestElf::kFrame);
  }
}

TEST(ElfFile, DoesNotTakeTheStartOfAFileLinkedAtZeroForItsEhFrame) {
  TestElf image;
  image.header.e_shoff = 0;
  image.programs[0].p_vaddr = 0;
  image.eh_frame_hdr[1] = 0xff;  // DW_EH_PE_omit
  const std::vector<uint8_t> bytes = image.Bytes();
  ElfFile elf;
  ASSERT_EQ(elf.Parse(bytes), ElfError::kNone);
  EXPECT_TRUE(elf.LoadedFrom(0).has_value());
  EXPECT_FALSE(elf.EhFrame().has_value());
}

TEST(ElfFile, HasNoEhFrameWhereTheSectionIsKeptWithoutItsBytes) {
  TestElf image;  // as `objcopy --only-keep-debug` leaves it
  image.sections[3].sh_type = SHT_NOBITS;
  const std::vector<uint8_t> bytes = image.Bytes();
  ElfFile elf;
  ASSERT_EQ(elf.Parse(bytes), ElfError::kNone);
  EXPECT_FALSE(elf.EhFrame().has_value());
}

TEST(ElfFile, ReadsTheBuildIdFromSegmentsElseFromSections) {
  struct Row {
    const char* name;
    uint32_t program_type;
    uint32_t section_type;
    uint8_t size;
  };
  const Row rows[] = {
      {"segment only", PT_NOTE, SHT_PROGBITS, 20},
      {"section only", PT_NULL, SHT_NOTE, 20},
      {"neither", PT_NULL, SHT_PROGBITS, 0},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    TestElf image;
    image.programs[1].p_type = row.program_type;
    image.sections[1].sh_type = row.section_type;
    const std::vector<uint8_t> bytes = image.Bytes();
    ElfFile elf;
    ASSERT_EQ(elf.Parse(bytes), ElfError::kNone);
    const BuildId id = elf.FindBuildId();
    ASSERT_EQ(id.size, row.size);
    for (uint8_t i = 0; i < id.size; ++i) EXPECT_EQ(id.bytes[i], 0xa0 + i);
  }
}

TEST(ElfFile, SkipsNotesThatAreNotABuildId) {
  struct Row {
    const char* name;
    uint64_t offset;  // of the byte to change, from the note's start
    uint8_t value;
  };
  const Row rows[] = {
      {"other type", 8, NT_GNU_ABI_TAG},
      {"other owner", 12, 'X'},
      {"empty", 4, 0},
      {"ends behind the segment", 4, 25},
      {"name ends behind the segment", 3, 0xff},
      {"longer than we keep", 5, 1},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    std::vector<uint8_t> bytes = TestElf().Bytes();
    bytes[TestElf::kNote + row.offset] = row.value;
    ElfFile elf;
    ASSERT_EQ(elf.Parse(bytes), ElfError::kNone);
    EXPECT_EQ(elf.FindBuildId().size, 0);
  }
}

TEST(ElfFile, GivesExecutableSegmentsAsLinked) {
  TestElf image;
  image.programs[1] = TestElf::Program(PT_LOAD, 0x100, 0x20);
  image.programs[1].p_memsz = 0x1000;
  image.programs[2] = TestElf::Program(PT_LOAD, 0x40, 0x20);
  image.programs[2].p_flags = PF_R;
  image.programs[3] = TestElf::Program(PT_LOAD, 0x40, 0x20);
  image.programs[3].p_memsz = kHuge;  // would wrap around
  const std::vector<uint8_t> bytes = image.Bytes();
  ElfFile elf;
  ASSERT_EQ(elf.Parse(bytes), ElfError::kNone);
  std::array<Segment, 2> segments;
  ASSERT_EQ(elf.ExecutableSegments(segments), 2u);
  EXPECT_EQ(segments[1].start, TestElf::kBase + 0x100);
  EXPECT_EQ(segments[1].end, TestElf::kBase + 0x1100);
  EXPECT_EQ(segments[1].file_offset, 0x100u);
  EXPECT_EQ(elf.ExecutableSegments({}), 2u);
}

struct BadHeader {
  const char* name;
  void (*damage)(Elf64_Ehdr& header);
  ElfError error;          // of Parse()
  ElfError section_error;  // looked at if Parse() succeeds
};

TEST(ElfFile, NamesWhatIsWrongWithTheHeader) {
  constexpr ElfError kOk = ElfError::kNone;
  constexpr ElfError kPrograms = ElfError::kBadProgramHeaders;
  constexpr ElfError kSections = ElfError::kBadSectionHeaders;
  const BadHeader rows[] = {
      {"magic", [](auto& h) { h.e_ident[1] = 'e'; }, ElfError::kNotElf, kOk},
      {"class 32", [](auto& h) { h.e_ident[EI_CLASS] = ELFCLASS32; },
       ElfError::kWrongClass, kOk},
      {"class 0", [](auto& h) { h.e_ident[EI_CLASS] = 0; },
       ElfError::kWrongClass, kOk},
      {"big endian", [](auto& h) { h.e_ident[EI_DATA] = ELFDATA2MSB; },
       ElfError::kWrongByteOrder, kOk},
      {"ident version", [](auto& h) { h.e_ident[EI_VERSION] = 2; },
       ElfError::kWrongVersion, kOk},
      {"version", [](auto& h) { h.e_version = 0; }, ElfError::kWrongVersion,
       kOk},
      {"phentsize", [](auto& h) { h.e_phentsize = 55; }, kPrograms, kOk},
      {"phentsize 0", [](auto& h) { h.e_phentsize = 0; }, kPrograms, kOk},
      {"phoff beyond", [](auto& h) { h.e_phoff = 0x10000; }, kPrograms, kOk},
      {"phoff wraps", [](auto& h) { h.e_phoff = kHuge - 3; }, kPrograms, kOk},
      {"phnum", [](auto& h) { h.e_phnum = 0x7fff; }, kPrograms, kOk},
      {"phnum in section 0, absent",
       [](auto& h) {
         h.e_phnum = PN_XNUM;
         h.e_shoff = 0;
       },
       kPrograms, kOk},
      {"phnum in section 0, beyond",
       [](auto& h) {
         h.e_phnum = PN_XNUM;
         h.e_shoff = kHuge - 8;
       },
       kPrograms, kOk},
      {"no program headers", [](auto& h) { h.e_phnum = 0; }, kOk, kOk},
      {"misaligned phoff", [](auto& h) { h.e_phoff = 65; }, kOk, kOk},
      {"shentsize", [](auto& h) { h.e_shentsize = 63; }, kOk, kSections},
      {"shoff beyond", [](auto& h) { h.e_shoff = 0x10000; }, kOk, kSections},
      {"shoff wraps", [](auto& h) { h.e_shoff = kHuge - 8; }, kOk, kSections},
      {"shnum", [](auto& h) { h.e_shnum = 6; }, kOk, kSections},
      {"shnum in section 0, none", [](auto& h) { h.e_shnum = 0; }, kOk,
       kSections},
      {"shstrndx", [](auto& h) { h.e_shstrndx = 5; }, kOk, kSections},
      {"shstrndx, reserved", [](auto& h) { h.e_shstrndx = SHN_ABS; }, kOk,
       kSections},
      {"shoff off by one", [](auto& h) { h.e_shoff += 1; }, kOk, kSections},
      {"no section names", [](auto& h) { h.e_shstrndx = SHN_UNDEF; }, kOk, kOk},
  };
  for (const BadHeader& row : rows) {
    SCOPED_TRACE(row.name);
    TestElf image;
    row.damage(image.header);
    const std::vector<uint8_t> bytes = image.Bytes();
    ElfFile elf;
    const ElfError error = elf.Parse(bytes);
    EXPECT_EQ(error, row.error) << ElfErrorText(error);
    EXPECT_EQ(elf.section_error(), row.section_error);
    if (error != kOk) {
      EXPECT_EQ(elf.program_header_count(), 0u);
    }
    if (error != kOk || row.section_error != kOk) {
      EXPECT_EQ(elf.section_count(), 0u);
    }
    ExerciseElf(bytes);
  }
}

TEST(ElfFile, HonoursCountsThatDoNotFitTheHeader) {
  TestElf image;
  image.header.e_phnum = PN_XNUM;
  image.header.e_shnum = 0;
  image.header.e_shstrndx = SHN_XINDEX;
  image.sections[0].sh_info = 4;
  image.sections[0].sh_size = 5;
  image.sections[0].sh_link = 4;
  std::vector<uint8_t> bytes = image.Bytes();
  ElfFile elf;
  ASSERT_EQ(elf.Parse(bytes), ElfError::kNone);
  EXPECT_EQ(elf.program_header_count(), 4u);
  EXPECT_EQ(elf.section_count(), 5u);
  EXPECT_TRUE(elf.FindSection(".eh_frame").has_value());

  image.sections[0].sh_size = kHuge / sizeof(Elf64_Shdr) + 2;  // times 64: 64
  bytes = image.Bytes();
  ASSERT_EQ(elf.Parse(bytes), ElfError::kNone);
  EXPECT_EQ(elf.section_error(), ElfError::kBadSectionHeaders);

  image.sections[0].sh_info = 0xffffffff;
  bytes = image.Bytes();
  EXPECT_EQ(elf.Parse(bytes), ElfError::kBadProgramHeaders);
}

TEST(ElfFile, SaysWhereATruncatedFileEnds) {
  const std::vector<uint8_t> whole = TestElf().Bytes();
  constexpr size_t kProgramsEnd = sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr);
  for (size_t size = 0; size < whole.size(); ++size) {
    SCOPED_TRACE(size);
    const auto copy = OnHeap(std::span(whole).first(size));
    const std::span<const uint8_t> bytes(copy.get(), size);
    ElfFile elf;
    const ElfError error = elf.Parse(bytes);
    if (size < SELFMAG) {
      EXPECT_EQ(error, ElfError::kNotElf);
    } else if (size < sizeof(Elf64_Ehdr)) {
      EXPECT_EQ(error, ElfError::kTruncatedHeader);
    } else if (size < kProgramsEnd) {
      EXPECT_EQ(error, ElfError::kBadProgramHeaders);
    } else {
      EXPECT_EQ(error, ElfError::kNone);
      EXPECT_EQ(elf.section_error(), ElfError::kBadSectionHeaders);
    }
    ExerciseElf(bytes);
  }
}

// Each header field in turn, at each width, takes each value that could make a
// sum wrap or a bound be off by one.
TEST(ElfFile, StaysWithinTheFileWhateverOneFieldSays) {
  const std::vector<uint8_t> whole = TestElf().Bytes();
  const uint64_t size = whole.size();
  const uint64_t values[] = {0,           1,         3,         7,
                             size - 1,    size,      size + 1,  0x7fffffff,
                             0x80000000u, kHuge / 2, kHuge - 7, kHuge};
  const auto copy = OnHeap(whole);
  for (size_t offset = 0; offset + 8 <= whole.size(); ++offset) {
    for (const size_t width : {1, 2, 4, 8}) {
      for (const uint64_t value : values) {
        memcpy(copy.get() + offset, &value, width);
        ExerciseElf({copy.get(), whole.size()});
        memcpy(copy.get() + offset, whole.data() + offset, width);
      }
    }
  }
}

TEST(ElfFile, ReadsThisProgramTheSameWithAndWithoutItsSections) {
  MappedFile file;
  ASSERT_EQ(file.Open("/proc/self/exe"), 0);
  std::vector<uint8_t> bytes(file.bytes().begin(), file.bytes().end());
  ElfFile whole;
  ASSERT_EQ(whole.Parse(file.bytes()), ElfError::kNone);
  reinterpret_cast<Elf64_Ehdr*>(bytes.data())->e_shoff = 0;
  ElfFile stripped;
  ASSERT_EQ(stripped.Parse(bytes), ElfError::kNone);
  EXPECT_GT(whole.section_count(), 0u);
  EXPECT_EQ(stripped.section_count(), 0u);

  ASSERT_TRUE(whole.EhFrame() && stripped.EhFrame());
  EXPECT_EQ(whole.EhFrame()->address, stripped.EhFrame()->address);
  EXPECT_LE(whole.EhFrame()->bytes.size(), stripped.EhFrame()->bytes.size());
  EXPECT_EQ(whole.FindBuildId().bytes, stripped.FindBuildId().bytes);
}

TEST(MappedFile, GivesTheErrnoOfWhatCannotBeMapped) {
  MappedFile file;
  EXPECT_EQ(file.Open("/proc/self/exe"), 0);
  EXPECT_FALSE(file.bytes().empty());
  EXPECT_EQ(file.Open("/nonexistent/file"), ENOENT);
  EXPECT_TRUE(file.bytes().empty());
  EXPECT_EQ(file.Open("/"), EISDIR);
  EXPECT_EQ(file.Open("/dev/null"), EINVAL);
}

}  // namespace
}  // namespace unspool::unwind
