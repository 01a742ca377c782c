#include "collectors/thread_wait.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

namespace unspool::collectors {
namespace {

using State = ThreadWait::State;
using Register = unwind::X86_64Register;

TEST(ThreadWait, ParsesWhatTheKernelWrites) {
  const struct {
    const char* name;
    std::string text;
    State state;
    uint64_t sp;
    uint64_t pc;
  } rows[] = {
      {"running", "running\n", State::kRunnable, 0, 0},
      {"in a system call",
       "7 0x7ffd10 0x1 0xffffffffffffffff 0x4 0x5 0x6 0x7ffcff 0x7f0123\n",
       State::kWaiting, 0x7ffcff, 0x7f0123},
      {"in a page fault", "-1 0x7ffc08 0x401136\n", State::kWaiting, 0x7ffc08,
       0x401136},
      {"no longer there", "-1 0x0 0x0\n", State::kEnded, 0, 0},
      {"nothing", "", State::kUnknown, 0, 0},
      {"no number", "waiting\n", State::kUnknown, 0, 0},
      {"cut", "7 0x7ffd10 0x1 0xffffffffffffffff 0x4 0x5 0x6 0x7ffcff\n",
       State::kUnknown, 0, 0},
      {"too large", "-1 0x10000000000000000 0x401136\n", State::kUnknown, 0, 0},
  };
  for (const auto& row : rows) {
    const ThreadWait wait = ParseThreadWait(row.text);
    EXPECT_EQ(wait.state, row.state) << row.name;
    EXPECT_EQ(wait.registers.sp(), row.sp) << row.name;
    EXPECT_EQ(wait.registers.pc(), row.pc) << row.name;
  }
}

TEST(ThreadWait, ArgumentsAreRegistersAndOthersAreUnknown) {
  const ThreadWait wait =
      ParseThreadWait("7 0x11 0x12 0x13 0x14 0x15 0x16 0x7ffcff 0x7f0123\n");
  EXPECT_EQ(wait.registers.Get(Register::kRdi), 0x11u);
  EXPECT_EQ(wait.registers.Get(Register::kRsi), 0x12u);
  EXPECT_EQ(wait.registers.Get(Register::kRdx), 0x13u);
  EXPECT_EQ(wait.registers.Get(Register::kR10), 0x14u);
  EXPECT_EQ(wait.registers.Get(Register::kR8), 0x15u);
  EXPECT_EQ(wait.registers.Get(Register::kR9), 0x16u);
  EXPECT_FALSE(wait.registers.Has(Register::kRbp));
  EXPECT_FALSE(wait.registers.Has(Register::kRbx));
  const ThreadWait fault = ParseThreadWait("-1 0x7ffc08 0x401136\n");
  EXPECT_FALSE(fault.registers.Has(Register::kRdi));
}

TEST(ThreadWait, ParsesTheRunDelay) {
  EXPECT_EQ(ParseRunDelayNs("7001 43025 12\n"), 43025u);
  EXPECT_EQ(ParseRunDelayNs("7001\n"), 0u);
  EXPECT_EQ(ParseRunDelayNs(""), 0u);
}

TEST(ThreadWait, ReadsAThreadThatWaits) {
  std::atomic<int32_t> tid{0};
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  std::thread waiter([&] {
    char byte;
    tid = gettid();
    EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0);
  });
  int fd = -1;
  ThreadWait wait;
  while (wait.registers.Get(Register::kRdi) !=
         static_cast<uint64_t>(pipe_ends[0])) {
    usleep(1000);
    if (fd < 0 && tid != 0) fd = OpenThreadWait(tid);
    wait = ReadThreadWait(fd);
  }
  EXPECT_EQ(wait.state, State::kWaiting);
  EXPECT_EQ(wait.registers.Get(Register::kRdx), 1u);
  close(pipe_ends[1]);
  waiter.join();
  close(pipe_ends[0]);
  // Joined is not yet gone.
  while (ReadThreadWait(fd).state != State::kUnknown) usleep(1000);
  close(fd);
  EXPECT_EQ(OpenThreadWait(tid), -1);
}

TEST(ThreadWait, ReadsAThreadThatRuns) {
  std::atomic<int32_t> tid{0};
  std::atomic<bool> done{false};
  std::thread spinner([&] {
    tid = gettid();
    while (!done) {
    }
  });
  while (tid == 0) usleep(1000);
  const int fd = OpenThreadWait(tid);
  EXPECT_EQ(ReadThreadWait(fd).state, State::kRunnable);
  close(fd);
  done = true;
  spinner.join();
}

}  // namespace
}  // namespace unspool::collectors
