// The wall clock alone, with the real unwinder and a real spool, in this
// process: what it records of threads that wait, and what it leaves alone.

#include "collectors/wall_clock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "collectors/cpu_timer.h"
#include "collectors/spool/spool_reader.h"

namespace unspool::collectors {
namespace {

constexpr uint64_t kMsNs = 1'000'000;
constexpr uint64_t kPeriodNs = 5 * kMsNs;
// Of thousands of looks, a few come late on a busy machine; the sum knows.
constexpr double kSlackNs = 4 * kPeriodNs;

constinit unwind::SelfUnwinder unwinder;
constinit WallClock wall_clock;

uint64_t NowNs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000 * kMsNs +
         static_cast<uint64_t>(now.tv_nsec);
}

struct Waits {
  uint64_t samples = 0;
  uint64_t waiting_ns = 0;
  uint64_t runnable_ns = 0;
  uint64_t unsampled_ns = 0;
  uint64_t sum_ns() const { return waiting_ns + runnable_ns + unsampled_ns; }
  std::map<uint64_t, uint64_t> by_leaf;  // weight by PC
  std::string name;
};

class WallClockTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(unwinder.Init(), unwind::SelfUnwinder::InitStatus::kOk);
    fd_ = memfd_create("spool", MFD_CLOEXEC);
    ASSERT_EQ(SpoolWriter::Create(fd_, 64 << 20), SpoolStatus::kOk);
    ImageInfo info;
    info.pid = getpid();
    info.clock = SampleClock::kWall;
    ASSERT_EQ(writer_.Open(fd_, info), SpoolStatus::kOk);
    recorder_.Begin(unwinder, writer_);
  }
  void TearDown() override {
    wall_clock.Stop();
    writer_.Close();
    close(fd_);
  }

  void Start() {
    WallClock::Config config;
    config.period_ns = kPeriodNs;
    config.max_depth = 128;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &config.own_mask);
    const auto status = wall_clock.Start(config, recorder_, writer_);
    pthread_sigmask(SIG_SETMASK, &config.own_mask, nullptr);
    ASSERT_EQ(status, WallClock::StartStatus::kOk);
    started_ns_ = NowNs();
    helper_tid_ = wall_clock.tid();
  }
  void Stop() {
    wall_clock.Stop();
    stopped_ns_ = NowNs();
  }

  // By thread id; of equal ones the sum.
  std::map<int32_t, Waits> Recorded() {
    SpoolReader reader;
    std::map<int32_t, Waits> result;
    EXPECT_EQ(reader.Open(writer_.bytes()), SpoolStatus::kOk);
    if (reader.image_count() == 0) return result;
    reader.ForEachThread(0, [&](const ThreadView& thread) {
      Waits& waits = result[thread.tid];
      waits.name = thread.name.data();
      waits.unsampled_ns += thread.unsampled_ns;
      reader.ForEachCounter(0, thread, [&](const CounterView& counter) {
        EXPECT_EQ(counter.kind, SampleKind::kOffCpu);
        waits.samples += counter.count;
        if (counter.stack == kRunnableNode) {
          waits.runnable_ns += counter.weight;
          return;
        }
        waits.waiting_ns += counter.weight;
        NodeView leaf;
        EXPECT_TRUE(
            reader.NodeChunkOf(0, counter.stack).Find(counter.stack, &leaf));
        waits.by_leaf[leaf.offset] += counter.weight;
      });
    });
    return result;
  }

  int fd_ = -1;
  SpoolWriter writer_;
  Recorder recorder_;
  uint64_t started_ns_ = 0;
  uint64_t stopped_ns_ = 0;
  int32_t helper_tid_ = 0;
};

