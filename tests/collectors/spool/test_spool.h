// A spool in a memfd, and short ways to fill it and to take it apart.

#ifndef UNSPOOL_TESTS_COLLECTORS_SPOOL_TEST_SPOOL_H_
#define UNSPOOL_TESTS_COLLECTORS_SPOOL_TEST_SPOOL_H_

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectors/spool/spool_reader.h"
#include "collectors/spool/spool_writer.h"

namespace unspool::collectors {

inline constexpr uint64_t kTestCapacity = 64 << 20;

// A file of no name, of `capacity` bytes if a spool was created in it.
class TestSpool {
 public:
  explicit TestSpool(uint64_t capacity = kTestCapacity)
      : fd_(memfd_create("spool", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    EXPECT_GE(fd_, 0);
    EXPECT_EQ(SpoolWriter::Create(fd_, capacity), SpoolStatus::kOk);
  }
  TestSpool(const TestSpool&) = delete;
  TestSpool& operator=(const TestSpool&) = delete;
  ~TestSpool() { close(fd_); }

  int fd() const { return fd_; }

  // A copy of what has been handed out so far: header, control page, chunks.
  std::vector<uint8_t> Bytes() const {
    SpoolHeader header;
    EXPECT_EQ(pread(fd_, &header, sizeof(header), 0), ssize_t{sizeof(header)});
    std::vector<uint8_t> bytes(
        std::min(header.next_free_page, header.capacity_pages) *
        kSpoolPageSize);
    EXPECT_EQ(pread(fd_, bytes.data(), bytes.size(), 0),
              static_cast<ssize_t>(bytes.size()));
    return bytes;
  }

 private:
  int fd_;
};

inline ImageInfo TestImage(int32_t pid = 4711) {
  static constexpr char kCommandLine[] = "app\0--name\0two words";
  return {.pid = pid,
          .parent_pid = 4700,
          .pid_namespace = 4026531836,
          .start_realtime_ns = 1'700'000'000'000'000'001,
          .start_monotonic_ns = 5'000'000'002,
          .period_ns = 10'000'000,
          .engine = "timer",
          .executable = "/usr/bin/app",
          .command_line = {kCommandLine, sizeof(kCommandLine)}};
}

// A module of one segment; build id bytes are `seed`, `seed` + 1, …
inline unwind::Module TestModule(uint64_t bias, uint64_t size, uint8_t seed,
                                 const char* path) {
  unwind::Module module;
  module.start = bias;
  module.end = bias + size;
  module.bias = bias;
  module.segment_count = 1;
  module.segments[0] = {bias + 0x1000, bias + size, 0x800};
  module.build_id.size = 20;
  for (uint8_t i = 0; i < module.build_id.size; ++i) {
    module.build_id.bytes[i] = seed + i;
  }
  module.path = path;
  return module;
}

// Stack and count as a test compares them: frames leaf first, then the root.
struct ReadSample {
  std::vector<uint64_t> offsets = {};
  uint32_t root = 0;
  uint64_t count = 0;
  uint64_t weight = 0;
  bool operator==(const ReadSample&) const = default;
};

// The offsets from `node` to its root, which goes to *root; nothing if a node
// is missing.
inline std::optional<std::vector<uint64_t>> ReadStack(const SpoolReader& reader,
                                                      size_t image,
                                                      uint32_t node,
                                                      uint32_t* root) {
  std::vector<uint64_t> offsets = {};
  while (node >= kFirstNode) {
    NodeView view;
    if (!reader.NodeChunkOf(image, node).Find(node, &view)) return std::nullopt;
    offsets.push_back(view.offset);
    node = view.parent;
  }
  *root = node;
  return offsets;
}

// All samples of an image by thread, in the order of the file.
inline std::map<int32_t, std::vector<ReadSample>> ReadSamples(
    const SpoolReader& reader, size_t image) {
  std::map<int32_t, std::vector<ReadSample>> samples;
  reader.ForEachThread(image, [&](const ThreadView& thread) {
    auto& list = samples[thread.tid];
    reader.ForEachCounter(image, thread, [&](const CounterView& counter) {
      ReadSample sample{.count = counter.count, .weight = counter.weight};
      auto offsets = ReadStack(reader, image, counter.stack, &sample.root);
      ASSERT_TRUE(offsets.has_value()) << "node " << counter.stack;
      sample.offsets = *offsets;
      list.push_back(sample);
    });
  });
  return samples;
}

inline std::string ToString(TextView text) {
  return {text.begin(), text.end()};
}

}  // namespace unspool::collectors

#endif  // UNSPOOL_TESTS_COLLECTORS_SPOOL_TEST_SPOOL_H_
