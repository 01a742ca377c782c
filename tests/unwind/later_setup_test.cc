// Libraries without a search table, before and after they are completed.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unwind/self_walk.h"
#include "unwind/load/own_cfi.h"

namespace unspool::unwind {
namespace {

using Call = int (*)(int (*)(void*), void*);

class LaterSetupTest : public testing::Test {
 protected:
  // Whatever other tests have loaded is done.
  void SetUp() override { Complete(); }
  void TearDown() override { Unload(); }

  static bool Complete() {
    return TestUnwinder().CompleteLaterModules(&AddCfiFromFiles);
  }
  void Load(const char* name) {
    const std::string path = std::string(LATER_LIBRARIES) + "/" + name;
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle_, nullptr) << dlerror();
    call_ = reinterpret_cast<Call>(dlsym(handle_, "later_call"));
  }
  void Unload() {
    if (handle_ == nullptr) return;
    TestUnwinder().BeginUnload();
    dlclose(handle_);
    TestUnwinder().EndUnload();
    handle_ = nullptr;
  }

  // The library's frame in a walk from what it calls; the walk's end.
  Frame Walk(WalkEnd* end) {
    Walked walked;
    call_(
        [](void* out) {
          *static_cast<Walked*>(out) = WalkFrom(Registers::Here(), OwnStack());
          return 0;
        },
        &walked);
    *end = walked.result.end;
    const auto start = reinterpret_cast<uint64_t>(call_);
    const int place = walked.Find(start, start + 64);
    EXPECT_GE(place, 0) << walked.Text();
    return place < 0 ? Frame() : walked.frames[static_cast<size_t>(place) + 1];
  }

  void* handle_ = nullptr;
  Call call_ = nullptr;
};

TEST_F(LaterSetupTest, NothingWasLoaded) { EXPECT_FALSE(Complete()); }

TEST_F(LaterSetupTest, CallersAreGuessedBeforeAndKnownAfter) {
  Load("liblater_without_table.so");
  WalkEnd end;
  EXPECT_TRUE(Walk(&end).guessed);
  EXPECT_TRUE(Complete());
  EXPECT_FALSE(Walk(&end).guessed);
  EXPECT_EQ(end, WalkEnd::kRoot);
  EXPECT_FALSE(Complete());
}

TEST_F(LaterSetupTest, IsKnownAgainWhenItComesBack) {
  for (int i = 0; i < 3; ++i) {
    Load("liblater_without_table.so");
    EXPECT_TRUE(Complete());
    WalkEnd end;
    EXPECT_FALSE(Walk(&end).guessed);
    EXPECT_EQ(end, WalkEnd::kRoot);
    Unload();
  }
}

TEST_F(LaterSetupTest, WhatHasATableIsNoModuleUntilItIsWalked) {
  const ModuleId before = TestUnwinder().module_count();
  Load("liblater_2.so");
  EXPECT_TRUE(Complete());
  EXPECT_EQ(TestUnwinder().module_count(), before);
}

}  // namespace
}  // namespace unspool::unwind
