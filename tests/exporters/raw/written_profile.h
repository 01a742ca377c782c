// A raw profile, written and decoded again by protoc's code.

#ifndef UNSPOOL_TESTS_EXPORTERS_RAW_WRITTEN_PROFILE_H_
#define UNSPOOL_TESTS_EXPORTERS_RAW_WRITTEN_PROFILE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "exporters/raw/raw_pprof.h"
#include "profile.pb.h"

namespace unspool::exporters {

inline bool AppendToString(void* context, const void* data, size_t size) {
  static_cast<std::string*>(context)->append(static_cast<const char*>(data),
                                             size);
  return true;
}

inline RawStatus WriteToString(std::span<const uint8_t> spool,
                               const RawOptions& options, std::string* out,
                               RawTotals* totals = nullptr) {
  return WriteRawPprof(spool, options, {AppendToString, out}, totals);
}

class WrittenProfile {
 public:
  explicit WrittenProfile(std::span<const uint8_t> spool,
                          const RawOptions& options = {}) {
    std::string bytes;
    EXPECT_EQ(WriteToString(spool, options, &bytes, &totals_), RawStatus::kOk);
    EXPECT_TRUE(profile_.ParseFromString(bytes));
  }

  const RawTotals& totals() const { return totals_; }
  const perftools::profiles::Profile& proto() const { return profile_; }
  const std::string& text(int64_t index) const {
    return profile_.string_table(static_cast<int>(index));
  }
  const perftools::profiles::Location& location(uint64_t id) const {
    return profile_.location(static_cast<int>(id) - 1);
  }
  const perftools::profiles::Mapping& mapping(uint64_t id) const {
    return profile_.mapping(static_cast<int>(id) - 1);
  }

  // The frame as "file+0xaddress", or the function's name.
  std::string Frame(uint64_t location_id) const {
    const auto& where = location(location_id);
    if (where.line_size() > 0) {
      return text(
          profile_.function(static_cast<int>(where.line(0).function_id()) - 1)
              .name());
    }
    char address[32];
    snprintf(address, sizeof(address), "+0x%llx",
             static_cast<unsigned long long>(where.address()));
    return text(mapping(where.mapping_id()).filename()) + address;
  }

  // Leaf first, ';' between frames → {samples, cpu}, summed over labels.
  std::map<std::string, std::vector<int64_t>> Stacks() const {
    std::map<std::string, std::vector<int64_t>> stacks;
    for (const auto& sample : profile_.sample()) {
      std::string stack;
      for (const uint64_t id : sample.location_id()) {
        if (!stack.empty()) stack += ';';
        stack += Frame(id);
      }
      auto& values = stacks[stack];
      values.resize(2);
      for (int i = 0; i < 2; ++i) values[i] += sample.value(i);
    }
    return stacks;
  }

  // Label → value (numbers in decimal) of one sample.
  std::map<std::string, std::string> Labels(int sample) const {
    std::map<std::string, std::string> labels;
    for (const auto& label : profile_.sample(sample).label()) {
      labels[text(label.key())] =
          label.str() != 0 ? text(label.str()) : std::to_string(label.num());
    }
    return labels;
  }

  // Comments by key, without "unspool.".
  std::map<std::string, std::string> Comments() const {
    std::map<std::string, std::string> comments;
    for (const int64_t index : profile_.comment()) {
      const std::string& comment = text(index);
      const size_t equals = comment.find('=');
      EXPECT_EQ(comment.rfind("unspool.", 0), 0u) << comment;
      EXPECT_NE(equals, std::string::npos) << comment;
      comments[comment.substr(8, equals - 8)] = comment.substr(equals + 1);
    }
    return comments;
  }

  // What follows `start`, of the comments that begin with it.
  std::vector<std::string> Texts(const std::string& start) const {
    std::vector<std::string> texts;
    for (const int64_t index : profile_.comment()) {
      if (text(index).rfind(start, 0) != 0) continue;
      texts.push_back(text(index).substr(start.size()));
    }
    return texts;
  }

 private:
  perftools::profiles::Profile profile_;
  RawTotals totals_;
};

// What design and format ask of every profile: ids from 1 without gaps, every
// location in a mapping that contains it, all references valid.
inline void ExpectValid(const WrittenProfile& written) {
  const auto& profile = written.proto();
  ASSERT_GT(profile.string_table_size(), 0);
  EXPECT_EQ(profile.string_table(0), "");
  for (int i = 0; i < profile.mapping_size(); ++i) {
    EXPECT_EQ(profile.mapping(i).id(), static_cast<uint64_t>(i) + 1);
    EXPECT_LT(profile.mapping(i).memory_start(),
              profile.mapping(i).memory_limit());
    EXPECT_NE(written.text(profile.mapping(i).filename()), "");
  }
  for (int i = 0; i < profile.function_size(); ++i) {
    EXPECT_EQ(profile.function(i).id(), static_cast<uint64_t>(i) + 1);
  }
  for (int i = 0; i < profile.location_size(); ++i) {
    const auto& location = profile.location(i);
    EXPECT_EQ(location.id(), static_cast<uint64_t>(i) + 1);
    ASSERT_GE(location.mapping_id(), 1u);
    ASSERT_LE(location.mapping_id(),
              static_cast<uint64_t>(profile.mapping_size()));
    const auto& mapping = written.mapping(location.mapping_id());
    EXPECT_GE(location.address(), mapping.memory_start());
    EXPECT_LT(location.address(), mapping.memory_limit());
    EXPECT_EQ(location.line_size() > 0, mapping.has_functions());
  }
  for (const auto& sample : profile.sample()) {
    EXPECT_EQ(sample.value_size(), profile.sample_type_size());
    for (const uint64_t id : sample.location_id()) {
      ASSERT_GE(id, 1u);
      ASSERT_LE(id, static_cast<uint64_t>(profile.location_size()));
    }
  }
}

}  // namespace unspool::exporters

#endif  // UNSPOOL_TESTS_EXPORTERS_RAW_WRITTEN_PROFILE_H_
