// Lists of images as compilers at run time make them, right and wrong.

#include "unwind/jit_objects.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "unwind/walk_scratch.h"

namespace unspool::unwind {
namespace {

// The interface's, as GDB's manual has them.
struct Entry {
  Entry* next = nullptr;
  Entry* previous = nullptr;
  const void* image = nullptr;
  uint64_t size = 0;
};
struct Descriptor {
  uint32_t version = 1;
  uint32_t action = 0;
  Entry* relevant = nullptr;
  Entry* first = nullptr;
};

constexpr uint64_t kCode = 0x7000'0000'0000;
constexpr uint64_t kCodeSize = 0x100;

// Two functions of half of the code each.
struct Image {
  Elf64_Ehdr header = {};
  Elf64_Shdr sections[4] = {};
  Elf64_Sym symbols[3] = {};
  char names[32] = "\0one\0two";

  explicit Image(uint64_t code, uint16_t type = ET_REL) {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = type;
    header.e_shoff = offsetof(Image, sections);
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 4;
    sections[1].sh_type = SHT_PROGBITS;
    sections[1].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    sections[1].sh_addr = code;
    sections[1].sh_size = kCodeSize;
    sections[2].sh_type = SHT_SYMTAB;
    sections[2].sh_offset = offsetof(Image, symbols);
    sections[2].sh_size = sizeof(symbols);
    sections[2].sh_entsize = sizeof(Elf64_Sym);
    sections[2].sh_link = 3;
    sections[3].sh_type = SHT_STRTAB;
    sections[3].sh_offset = offsetof(Image, names);
    sections[3].sh_size = sizeof(names);
    for (int i = 1; i < 3; ++i) {
      symbols[i].st_name = static_cast<Elf64_Word>(1 + (i - 1) * 4);
      symbols[i].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
      symbols[i].st_shndx = 1;
      symbols[i].st_value = (i - 1) * kCodeSize / 2;
      if (type != ET_REL) symbols[i].st_value += code;
      symbols[i].st_size = kCodeSize / 2;
    }
  }
};

class JitObjectsTest : public testing::Test {
 protected:
  JitObjectsTest() {
    jit_->AddDescriptor(reinterpret_cast<uint64_t>(&descriptor_), code_);
  }

  // To the front of the list.
  void Register(Entry* entry, const Image& image) {
    *entry = {descriptor_.first, nullptr, &image, sizeof(image)};
    if (entry->next != nullptr) entry->next->previous = entry;
    descriptor_.first = descriptor_.relevant = entry;
    descriptor_.action = 1;
  }

  // The name that a walk finds for `pc`; "" for none.
  std::string NameAt(uint64_t pc) {
    scratch_->checked_count = 0;
    if (!jit_->Register(pc, code_, *scratch_)) return "";
    const Module* module = code_.GetCode(code_.FindCode(pc));
    return module == nullptr ? "" : module->path;
  }

