// The modules that a process begins with, however many there are.

#include "unwind/module_setup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "unwind/module_snapshot.h"

namespace unspool::unwind {
namespace {

constexpr size_t kModules = 1100;
constexpr const char* kVariable = "UNSPOOL_TEST_PRELOADED";

// Stands in the process that has them all.
void ExpectAllArePinned() {
  ModuleSnapshot snapshot;
  ASSERT_TRUE(TakeModuleSnapshot(nullptr, &snapshot));
  EXPECT_GT(snapshot.count(), kModules);
  for (ModuleId id = 1; id < snapshot.count(); ++id) {
    const Module& before = snapshot.Get(id - 1)->module;
    const Module& module = snapshot.Get(id)->module;
    ASSERT_LE(before.end, module.start);
    EXPECT_EQ(snapshot.Find(module.start), id);
  }
  // libc comes last in the loader's order.
  EXPECT_NE(snapshot.Find(reinterpret_cast<uint64_t>(&std::getenv)), kNoModule);
}

TEST(ModuleSetup, MoreThanAThousandModulesArePinned) {
  if (std::getenv(kVariable) != nullptr) return ExpectAllArePinned();
  const std::filesystem::path directory =
      testing::TempDir() + "/unspool-modules-" + std::to_string(getpid());
  std::filesystem::create_directory(directory);
  std::string preload;
  for (size_t i = 0; i < kModules; ++i) {
    const std::filesystem::path copy = directory / std::to_string(i);
    std::filesystem::copy_file(LATER_LIBRARIES "/liblater_0.so", copy);
    preload += copy.string() + ":";
  }
  // AddressSanitizer wants to come first.
  const std::string command =
      "ASAN_OPTIONS=verify_asan_link_order=0 " + std::string(kVariable) +
      "=1 LD_PRELOAD=" + preload + " " +
      std::filesystem::read_symlink("/proc/self/exe").string() +
      " --gtest_filter=ModuleSetup.MoreThanAThousandModulesArePinned";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace unspool::unwind
