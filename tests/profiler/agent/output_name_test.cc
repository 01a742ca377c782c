#include "profiler/agent/output_name.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <string>

namespace unspool::profiler {
namespace {

OutputFacts Facts(bool is_first_process) {
  OutputFacts facts;
  facts.pid = 4711;
  facts.program = "app";
  facts.time_s = 1700000000;
  facts.host = "box";
  facts.directory = "/srv";
  facts.is_first_process = is_first_process;
  return facts;
}

struct Row {
  const char* pattern;
  const char* first;  // name in the first process
  const char* other;  // in every other one
};

TEST(OutputName, ExpandsPatternsAndIsOnePerProcess) {
  const Row kRows[] = {
      {"p.pb.gz", "/srv/p.pb.gz", "/srv/p.4711.pb.gz"},
      {"/a/p.pb.gz", "/a/p.pb.gz", "/a/p.4711.pb.gz"},
      {"p.pb", "/srv/p.pb", "/srv/p.4711.pb"},
      {"p.out", "/srv/p.out", "/srv/p.4711.out"},
      {"p", "/srv/p", "/srv/p.4711"},
      {".hidden", "/srv/.hidden", "/srv/.hidden.4711"},
      {"a.b/p", "/srv/a.b/p", "/srv/a.b/p.4711"},
      {"x%p.pb.gz", "/srv/x4711.pb.gz", "/srv/x4711.pb.gz"},
      {"%n-%t-%h.pb", "/srv/app-1700000000-box.pb",
       "/srv/app-1700000000-box.4711.pb"},
      // %%p is a percent sign and a p.
      {"100%%p.pb", "/srv/100%p.pb", "/srv/100%p.4711.pb"},
      {"%%%p", "/srv/%4711", "/srv/%4711"},
      // The ending is the pattern's, not what it expands to.
      {"x.%n", "/srv/x.app", "/srv/x.4711.app"},
  };
  for (const Row& row : kRows) {
    OutputName name;
    EXPECT_TRUE(ExpandOutput(row.pattern, Facts(true), &name).ok());
    EXPECT_STREQ(name.text, row.first);
    OutputName other;
    EXPECT_TRUE(ExpandOutput(row.pattern, Facts(false), &other).ok());
    EXPECT_STREQ(other.text, row.other);
  }
}

TEST(OutputName, AValueAddsNoDirectory) {
  OutputFacts facts = Facts(true);
  facts.program = "../../etc/x";
  OutputName name;
  ASSERT_TRUE(ExpandOutput("%n.pb", facts, &name).ok());
  EXPECT_STREQ(name.text, "/srv/.._.._etc_x.pb");
}

TEST(OutputName, OtherLettersAreRefused) {
  for (const char* pattern : {"%", "x%", "%q", "%P.pb", "% p"}) {
    OutputName name;
    EXPECT_EQ(ExpandOutput(pattern, Facts(true), &name).error, EINVAL)
        << pattern;
  }
}

TEST(OutputName, ThatIsTooLongIsRefused) {
  const std::string fits(PATH_MAX - 1 - 1, 'x');
  OutputName name;
  EXPECT_TRUE(ExpandOutput(("/" + fits).c_str(), Facts(true), &name).ok());
  EXPECT_EQ(std::string(name.text).size(), size_t{PATH_MAX} - 1);
  EXPECT_EQ(ExpandOutput(("/" + fits + "x").c_str(), Facts(true), &name).error,
            ENAMETOOLONG);
  EXPECT_EQ(ExpandOutput(("/" + fits).c_str(), Facts(false), &name).error,
            ENAMETOOLONG);
}

TEST(OutputName, AsksForGzipUnlessItEndsInPb) {
  EXPECT_TRUE(WantsGzip("/x/p.pb.gz"));
  EXPECT_TRUE(WantsGzip("/x/p"));
  EXPECT_FALSE(WantsGzip("/x/p.pb"));
}

}  // namespace
}  // namespace unspool::profiler
