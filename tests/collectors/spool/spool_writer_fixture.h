// An open spool with a program, a library and a thread in it.

#ifndef UNSPOOL_TESTS_COLLECTORS_SPOOL_SPOOL_WRITER_FIXTURE_H_
#define UNSPOOL_TESTS_COLLECTORS_SPOOL_SPOOL_WRITER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "collectors/spool/spool_reader.h"
#include "collectors/spool/spool_writer.h"
#include "tests/collectors/spool/test_spool.h"

namespace unspool::collectors {

inline constexpr unwind::ModuleId kApp = 0;
inline constexpr unwind::ModuleId kLib = 7;
inline constexpr uint64_t kAppBias = 0x555500000000;
inline constexpr uint64_t kLibBias = 0x7f1200000000;

class SpoolWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(writer_.Open(spool_.fd(), TestImage()), SpoolStatus::kOk);
    unwind::Module app = TestModule(kAppBias, 0x9000, 0x10, "/usr/bin/app");
    app.is_main = true;
    ASSERT_TRUE(writer_.AddModule(kApp, app));
    ASSERT_TRUE(writer_.AddModule(
        kLib, TestModule(kLibBias, 0x5000, 0x60, "/lib/libx.so")));
    writer_.AddThread(log_, 4712, "worker");
  }
  void TearDown() override { writer_.Close(); }

  // Reads the file as it is now.
  const SpoolReader& Read() {
    bytes_ = spool_.Bytes();
    reader_ = std::make_unique<SpoolReader>();
    EXPECT_EQ(reader_->Open(bytes_), SpoolStatus::kOk);
    return *reader_;
  }

  bool Sample(std::vector<unwind::Frame> frames, unwind::WalkEnd end,
              uint64_t weight) {
    return writer_.AddSample(log_, SampleKind::kCpu,
                             writer_.AddStack(frames, end), weight);
  }

  TestSpool spool_;
  SpoolWriter writer_;
  ThreadLog log_;
  std::vector<uint8_t> bytes_;
  std::unique_ptr<SpoolReader> reader_;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_TESTS_COLLECTORS_SPOOL_SPOOL_WRITER_FIXTURE_H_
