// What a sample costs as one thing grows: unspool_growth WHAT COUNT, where WHAT
// is
//
//   threads   that are sampled at once, on stacks of 30 functions
//   stacks    that are distinct: the last thousand of them
//   samples   of 10,000 distinct stacks in turn: the last thousand
//   depth     of a stack
//   modules   that 30 functions lie in, of those loaded at start whose file is
//             named link-*.so (link.S; growth.py preloads copies of it)
//   stop      stacks that are written as a raw profile
//
// Prints a JSON object with medians.

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/collectors/sampler.h"
#include "bench/unwind/timed_walk.h"
#include "exporters/raw/raw_pprof.h"

namespace unspool::bench {
namespace {

constexpr size_t kDepth = 30;
constexpr size_t kChanging = 10;  // innermost functions of a distinct stack
constexpr size_t kWalks = 2000;
constexpr size_t kLast = 1000;
constexpr size_t kDistinct = 10000;
constexpr uint32_t kMaxDepth = 65536;

std::vector<double> TimeWalks(TimedWalk& walk, size_t count,
                              const std::function<Chain(size_t)>& chain) {
  std::vector<double> seconds;
  for (size_t i = 0; i < count; ++i) {
    CallThroughChain(chain(i), TimeWalk<0>, &walk);
    seconds.push_back(walk.watch.seconds());
  }
  return seconds;
}

// `body` on a thread that a recording samples by hand.
void RunSampled(Recording& recording, const std::function<void()>& body) {
  collectors::ThreadState* const state = recording.PrepareThread();
  RunOnOwnThread([&] {
    InitThread();
    recording.EnterThread(*state);
    body();
    recording.LeaveThread(*state);
  });
}

void GrowThreads(size_t count) {
  Recording recording(kMaxDepth);
  std::vector<double> medians(count);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < count; ++i) {
    collectors::ThreadState* const state = recording.PrepareThread();
    threads.emplace_back([&recording, &medians, state, i] {
      recording.EnterThread(*state);
      const Chain chain = MakeChain(Layout::kMixed, kDepth, i);
      TimedWalk walk(kSampler, 1);
      std::vector<double> seconds =
          TimeWalks(walk, 10 * kWalks, [&](size_t) { return chain; });
      medians[i] = MedianNs(seconds);
      recording.LeaveThread(*state);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::nth_element(medians.begin(), medians.begin() + count / 2, medians.end());
  std::printf("{\"sample_ns\": %.1f}\n", medians[count / 2]);
}

struct Samples {
  TimedWalk walk{kSampler, 1};
  size_t count;
  size_t distinct;  // stacks that they are of, in turn
  std::vector<double> last{};
};

void Record(const void* const*) {
  auto& samples = *static_cast<Samples*>(chain_context());
  for (size_t i = 0; i < samples.count; ++i) {
    CallThroughChain(MakeChain(Layout::kMixed, kChanging, i % samples.distinct),
                     TimeWalk<0>, &samples.walk);
    if (i + kLast >= samples.count) {
      samples.last.push_back(samples.walk.watch.seconds());
    }
  }
}

// The last of them.
double RecordSamples(Recording& recording, size_t count, size_t distinct) {
  double median_ns = 0;
  RunSampled(recording, [&] {
    Samples samples{.count = count, .distinct = distinct};
    CallThroughChain(MakeChain(Layout::kMixed, kDepth - kChanging, 1), Record,
                     &samples);
    median_ns = MedianNs(samples.last);
  });
  return median_ns;
}

void GrowStacks(size_t count) {
  Recording recording(kMaxDepth);
  std::printf("{\"sample_ns\": %.1f}\n",
              RecordSamples(recording, count, count));
}

void GrowSamples(size_t count) {
  Recording recording(kMaxDepth);
  std::printf("{\"sample_ns\": %.1f}\n",
              RecordSamples(recording, count, kDistinct));
}

// Where the return addresses of the stack below are, and what they are.
struct KnownReturn {
  uint64_t place = 0;
  uint64_t address = 0;
};
std::vector<KnownReturn> known_returns;

// Follows frame pointers once; then compares each return address with what it
// was: what no check of a whole stack can do without.
[[gnu::noinline]] size_t CompareReturns(const ucontext_t& context,
                                        std::span<uint64_t>) {
  if (known_returns.empty()) {
    auto fp = static_cast<uint64_t>(context.uc_mcontext.gregs[REG_RBP]);
    while (fp < frame_limit()) {
      const auto* slot = reinterpret_cast<const uint64_t*>(fp);
      known_returns.push_back({fp + sizeof(uint64_t), slot[1]});
      fp = slot[0];
    }
  }
  size_t same = 0;
  for (const KnownReturn& known : known_returns) {
    same += *reinterpret_cast<const volatile uint64_t*>(known.place) ==
            known.address;
  }
  if (same != known_returns.size()) Fail("the stack is another one");
  return same;
}
constexpr Walker kComparer = {"comparer", CompareReturns, nullptr, true, true};

// One stack, again and again.
void GrowDepth(size_t count) {
  known_returns.reserve(count + 64);
  Recording recording(kMaxDepth);
  RunSampled(recording, [&] {
    const Chain chain = MakeChain(Layout::kMixed, count, 1);
    const auto same = [&](const Walker& walker, const char* name) {
      TimedWalk walk(walker, count + 64);
      std::vector<double> seconds =
          TimeWalks(walk, 200, [&](size_t) { return chain; });
      std::printf("\"%s\": %.1f, ", name, MedianNs(seconds));
    };
    std::printf("{");
    same(kComparer, "compare_ns");
    same(kFramePointer, "frame_pointer_ns");
    same(kSampler, "sample_ns");
    std::printf("\"frames\": %zu}\n", count);
  });
}

struct Links {
  uint64_t offset = 0;  // of the function in each
  Chain functions{};
};

int AddLink(dl_phdr_info* info, size_t, void* argument) {
  auto& links = *static_cast<Links*>(argument);
  if (std::string_view(info->dlpi_name).find("/link-") !=
      std::string_view::npos) {
    links.functions.push_back(
        reinterpret_cast<ChainFunction>(info->dlpi_addr + links.offset));
  }
  return 0;
}

// All of them hold the same function at the same place.
Chain FindLinks() {
  void* first = dlsym(RTLD_DEFAULT, "unspool_bench_link");
  Dl_info info;
  if (first == nullptr || dladdr(first, &info) == 0) {
    Fail("no link-*.so is preloaded");
  }
  Links links{.offset = reinterpret_cast<uint64_t>(first) -
                        reinterpret_cast<uint64_t>(info.dli_fbase)};
  dl_iterate_phdr(AddLink, &links);
  return links.functions;
}

void GrowModules(size_t count) {
  const Chain links = FindLinks();
  if (links.size() < count) Fail("too few link-*.so are preloaded");
  RunOnOwnThread([&] {
    InitThread();
    std::mt19937_64 random(1);
    TimedWalk walk(kUnspool, kDepth + 64);
    std::vector<double> seconds = TimeWalks(walk, 10 * kWalks, [&](size_t) {
      Chain chain(kDepth);
      for (ChainFunction& link : chain) link = links[random() % count];
      return chain;
    });
    if (walk.frames < kDepth) Fail("a walk ended early");
    std::printf("{\"frame_ns\": %.2f}\n",
                MedianNs(seconds) / static_cast<double>(walk.frames));
  });
}

bool CountBytes(void* context, const void*, size_t size) {
  *static_cast<size_t*>(context) += size;
  return true;
}

// The least of some: what else the machine does only ever adds.
void Stop(size_t count) {
  constexpr int kWrites = 5;
  Recording recording(kMaxDepth);
  RecordSamples(recording, count, count);
  exporters::RawOptions options;
  options.gzip = true;
  size_t bytes = 0;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kWrites; ++i) {
    bytes = 0;
    exporters::RawTotals totals;
    Stopwatch watch;
    watch.Start();
    const exporters::RawStatus status = exporters::WriteRawPprof(
        recording.bytes(), options, {CountBytes, &bytes}, &totals);
    watch.Stop();
    // The main thread may have been sampled, too.
    if (status != exporters::RawStatus::kOk || totals.samples < count) {
      Fail("the profile is not whole");
    }
    least = std::min(least, watch.seconds());
  }
  std::printf("{\"stop_ms\": %.1f, \"bytes\": %zu}\n", least * 1e3, bytes);
}

int Main(const char* what, size_t count) {
  struct Part {
    const char* name;
    void (*grow)(size_t count);
  };
  for (const Part& part : {Part{"threads", GrowThreads},
                           {"stacks", GrowStacks},
                           {"samples", GrowSamples},
                           {"depth", GrowDepth},
                           {"modules", GrowModules},
                           {"stop", Stop}}) {
    if (std::strcmp(part.name, what) != 0 || count == 0) continue;
    kUnspool.init();
    part.grow(count);
    return 0;
  }
  std::fprintf(
      stderr,
      "usage: unspool_growth threads|stacks|samples|depth|modules|stop "
      "COUNT\n");
  return 2;
}

}  // namespace
}  // namespace unspool::bench

int main(int argc, char** argv) {
  return unspool::bench::Main(
      argc == 3 ? argv[1] : "",
      argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0);
}
