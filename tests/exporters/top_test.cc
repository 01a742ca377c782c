#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <sstream>
#include <string>
#include <string_view>

#include "exporters/export.h"
#include "tests/exporters/named_profile.h"

namespace unspool::exporters {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Top(const Profile& profile, std::string_view value = "") {
  std::ostringstream out;
  const absl::Status status = WriteTop(profile, value, out);
  EXPECT_TRUE(status.ok()) << status;
  return std::move(out).str();
}

// The table without the lines above it.
std::string Table(const Profile& profile, std::string_view value = "") {
  const std::string text = Top(profile, value);
  return text.substr(text.find("      flat"));
}

TEST(Top, SumsFlatAndCumInTheOrderOfFlat) {
  NamedProfile profile;
  profile.Add("leaf < middle < main", 1, 300'000'000);
  profile.Add("middle < main", 2, 500'000'000);
  profile.Add("leaf < main", 4, 70'000'000);
  profile.Add("beta < main", 8, 65'000'000);
  profile.Add("alpha < main", 8, 65'000'000);
  EXPECT_EQ(Table(profile.get()),
            "      flat  flat%   sum%        cum   cum%\n"
            "     500ms 50.00% 50.00%      800ms 80.00%  middle\n"
            "     370ms 37.00% 87.00%      370ms 37.00%  leaf\n"
            "      65ms  6.50% 93.50%       65ms  6.50%  alpha\n"
            "      65ms  6.50%   100%       65ms  6.50%  beta\n"
            "         0     0%   100%     1000ms   100%  main\n");
  EXPECT_EQ(Table(profile.get(), "samples"),
            "      flat  flat%   sum%        cum   cum%\n"
            "         8 34.78% 34.78%          8 34.78%  alpha\n"
            "         8 34.78% 69.57%          8 34.78%  beta\n"
            "         5 21.74% 91.30%          5 21.74%  leaf\n"
            "         2  8.70%   100%          3 13.04%  middle\n"
            "         0     0%   100%         23   100%  main\n");
}

TEST(Top, CountsRecursionOnceAndMarksWhatIsInlined) {
  NamedProfile profile;
  profile.Add("f < g < f < main", 1, 3'000'000'000);
  profile.Add("innie|outie < main", 1, 5'000'000'000);
  profile.Add("both|outie < main", 1, 7'000'000'000);
  profile.Add("both < main", 1, 11'000'000'000);
  EXPECT_EQ(Table(profile.get()),
            "      flat  flat%   sum%        cum   cum%\n"
            "       18s 69.23% 69.23%        18s 69.23%  both "
            "(partial-inline)\n"
            "        5s 19.23% 88.46%         5s 19.23%  innie (inline)\n"
            "        3s 11.54%   100%         3s 11.54%  f\n"
            "         0     0%   100%         3s 11.54%  g\n"
            "         0     0%   100%        26s   100%  main\n"
            "         0     0%   100%        12s 46.15%  outie\n");
}

TEST(Top, TellsWhatWasMeasured) {
  setenv("TZ", "UTC", 1);
  tzset();
  NamedProfile profile;
  profile.Add("f < main", 7, 1'250'000'000);
  const std::string text = Top(profile.get());
  EXPECT_THAT(text, HasSubstr("File: app\n"));
  EXPECT_THAT(text, HasSubstr("Type: cpu\n"));
  EXPECT_THAT(text, HasSubstr("Time: Nov 14, 2023 at 10:13pm (UTC)\n"));
  EXPECT_THAT(text, HasSubstr("Duration: 2.50s, Total samples = 1.25s "
                              "(50.00%)\n"));
  EXPECT_THAT(text, Not(HasSubstr("Samples:")));
}

TEST(Top, TellsHowFarToTrustIt) {
  NamedProfile profile;
  profile.Add("f < main", 7, 1'250'000'000);
  profile.get().AddComment("unspool.samples", "400");
  profile.get().AddComment("unspool.truncated", "3");
  profile.get().AddComment("unspool.lost", "2");
  EXPECT_THAT(Top(profile.get()),
              HasSubstr("Samples: 400, truncated: 3 (0.75%), lost: 2\n"));
}

TEST(Top, ShowsAnEmptyProfileAsAnEmptyTable) {
  EXPECT_EQ(Table(NamedProfile().get()),
            "      flat  flat%   sum%        cum   cum%\n");
}

}  // namespace
}  // namespace unspool::exporters
