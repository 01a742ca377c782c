#include "tests/oracle/verdict.h"

#include <gtest/gtest.h>

#include <vector>

namespace unspool::oracle {
namespace {

TEST(Verdict, SaysWhatIsALieAndWhatIsLabelled) {
  const std::vector<uint64_t> truth = {1, 2, 3};
  constexpr size_t kNone = SIZE_MAX;
  const struct {
    const char* name;
    Stack stack;
    Verdict verdict;
  } rows[] = {
      {"all of it", {{1, 2, 3}, kNone, ""}, Verdict::kRight},
      {"with a guess", {{1, 2, 3}, 1, ""}, Verdict::kGuessed},
      {"part, labelled", {{1, 2}, kNone, "no-cfi"}, Verdict::kTruncated},
      {"part, guessed and labelled",
       {{1, 2}, 1, "no-cfi"},
       Verdict::kTruncated},
      {"part, said to be all", {{1, 2}, kNone, ""}, Verdict::kWrong},
      {"a caller skipped", {{1, 3}, kNone, ""}, Verdict::kWrong},
      {"a caller skipped by a guess", {{1, 3}, 1, ""}, Verdict::kMisguessed},
      {"wrong before the guess", {{1, 9, 3}, 2, ""}, Verdict::kWrong},
      {"wrong after the guess", {{1, 2, 9}, 1, ""}, Verdict::kMisguessed},
      {"wrong, then labelled", {{1, 9}, kNone, "loop"}, Verdict::kWrong},
      {"more than all", {{1, 2, 3, 4}, kNone, ""}, Verdict::kWrong},
      {"nothing", {{}, kNone, ""}, Verdict::kWrong},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(Judge(row.stack, truth), row.verdict) << row.name;
  }
}

}  // namespace
}  // namespace unspool::oracle
