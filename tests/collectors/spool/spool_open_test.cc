// Files that are no spool, or have no room for one.

#include <gtest/gtest.h>
#include <unistd.h>

#include "collectors/spool/spool_writer.h"
#include "tests/collectors/spool/test_spool.h"

namespace unspool::collectors {
namespace {

TEST(SpoolOpen, CreateSaysWhyItCannot) {
  const int good = memfd_create("spool", MFD_CLOEXEC);
  const int closed = memfd_create("closed", MFD_CLOEXEC);
  close(closed);
  const struct {
    const char* name;
    int fd;
    uint64_t capacity;
    SpoolStatus expected;
  } kRows[] = {
      {"nothing", good, 0, SpoolStatus::kTooSmall},
      {"no room for an image", good, 7 * kSpoolPageSize,
       SpoolStatus::kTooSmall},
      {"closed", closed, kTestCapacity, SpoolStatus::kBadDescriptor},
      {"least", good, 8 * kSpoolPageSize, SpoolStatus::kOk},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(SpoolWriter::Create(row.fd, row.capacity), row.expected)
        << row.name;
  }
  close(good);
}

TEST(SpoolOpen, OpenSaysWhyItCannot) {
  const auto open_bytes = [](const void* data, size_t size, off_t file_size) {
    const int fd = memfd_create("spool", MFD_CLOEXEC);
    EXPECT_EQ(pwrite(fd, data, size, 0), static_cast<ssize_t>(size));
    EXPECT_EQ(ftruncate(fd, file_size), 0);
    SpoolWriter writer;
    const SpoolStatus status = writer.Open(fd, TestImage());
    EXPECT_FALSE(writer.sampling_wanted());
    close(fd);
    return status;
  };
  const SpoolHeader good{kSpoolMagic, kSpoolVersion, sizeof(SpoolHeader), 64,
                         kFirstChunkPage};
  SpoolHeader foreign = good;
  foreign.magic = 1;
  SpoolHeader newer = good;
  newer.version = 2;
  SpoolHeader used_up = good;
  used_up.next_free_page = 64;
  SpoolHeader overflown = good;
  overflown.next_free_page = ~uint64_t{0} - 1;
  SpoolHeader no_pages = good;
  no_pages.capacity_pages = 0;
  constexpr off_t kSize = 64 * kSpoolPageSize;
  const struct {
    const char* name;
    SpoolHeader header;
    off_t file_size;
    SpoolStatus expected;
  } kRows[] = {
      {"empty", good, 0, SpoolStatus::kNotASpool},
      {"short header", good, 16, SpoolStatus::kNotASpool},
      {"foreign", foreign, kSize, SpoolStatus::kNotASpool},
      {"newer", newer, kSize, SpoolStatus::kWrongVersion},
      {"no capacity", no_pages, kSize, SpoolStatus::kTooSmall},
      {"file shorter than it says", good, 2 * kSpoolPageSize,
       SpoolStatus::kTooSmall},
      {"used up", used_up, kSize, SpoolStatus::kTooSmall},
      {"overflown", overflown, kSize, SpoolStatus::kTooSmall},
  };
  for (const auto& row : kRows) {
    EXPECT_EQ(open_bytes(&row.header, sizeof(row.header), row.file_size),
              row.expected)
        << row.name;
  }
  SpoolWriter writer;
  EXPECT_EQ(writer.Open(-1, TestImage()), SpoolStatus::kBadDescriptor);
}

}  // namespace
}  // namespace unspool::collectors
