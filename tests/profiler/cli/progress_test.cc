#include "profiler/cli/progress.h"

#include <pty.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "gtest/gtest.h"

namespace unspool::profiler {
namespace {

// What `write` puts on stderr, which is `slave` meanwhile; read from `master`,
// where a terminal's text arrives a bit later, up to a mark behind it.
std::string StderrOf(int slave, int master,
                     const std::function<void()>& write_text) {
  constexpr char kMark = '$';
  const int saved = dup(STDERR_FILENO);
  dup2(slave, STDERR_FILENO);
  write_text();
  dup2(saved, STDERR_FILENO);
  close(saved);
  EXPECT_EQ(write(slave, &kMark, 1), 1);
  std::string text;
  for (char c = 0; read(master, &c, 1) == 1 && c != kMark;) text += c;
  return text;
}

void ShowEarlyAndLate() {
  ProgressLine line;
  line.Show("early", 0, 4);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  line.Show("naming", 1, 4);
  line.Show("too soon after", 2, 4);
}

TEST(ProgressLine, ShowsLongWorkOnATerminalAndErasesIt) {
  int master, slave;
  ASSERT_EQ(openpty(&master, &slave, nullptr, nullptr, nullptr), 0);
  EXPECT_EQ(StderrOf(slave, master, ShowEarlyAndLate),
            "\r\033[Kunspool: naming 25 %\r\033[K");
}

TEST(ProgressLine, WritesNothingElsewhere) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(StderrOf(ends[1], ends[0], ShowEarlyAndLate), "");
}

}  // namespace
}  // namespace unspool::profiler