  RegisteredCode code_;
  std::unique_ptr<JitObjects> jit_ = std::make_unique<JitObjects>();
  std::unique_ptr<WalkScratch> scratch_ = std::make_unique<WalkScratch>();
  Descriptor descriptor_;
};

TEST_F(JitObjectsTest, FunctionsAreNamedByTheirSymbols) {
  const Image relocatable(kCode);
  const Image linked(kCode + 0x1000, ET_EXEC);
  Entry entries[2];
  Register(&entries[0], relocatable);
  Register(&entries[1], linked);
  for (const uint64_t start : {kCode, kCode + 0x1000}) {
    EXPECT_EQ(NameAt(start), "one");
    EXPECT_EQ(NameAt(start + kCodeSize / 2 - 1), "one");
    EXPECT_EQ(NameAt(start + kCodeSize / 2), "two");
    EXPECT_EQ(NameAt(start + kCodeSize), "");
    EXPECT_EQ(NameAt(start - 1), "");
  }
}

TEST_F(JitObjectsTest, WhatHasNoSymbolIsCodeAllTheSame) {
  Image image(kCode);
  image.sections[2].sh_type = SHT_PROGBITS;
  Entry entry;
  Register(&entry, image);
  EXPECT_EQ(NameAt(kCode + 5), "[jit]");
  LoadedModule source;
  EXPECT_TRUE(code_.KnowsFrames(kCode + 5));
  EXPECT_EQ(code_.FindFrames(kCode + 5, &source), 0u);
}

TEST_F(JitObjectsTest, AnImageInThePlaceOfAnotherIsAnother) {
  Image image(kCode);
  Entry entry;
  Register(&entry, image);
  EXPECT_EQ(NameAt(kCode), "one");
  EXPECT_EQ(NameAt(kCode + kCodeSize / 2), "two");
  // Taken out and put in again between two walks: the list looks as it did.
  std::strcpy(&image.names[1], "six");
  EXPECT_EQ(NameAt(kCode), "six");
  EXPECT_EQ(NameAt(kCode + kCodeSize / 2), "two");
}

TEST_F(JitObjectsTest, AnImageThatIsGoneNamesNothing) {
  auto image = std::make_unique<Image>(kCode);
  Entry entry;
  Register(&entry, *image);
  EXPECT_EQ(NameAt(kCode), "one");
  descriptor_ = {};
  entry = {};
  EXPECT_EQ(NameAt(kCode), "");
  EXPECT_EQ(NameAt(kCode), "");
}

TEST_F(JitObjectsTest, LongListsTakeSeveralWalks) {
  constexpr size_t kCount = 1000;
  std::vector<Image> images;
  for (size_t i = 0; i < kCount; ++i) images.emplace_back(kCode + i * 0x1000);
  std::vector<Entry> entries(kCount);
  for (size_t i = 0; i < kCount; ++i) Register(&entries[i], images[i]);
  // The newest at once, the oldest after all others.
  EXPECT_EQ(NameAt(kCode + (kCount - 1) * 0x1000), "one");
  int walks = 1;
  while (NameAt(kCode).empty() && walks < 1000) ++walks;
  EXPECT_GT(walks, 10);
  EXPECT_LT(walks, 200);
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(NameAt(kCode + i * 0x1000), "one") << i;
  }
}

TEST_F(JitObjectsTest, ListsThatAreWrongEnd) {
  Image image(kCode);
  Entry entry;
  Register(&entry, image);
  Entry other = {&entry, &entry, &image, sizeof(image)};
  const struct {
    const char* what;
    Descriptor descriptor;
    Entry entry;
  } kRows[] = {
      {"another version", {2, 1, &entry, &entry}, entry},
      {"no memory", {1, 1, nullptr, reinterpret_cast<Entry*>(8)}, entry},
      {"linked wrong", {1, 0, nullptr, &other}, entry},
      {"a circle",
       {1, 0, nullptr, &entry},
       {&entry, nullptr, nullptr, sizeof(image)}},
      {"no image", {1, 1, &entry, &entry}, {nullptr, nullptr, nullptr, 9999}},
      {"an image at the end of the address space",
       {1, 1, &entry, &entry},
       {nullptr, nullptr, reinterpret_cast<void*>(~uint64_t{99}),
        ~uint64_t{0}}},
      {"too short", {1, 1, &entry, &entry}, {nullptr, nullptr, &image, 63}},
  };
  for (const auto& row : kRows) {
    descriptor_ = row.descriptor;
    entry = row.entry;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(NameAt(kCode), "") << row.what;
  }
}

// Each field of the image's headers in turn is as bad as can be.
TEST_F(JitObjectsTest, ImagesThatAreWrongNeverFault) {
  const Image right(kCode);
  const auto image = std::make_unique<Image>(right);
  Entry entry;
  for (size_t at = 16; at + 4 <= offsetof(Image, names); at += 4) {
    for (const uint32_t value : {0u, 0x7fffffffu, 0xffffffffu}) {
      *image = right;
      std::memcpy(reinterpret_cast<char*>(image.get()) + at, &value,
                  sizeof(value));
      descriptor_.first = nullptr;
      Register(&entry, *image);
      const std::string name = NameAt(kCode);
      EXPECT_LE(name.size(), sizeof(image->names));
      *image = Image(kCode + 0x100000);  // gone
      NameAt(kCode);
    }
  }
}

TEST_F(JitObjectsTest, NobodyWaitsForTheLock) {
  const Image image(kCode);
  Entry entry;
  Register(&entry, image);
  code_.Lock();
  EXPECT_EQ(NameAt(kCode), "");
  code_.Unlock();
  EXPECT_EQ(NameAt(kCode), "one");
}

}  // namespace
}  // namespace unspool::unwind
