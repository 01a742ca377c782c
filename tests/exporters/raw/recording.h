// Records stacks into a spool in few words: one image after the other.

#ifndef UNSPOOL_TESTS_EXPORTERS_RAW_RECORDING_H_
#define UNSPOOL_TESTS_EXPORTERS_RAW_RECORDING_H_

#include <initializer_list>
#include <memory>
#include <vector>

#include "collectors/spool/spool_writer.h"
#include "tests/collectors/spool/test_spool.h"

namespace unspool::exporters {

class Recording {
 public:
  // Begins an image; its threads and modules are those added from now on.
  void BeginImage(const collectors::ImageInfo& info) {
    EndImage();
    logs_.clear();
    EXPECT_EQ(writer_.Open(spool_.fd(), info), collectors::SpoolStatus::kOk);
  }
  void EndImage() {
    if (writer_.sampling_wanted()) writer_.Close();
  }

  collectors::ThreadLog& AddThread(int32_t tid, const char* name) {
    logs_.push_back(std::make_unique<collectors::ThreadLog>());
    writer_.AddThread(*logs_.back(), tid, name);
    return *logs_.back();
  }

  // `count` samples that weigh `weight_ns` each.
  void Sample(collectors::ThreadLog& log, std::vector<unwind::Frame> frames,
              unwind::WalkEnd end, uint64_t weight_ns, int count = 1) {
    const collectors::NodeId stack = writer_.AddStack(frames, end);
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(writer_.AddSample(log, collectors::SampleKind::kCpu, stack,
                                    weight_ns));
    }
  }

  collectors::SpoolWriter& writer() { return writer_; }
  std::vector<uint8_t> Bytes() const { return spool_.Bytes(); }
  int fd() const { return spool_.fd(); }

 private:
  collectors::TestSpool spool_{uint64_t{256} << 20};
  collectors::SpoolWriter writer_;
  std::vector<std::unique_ptr<collectors::ThreadLog>> logs_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_TESTS_EXPORTERS_RAW_RECORDING_H_
