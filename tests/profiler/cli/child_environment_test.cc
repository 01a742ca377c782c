#include "profiler/cli/child_environment.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace unspool::profiler {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> Entries(ChildEnvironment& environment) {
  std::vector<std::string> entries;
  for (char* const* entry = environment.envp(); *entry != nullptr; ++entry) {
    entries.emplace_back(*entry);
  }
  return entries;
}

TEST(ChildEnvironment, SetReplacesEveryEntryOfThatNameOnly) {
  const char* const base[] = {"A=1", "AB=2", "A=3", "broken", nullptr};
  ChildEnvironment environment(base);
  environment.Set("A", "4=5");
  EXPECT_THAT(Entries(environment), ElementsAre("AB=2", "broken", "A=4=5"));
}

TEST(ChildEnvironment, PreloadComesFirstAndKeepsTheRest) {
  const char* const base[] = {"LD_PRELOAD=b.so c.so", nullptr};
  ChildEnvironment environment(base);
  environment.Preload("/a.so");
  EXPECT_EQ(environment.Get("LD_PRELOAD"), "/a.so:b.so c.so");

  const char* const none[] = {"LD_PRELOAD=", nullptr};
  ChildEnvironment empty(none);
  empty.Preload("/a.so");
  EXPECT_EQ(empty.Get("LD_PRELOAD"), "/a.so");
}

}  // namespace
}  // namespace unspool::profiler
