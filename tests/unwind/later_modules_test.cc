// The table of later modules, with a loader that says what the test wants.

#include "unwind/later_modules.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>

namespace unspool::unwind {
namespace {

constexpr ModuleId kFirstId = 100;

// What the fake _dl_find_object answers.
dl_find_object answer;
bool is_loaded = false;

int FindFakeObject(void* pc, dl_find_object* out) {
  const auto address = reinterpret_cast<uintptr_t>(pc);
  if (!is_loaded ||
      address < reinterpret_cast<uintptr_t>(answer.dlfo_map_start) ||
      address >= reinterpret_cast<uintptr_t>(answer.dlfo_map_end)) {
    return -1;
  }
  *out = answer;
  return 0;
}

// A library of two pages: an ELF header and one PT_LOAD.
class LaterModulesTest : public testing::Test {
 protected:
  LaterModulesTest() {
    void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    image_ = static_cast<uint8_t*>(memory);
    start_ = reinterpret_cast<uint64_t>(image_);
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_phoff = sizeof(header);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    Elf64_Phdr load = {};
    load.p_type = PT_LOAD;
    load.p_flags = PF_R | PF_X;
    load.p_filesz = load.p_memsz = kSize;
    std::memcpy(image_, &header, sizeof(header));
    std::memcpy(image_ + sizeof(header), &load, sizeof(load));
    for (link_map* map : {&map_, &other_map_}) {
      map->l_addr = start_;
      map->l_name = path_;
    }
    answer = {};
    answer.dlfo_map_start = image_;
    answer.dlfo_map_end = image_ + kSize;
    answer.dlfo_link_map = &map_;
    is_loaded = true;
    modules_->Configure(FindFakeObject, kFirstId);
  }
  ~LaterModulesTest() override { munmap(image_, kSize); }

  // In a walk of its own.
  LaterModules::Found Find(uint64_t offset = 64) {
    scratch_->checked_count = 0;
    return modules_->Find(start_ + offset, *scratch_);
  }

  static constexpr size_t kSize = 2 * kPageSize;
  std::unique_ptr<LaterModules> modules_ = std::make_unique<LaterModules>();
  std::unique_ptr<WalkScratch> scratch_ = std::make_unique<WalkScratch>();
  uint8_t* image_ = nullptr;
  uint64_t start_ = 0;
  char path_[64] = "/lib/one.so";
  link_map map_ = {};
  link_map other_map_ = {};
};

TEST_F(LaterModulesTest, DescribesWhatItFinds) {
  const auto found = Find();
  ASSERT_NE(found.module, nullptr);
  EXPECT_EQ(found.id, kFirstId);
  EXPECT_EQ(modules_->count(), 1u);
  EXPECT_EQ(modules_->Get(kFirstId), found.module);
  const Module& module = found.module->module;
  EXPECT_EQ(module.start, start_);
  EXPECT_EQ(module.end, start_ + kSize);
  EXPECT_EQ(module.bias, start_);
  EXPECT_STREQ(module.path, "/lib/one.so");
  EXPECT_TRUE(found.module->IsCode(start_ + kSize - 1));
  EXPECT_FALSE(found.module->IsCode(start_ + kSize));
}

TEST_F(LaterModulesTest, KeepsThePath) {
  const auto found = Find();
  std::strcpy(path_, "gone");
  EXPECT_STREQ(found.module->module.path, "/lib/one.so");
}

TEST_F(LaterModulesTest, KnowsTheModuleAgain) {
  const ModuleId id = Find().id;
  EXPECT_EQ(Find(kSize - 1).id, id);
  modules_->BeginUnload();
  EXPECT_EQ(Find().id, id);  // one is under way, but not of this
  modules_->EndUnload();
  EXPECT_EQ(Find().id, id);
  answer.dlfo_link_map = &other_map_;
  EXPECT_EQ(Find().id, id);
  EXPECT_EQ(modules_->count(), 1u);
}

TEST_F(LaterModulesTest, UnannouncedContentsAreAnotherModule) {
  const ModuleId id = Find().id;
  image_[512] ^= 1;
  const ModuleId other = Find().id;
  EXPECT_NE(other, id);
  image_[512] ^= 1;
  EXPECT_EQ(Find().id, id);
  EXPECT_EQ(modules_->count(), 2u);
}

TEST_F(LaterModulesTest, AnnouncedPathIsAnotherModule) {
  const ModuleId id = Find().id;
  std::strcpy(path_, "/lib/two.so");
  modules_->BeginUnload();
  const auto other = Find();
  modules_->EndUnload();
  EXPECT_NE(other.id, id);
  EXPECT_STREQ(other.module->module.path, "/lib/two.so");
  EXPECT_EQ(Find().id, other.id);
}

TEST_F(LaterModulesTest, ChecksAModuleOnceInAWalk) {
  const ModuleId id = Find().id;
  image_[512] ^= 1;
  EXPECT_EQ(modules_->Find(start_ + 80, *scratch_).id, id);
}

TEST_F(LaterModulesTest, NoticesThatTheModuleIsGone) {
  const ModuleId id = Find().id;
  EXPECT_TRUE(modules_->IsStillThere(id, *scratch_));
  image_[512] ^= 1;
  EXPECT_FALSE(modules_->IsStillThere(id, *scratch_));
  image_[512] ^= 1;
  EXPECT_TRUE(modules_->IsStillThere(id, *scratch_));
  is_loaded = false;
  EXPECT_FALSE(modules_->IsStillThere(id, *scratch_));
  EXPECT_EQ(Find().module, nullptr);
  // Still described, for the frames that were found in it.
  EXPECT_NE(modules_->Get(id), nullptr);
}

TEST_F(LaterModulesTest, WhatCannotBeDescribedIsNoModule) {
  image_[0] = 0;  // no ELF file
  EXPECT_EQ(Find().module, nullptr);
  image_[0] = ELFMAG0;
  map_.l_addr += kPageSize;  // headers that describe another range
  EXPECT_EQ(Find().module, nullptr);
  map_.l_addr -= kPageSize;
  mprotect(image_, kSize, PROT_NONE);
  EXPECT_EQ(Find().module, nullptr);
  mprotect(image_, kSize, PROT_READ | PROT_WRITE);
  answer.dlfo_link_map = nullptr;
  EXPECT_EQ(Find().module, nullptr);
  EXPECT_EQ(modules_->count(), 0u);
}

TEST_F(LaterModulesTest, FullTableFindsNothingNew) {
  const ModuleId first = Find().id;
  for (uint32_t i = 1; i < LaterModules::kCapacity + 10; ++i) {
    std::memcpy(image_ + 512, &i, sizeof(i));
    const auto found = Find();
    ASSERT_EQ(found.module != nullptr, i < LaterModules::kCapacity) << i;
  }
  EXPECT_EQ(modules_->count(), LaterModules::kCapacity);
  std::memset(image_ + 512, 0, sizeof(uint32_t));
  EXPECT_EQ(Find().id, first);
  EXPECT_EQ(modules_->Get(kFirstId + LaterModules::kCapacity), nullptr);
}

TEST_F(LaterModulesTest, WithoutALoaderThereAreNone) {
  modules_->Configure(nullptr, kFirstId);
  EXPECT_EQ(Find().module, nullptr);
}

}  // namespace
}  // namespace unspool::unwind
