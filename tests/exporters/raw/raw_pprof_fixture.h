// A recording with a program and a library, for tests of what it becomes.

#ifndef UNSPOOL_TESTS_EXPORTERS_RAW_RAW_PPROF_FIXTURE_H_
#define UNSPOOL_TESTS_EXPORTERS_RAW_RAW_PPROF_FIXTURE_H_

#include <gtest/gtest.h>

#include "exporters/raw/raw_pprof.h"
#include "tests/exporters/raw/recording.h"
#include "tests/exporters/raw/written_profile.h"

namespace unspool::exporters {

inline constexpr uint64_t kApp = 0x555500000000;  // segment from + 0x1000
inline constexpr uint64_t kLib = 0x7f1200000000;

// A recording of one image with a program (module 3) and a library (module 1).
class RawPprofTest : public ::testing::Test {
 protected:
  void SetUp() override { Begin(collectors::TestImage(), kApp, kLib); }

  void Begin(const collectors::ImageInfo& info, uint64_t app, uint64_t lib) {
    recording_.BeginImage(info);
    unwind::Module program =
        collectors::TestModule(app, 0x9000, 0xa0, "/usr/bin/app");
    program.is_main = true;
    ASSERT_TRUE(recording_.writer().AddModule(
        1, collectors::TestModule(lib, 0x5000, 0x0b, "/lib/libx.so")));
    ASSERT_TRUE(recording_.writer().AddModule(3, program));
  }

  WrittenProfile Write(const RawOptions& options = {}) {
    WrittenProfile written(recording_.Bytes(), options);
    ExpectValid(written);
    return written;
  }

  Recording recording_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_TESTS_EXPORTERS_RAW_RAW_PPROF_FIXTURE_H_