TEST_F(WallClockTest, SumOfWaitsIsTheTimeThatAThreadDidNotRun) {
  std::atomic<bool> done{false};
  std::atomic<int32_t> tid{0};
  std::thread napper([&] {
    pthread_setname_np(pthread_self(), "napper");
    tid = gettid();
    while (!done) usleep(30'000);
  });
  while (tid == 0) usleep(1000);
  Start();
  const uint64_t cpu_ns = ThreadCpuNs(gettid());
  while (ThreadCpuNs(gettid()) - cpu_ns < 200 * kMsNs) {
  }
  usleep(300'000);
  Stop();
  const uint64_t own_cpu_ns = ThreadCpuNs(gettid()) - cpu_ns;
  done = true;
  napper.join();

  std::map<int32_t, Waits> waits = Recorded();
  const auto lifetime_ns = static_cast<double>(stopped_ns_ - started_ns_);
  EXPECT_NEAR(static_cast<double>(waits[tid].sum_ns()), lifetime_ns, kSlackNs);
  EXPECT_EQ(waits[tid].name, "napper");
  EXPECT_NEAR(static_cast<double>(waits[gettid()].sum_ns()),
              lifetime_ns - static_cast<double>(own_cpu_ns), kSlackNs);
  EXPECT_FALSE(waits.contains(helper_tid_));
}

TEST_F(WallClockTest, AThreadThatDoesNotMoveIsLookedAtLessAndLess) {
  std::atomic<bool> done{false};
  std::atomic<int32_t> tid{0};
  std::thread idle([&] {
    tid = gettid();
    while (!done) pause();
  });
  while (tid == 0) usleep(1000);
  Start();
  usleep(800'000);
  Stop();
  const Waits waits = Recorded()[tid];
  done = true;
  signal(SIGUSR1, [](int) {});
  pthread_kill(idle.native_handle(), SIGUSR1);
  idle.join();
  signal(SIGUSR1, SIG_DFL);

  // 1, 2, 4, 8 and then every 16th period, and once at the end.
  const uint64_t periods = (stopped_ns_ - started_ns_) / kPeriodNs;
  EXPECT_LE(waits.samples, 4 + periods / 16 + 2);
  EXPECT_GE(waits.samples, 2u);
  EXPECT_EQ(waits.by_leaf.size(), 1u);
  EXPECT_NEAR(static_cast<double>(waits.waiting_ns),
              static_cast<double>(stopped_ns_ - started_ns_), kSlackNs);
}

TEST_F(WallClockTest, NewThreadsAreFoundAndEndedOnesCountUntilTheirEnd) {
  Start();
  struct Life {
    int32_t tid = 0;
    uint64_t ns = 0;
  };
  std::vector<Life> lives(8);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < lives.size(); ++i) {
    threads.emplace_back([&life = lives[i], i] {
      const uint64_t begun_ns = NowNs();
      life.tid = gettid();
      usleep(static_cast<useconds_t>(100'000 + 30'000 * i));
      life.ns = NowNs() - begun_ns;
    });
  }
  for (std::thread& thread : threads) thread.join();
  Stop();
  std::map<int32_t, Waits> waits = Recorded();
  for (const Life& life : lives) {
    EXPECT_NEAR(static_cast<double>(waits[life.tid].sum_ns()),
                static_cast<double>(life.ns), kSlackNs);
  }
}

TEST_F(WallClockTest, TimeWithoutACpuIsRunnable) {
  // Three threads that spin for one CPU.
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  std::atomic<bool> done{false};
  std::atomic<int> begun{0};
  std::vector<int32_t> tids(3);
  std::vector<std::thread> threads;
  for (int32_t& tid : tids) {
    threads.emplace_back([&] {
      sched_setaffinity(0, sizeof(one), &one);
      tid = gettid();
      ++begun;
      while (!done) {
      }
    });
  }
  while (begun != 3) usleep(1000);
  Start();
  usleep(600'000);
  Stop();
  done = true;
  for (std::thread& thread : threads) thread.join();
  std::map<int32_t, Waits> waits = Recorded();
  uint64_t runnable_ns = 0;
  uint64_t sum_ns = 0;
  for (const int32_t tid : tids) {
    runnable_ns += waits[tid].runnable_ns;
    sum_ns += waits[tid].sum_ns();
  }
  // Two thirds of three lifetimes, and more if others have the CPU, too.
  EXPECT_GT(sum_ns, (stopped_ns_ - started_ns_) * 3 / 2);
  EXPECT_GT(runnable_ns, sum_ns * 9 / 10);
}

// Is the helper's table of descriptors another one than ours?
bool HasOwnTable() {
  const int fd = open("/dev/null", O_RDONLY);
  const std::string task =
      "/proc/self/task/" + std::to_string(wall_clock.tid()) + "/fd/";
  char target[64] = "";
  const ssize_t size =
      readlink((task + std::to_string(fd)).c_str(), target, sizeof(target) - 1);
  close(fd);
  return size < 0 || std::string(target) != "/dev/null";
}

TEST_F(WallClockTest, TheHelperTakesNoDescriptorWhereItIsNeverTheLastThread) {
  const bool is_only_thread = CountTasks() == 1;  // ThreadSanitizer has one
  Start();
  EXPECT_EQ(HasOwnTable(), is_only_thread);
  Stop();
  std::atomic<bool> done{false};
  std::thread untold([&] {
    while (!done) usleep(1000);
  });
  Start();
  EXPECT_FALSE(HasOwnTable());
  // It keeps nothing open all the same.
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  close(pipe_ends[1]);
  char byte;
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0);
  close(pipe_ends[0]);
  Stop();
  done = true;
  untold.join();
}

TEST_F(WallClockTest, TheHelperTakesNoSignal) {
  Start();
  const std::string task =
      "/proc/self/task/" + std::to_string(wall_clock.tid());
  FILE* status = fopen((task + "/status").c_str(), "r");
  ASSERT_NE(status, nullptr);
  char line[256];
  std::string blocked;
  while (fgets(line, sizeof(line), status) != nullptr) {
    if (strncmp(line, "SigBlk:", 7) == 0) blocked = line + 8;
  }
  fclose(status);
  // All but libc's own two, KILL and STOP.
  EXPECT_EQ(blocked, "fffffffe7ffbfeff\n");
  Stop();
  EXPECT_EQ(wall_clock.tid(), 0);
}

TEST_F(WallClockTest, StopsAfterTheToolSaidSo) {
  Start();
  const uint32_t no = 0;
  ASSERT_EQ(pwrite(fd_, &no, sizeof(no), kSpoolPageSize), 4);
  const std::string task =
      "/proc/self/task/" + std::to_string(wall_clock.tid());
  while (access(task.c_str(), F_OK) == 0) usleep(1000);
  const uint64_t sum_ns = Recorded()[gettid()].sum_ns();
  usleep(50'000);
  Stop();
  EXPECT_EQ(Recorded()[gettid()].sum_ns(), sum_ns);
}

}  // namespace
}  // namespace unspool::collectors
