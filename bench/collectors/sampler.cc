#include "bench/collectors/sampler.h"

#include <sys/mman.h>
#include <unistd.h>

#include "collectors/capture.h"
#include "collectors/recorder.h"
#include "collectors/spool/spool_writer.h"
#include "collectors/thread_state.h"

namespace unspool::bench {
namespace {

constexpr uint64_t kSpoolBytes = uint64_t{1} << 30;
constexpr uint64_t kPeriodNs = 10'000'000;
constexpr uint32_t kMaxDepth = 1024;

constinit collectors::SpoolWriter writer;
constinit collectors::Recorder recorder;
thread_local collectors::ThreadState thread;

[[gnu::noinline]] size_t RecordSample(std::span<uint64_t>) {
  const collectors::Capture capture{&thread, unwind::Registers::Here(),
                                    thread_bounds()};
  recorder.Record(capture, collectors::SampleKind::kCpu, kPeriodNs);
  return 1;
}

}  // namespace

const Walker kSampler = {"sample", RecordSample};

Recording::Recording() {
  const int fd = memfd_create("unspool_bench", MFD_CLOEXEC);
  collectors::ImageInfo info;
  info.pid = getpid();
  info.period_ns = kPeriodNs;
  if (fd < 0 ||
      collectors::SpoolWriter::Create(fd, kSpoolBytes) !=
          collectors::SpoolStatus::kOk ||
      writer.Open(fd, info) != collectors::SpoolStatus::kOk) {
    Fail("cannot open a spool in memory");
  }
  close(fd);
  recorder.Begin(self_unwinder(), writer);
  thread.max_depth = kMaxDepth;
  if (!thread.Reserve(kMaxDepth)) {
    Fail("no memory for frames");
  }
  recorder.AddThread(thread, gettid());
}

Recording::~Recording() { writer.Close(); }

}  // namespace unspool::bench
