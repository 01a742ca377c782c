#include "profiler/agent/settings.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace unspool::profiler {
namespace {

std::map<std::string, std::string> environment;

const char* Get(const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? nullptr : found->second.c_str();
}

TEST(Settings, WithoutVariablesAreTheDefaults) {
  environment.clear();
  Settings settings;
  ASSERT_TRUE(ReadSettings(&Get, &settings).ok());
  EXPECT_EQ(settings.output, nullptr);
  EXPECT_TRUE(settings.start_at_load);
  EXPECT_FALSE(settings.is_verbose);
  EXPECT_EQ(settings.frequency, 100u);
  EXPECT_EQ(settings.max_depth, 1024u);
  EXPECT_EQ(settings.signal, SIGPROF);
  EXPECT_EQ(settings.root_pid, 0);
}

TEST(Settings, ComeFromTheirVariables) {
  environment = {
      {"UNSPOOL_OUTPUT", "x.pb.gz"},     {"UNSPOOL_START", "off"},
      {"UNSPOOL_VERBOSE", "1"},          {"UNSPOOL_FREQUENCY", "10000"},
      {"UNSPOOL_MAX_DEPTH", "65536"},    {"UNSPOOL_SAMPLE_SIGNAL", "SIGVTALRM"},
      {"UNSPOOL_ENGINE", "timer"},       {"UNSPOOL_CLOCK", "wall"},
      {"UNSPOOL_SPOOL", "/proc/1/fd/3"}, {"UNSPOOL_SPOOL_TAG", "12ab"},
      {"UNSPOOL_ROOT_PID", "4711"},      {"UNSPOOL_CHILDREN", "off"}};
  Settings settings;
  ASSERT_TRUE(ReadSettings(&Get, &settings).ok());
  EXPECT_STREQ(settings.output, "x.pb.gz");
  EXPECT_FALSE(settings.start_at_load);
  EXPECT_TRUE(settings.is_verbose);
  EXPECT_EQ(settings.frequency, 10'000u);
  EXPECT_EQ(settings.max_depth, 65'536u);
  EXPECT_EQ(settings.signal, SIGVTALRM);
  EXPECT_STREQ(settings.spool, "/proc/1/fd/3");
  EXPECT_STREQ(settings.spool_tag, "12ab");
  EXPECT_EQ(settings.clock, collectors::SampleClock::kWall);
  EXPECT_EQ(settings.root_pid, 4711);
  EXPECT_FALSE(settings.follows_children);
}

TEST(Settings, AnEmptyVariableIsNotSet) {
  environment = {{"UNSPOOL_OUTPUT", ""},
                 {"UNSPOOL_FREQUENCY", ""},
                 {"UNSPOOL_START", ""},
                 {"UNSPOOL_CHILDREN", ""}};
  Settings settings;
  ASSERT_TRUE(ReadSettings(&Get, &settings).ok());
  EXPECT_EQ(settings.output, nullptr);
  EXPECT_EQ(settings.frequency, 100u);
}

TEST(Settings, SignalsHaveNumbersAndNames) {
  struct Row {
    const char* text;
    int signal;
  };
  for (const Row& row : {Row{"27", SIGPROF}, Row{"PROF", SIGPROF},
                         Row{"SIGUSR2", SIGUSR2}, Row{"URG", SIGURG}}) {
    environment = {{"UNSPOOL_SAMPLE_SIGNAL", row.text}};
    Settings settings;
    EXPECT_TRUE(ReadSettings(&Get, &settings).ok()) << row.text;
    EXPECT_EQ(settings.signal, row.signal) << row.text;
  }
}

TEST(Settings, ABadValueIsNamedWithWhatWouldBeRight) {
  struct Row {
    const char* name;
    const char* value;
    const char* text;
  };
  const Row kRows[] = {
      {"UNSPOOL_FREQUENCY", "0",
       "UNSPOOL_FREQUENCY=0 is not a whole number from 1 to 10000"},
      {"UNSPOOL_FREQUENCY", "10001", nullptr},
      {"UNSPOOL_FREQUENCY", "99999999999999999999", nullptr},
      {"UNSPOOL_FREQUENCY", "-1", nullptr},
      {"UNSPOOL_FREQUENCY", " 100", nullptr},
      {"UNSPOOL_FREQUENCY", "100Hz", nullptr},
      {"UNSPOOL_FREQUENCY", "1e3", nullptr},
      {"UNSPOOL_MAX_DEPTH", "0", nullptr},
      {"UNSPOOL_MAX_DEPTH", "65537", nullptr},
      {"UNSPOOL_START", "no", "UNSPOOL_START=no is not on or off"},
      {"UNSPOOL_VERBOSE", "yes", nullptr},
      {"UNSPOOL_SAMPLE_SIGNAL", "KILL", nullptr},
      {"UNSPOOL_SAMPLE_SIGNAL", "SEGV", nullptr},
      {"UNSPOOL_SAMPLE_SIGNAL", "34", nullptr},
      {"UNSPOOL_SAMPLE_SIGNAL", "PROFF", nullptr},
      {"UNSPOOL_SAMPLE_SIGNAL", "SIG", nullptr},
      {"UNSPOOL_ENGINE", "ring",
       "UNSPOOL_ENGINE=ring is not auto, timer, perf or trap"},
      {"UNSPOOL_CLOCK", "sun", "UNSPOOL_CLOCK=sun is not cpu or wall"},
      {"UNSPOOL_CHILDREN", "yes", "UNSPOOL_CHILDREN=yes is not on or off"},
      {"UNSPOOL_TIMELINE", "1", nullptr},
      {"UNSPOOL_TOGGLE_SIGNAL", "USR1", nullptr},
      {"UNSPOOL_SPOOL_TAG", "../x", nullptr},
      {"UNSPOOL_ROOT_PID", "abc", nullptr},
  };
  for (const Row& row : kRows) {
    environment = {{row.name, row.value}};
    Settings settings;
    const Problem problem = ReadSettings(&Get, &settings);
    EXPECT_EQ(problem.error, EINVAL) << row.name << "=" << row.value;
    if (row.text != nullptr) {
      EXPECT_STREQ(problem.text, row.text);
    }
  }
}

TEST(Options, OverrideTheEnvironmentWhereTheyAreNotZero) {
  Settings settings;
  settings.frequency = 250;
  settings.output = "from environment";
  unspool_options options = {};
  options.size = sizeof(options);
  options.max_depth = 64;
  options.sample_signal = SIGUSR1;
  options.clock = UNSPOOL_CLOCK_WALL;
  ASSERT_TRUE(ApplyOptions(&options, &settings).ok());
  EXPECT_EQ(settings.frequency, 250u);
  EXPECT_EQ(settings.max_depth, 64u);
  EXPECT_EQ(settings.signal, SIGUSR1);
  EXPECT_EQ(settings.clock, collectors::SampleClock::kWall);
  EXPECT_STREQ(settings.output, "from environment");
  ASSERT_TRUE(ApplyOptions(nullptr, &settings).ok());
  EXPECT_EQ(settings.max_depth, 64u);
  options = {};
  options.size = sizeof(options);
  options.clock = UNSPOOL_CLOCK_CPU;
  ASSERT_TRUE(ApplyOptions(&options, &settings).ok());
  EXPECT_EQ(settings.clock, collectors::SampleClock::kCpu);
}

TEST(Options, OfAnOlderCallerAreReadAsFarAsTheyGo) {
  Settings settings;
  unspool_options options = {};
  options.size = offsetof(unspool_options, max_depth);
  options.frequency = 50;
  options.max_depth = 64;  // not the caller's to set
  ASSERT_TRUE(ApplyOptions(&options, &settings).ok());
  EXPECT_EQ(settings.frequency, 50u);
  EXPECT_EQ(settings.max_depth, 1024u);
}

TEST(Options, BadOnesAreRefused) {
  const auto error_of = [](unspool_options options) {
    Settings settings;
    return ApplyOptions(&options, &settings).error;
  };
  constexpr size_t kSize = sizeof(unspool_options);
  EXPECT_EQ(
      error_of({kSize, nullptr, 10'000, 65'536, SIGPROF, UNSPOOL_CLOCK_WALL}),
      0);
  EXPECT_EQ(error_of({0, nullptr, 0, 0, 0, 0}), EINVAL);
  EXPECT_EQ(error_of({kSize + 1, nullptr, 0, 0, 0, 0}), EINVAL);
  EXPECT_EQ(error_of({kSize, nullptr, 10'001, 0, 0, 0}), EINVAL);
  EXPECT_EQ(error_of({kSize, nullptr, 0, 65'537, 0, 0}), EINVAL);
  EXPECT_EQ(error_of({kSize, nullptr, 0, 0, SIGKILL, 0}), EINVAL);
  EXPECT_EQ(error_of({kSize, nullptr, 0, 0, -1, 0}), EINVAL);
  EXPECT_EQ(error_of({kSize, nullptr, 0, 0, 0, 3}), EINVAL);
  EXPECT_EQ(error_of({kSize, nullptr, 0, 0, 0, -1}), EINVAL);
}

}  // namespace
}  // namespace unspool::profiler
