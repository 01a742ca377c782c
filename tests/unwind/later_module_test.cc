// Libraries that come and go while their frames are walked.

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/unwind/self_walk.h"
#include "unwind/module_setup.h"

namespace unspool::unwind {
namespace {

constexpr int kLibraries = 4;

std::string PathOf(int number) {
  return std::string(LATER_LIBRARIES) + "/liblater_" + std::to_string(number) +
         ".so";
}

// Walks with a frame of a library on the stack.
struct Walking {
  WalkScratch scratch = {};
  StackBounds bounds;
  int number = 0;
  bool right = false;
  std::string problem;
};

int WalkInLibrary(void* argument) {
  auto* walking = static_cast<Walking*>(argument);
  Frame frames[128];
  const WalkResult result = TestUnwinder().Walk(
      Registers::Here(), walking->bounds, walking->scratch, frames);
  walking->right = false;
  walking->problem =
      "ended with " + std::to_string(static_cast<int>(result.end));
  if (result.end != WalkEnd::kRoot) return 0;
  const std::string path = PathOf(walking->number);
  walking->problem = "no frame of " + path;
  for (uint32_t i = 0; i < result.depth; ++i) {
    const Module* module = TestUnwinder().FindModule(frames[i].module);
    if (module == nullptr ||
        std::strstr(module->path, "liblater_") == nullptr) {
      continue;
    }
    walking->right = path == module->path;
    if (!walking->right) walking->problem = path + " named " + module->path;
  }
  return 0;
}

// Loads library `number`, walks in it, unloads it.
void LoadAndWalk(int number, Walking* walking) {
  void* handle = dlopen(PathOf(number).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  using Call = int (*)(int (*)(void*), void*);
  const auto call = reinterpret_cast<Call>(dlsym(handle, "later_call"));
  ASSERT_NE(call, nullptr);
  walking->number = number;
  call(WalkInLibrary, walking);
  TestUnwinder().BeginUnload();
  dlclose(handle);
  TestUnwinder().EndUnload();
}

TEST(LaterModule, IsFoundAndDescribed) {
  Walking walking;
  walking.bounds = OwnStack();
  TestUnwinder();
  const ModuleId before = TestUnwinder().module_count();
  LoadAndWalk(0, &walking);
  EXPECT_TRUE(walking.right) << walking.problem;
  ASSERT_GT(TestUnwinder().module_count(), before);
  const Module* module = TestUnwinder().FindModule(before);
  ASSERT_NE(module, nullptr);
  // Outlives the library.
  EXPECT_EQ(module->path, PathOf(0));
  EXPECT_FALSE(module->is_pinned);
  EXPECT_FALSE(module->is_main);
  EXPECT_EQ(module->build_id.size, 20);
  EXPECT_EQ(module->segment_count, 1);
  EXPECT_GT(module->eh_frame_hdr_size, 0u);
}

// Started late, when libraries have been loaded already.
TEST(LaterModule, IsNotPinnedByALateStart) {
  void* handle = dlopen(PathOf(3).c_str(), RTLD_NOW);
  ASSERT_NE(handle, nullptr) << dlerror();
  ModuleSnapshot snapshot;
  ASSERT_TRUE(TakeModuleSnapshot(nullptr, &snapshot));
  const auto at = [&](void* address) {
    return snapshot.Find(reinterpret_cast<uint64_t>(address));
  };
  EXPECT_EQ(at(dlsym(handle, "later_call")), kNoModule);
  EXPECT_NE(at(reinterpret_cast<void*>(&PathOf)), kNoModule);
  EXPECT_NE(at(dlsym(RTLD_DEFAULT, "malloc")), kNoModule);
  EXPECT_NE(at(dlsym(RTLD_DEFAULT, "_r_debug")), kNoModule);  // the loader
  dlclose(handle);
}

TEST(LaterModule, ComesBackAsItself) {
  Walking walking;
  walking.bounds = OwnStack();
  for (int i = 0; i < 8; ++i) LoadAndWalk(i % 2, &walking);
  const ModuleId after_some = TestUnwinder().module_count();
  for (int i = 0; i < 200; ++i) LoadAndWalk(i % 2, &walking);
  // Wherever the loader puts them: it reuses the same few places.
  EXPECT_LE(TestUnwinder().module_count(), after_some + 8);
}

// Libraries of one size take each other's places, in several threads at once.
TEST(LaterModule, IsNeverTakenForAnother) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 400;
  TestUnwinder();
  std::atomic<int> wrong = 0;
  std::vector<std::string> problems(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Walking walking;
      walking.bounds = OwnStack();
      for (int i = 0; i < kRounds; ++i) {
        LoadAndWalk((i * (t + 1) + t) % kLibraries, &walking);
        if (walking.right) continue;
        wrong.fetch_add(1);
        problems[static_cast<size_t>(t)] = walking.problem;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0)
      << problems[0] << "; " << problems[1] << "; " << problems[2];
}

// PCs of libraries that may be gone at any moment: no fault, whatever is found.
TEST(LaterModule, MayVanishWhileItIsRead) {
  std::atomic<bool> done = false;
  std::atomic<uint64_t> pc = 0;
  std::thread reader([&] {
    const auto scratch = std::make_unique<WalkScratch>();
    std::vector<uint64_t> stack(512, 0);
    Frame frames[8];
    while (!done.load()) {
      Registers registers;
      registers.Set(NativeArch::kSp, reinterpret_cast<uint64_t>(stack.data()));
      registers.Set(NativeArch::kRa, pc.load());
      const auto result = TestUnwinder().Walk(registers, {}, *scratch, frames);
      ASSERT_GE(result.depth, 1u);
    }
  });
  for (int i = 0; i < 600; ++i) {
    void* handle = dlopen(PathOf(i % kLibraries).c_str(), RTLD_NOW);
    ASSERT_NE(handle, nullptr) << dlerror();
    pc.store(reinterpret_cast<uint64_t>(dlsym(handle, "later_call")) + 1);
    TestUnwinder().BeginUnload();
    dlclose(handle);
    TestUnwinder().EndUnload();
  }
  done.store(true);
  reader.join();
}

}  // namespace
}  // namespace unspool::unwind
