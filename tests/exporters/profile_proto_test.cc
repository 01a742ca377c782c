// Our profile.proto and Debian's, as protoc understands both.

#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <string>
#include <tuple>

namespace unspool::exporters {
namespace {

using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;

// name, number -> label, type, type's name
using Fields = std::map<std::tuple<std::string, std::string, int>,
                        std::tuple<int, int, std::string>>;

FileDescriptorProto Read(const std::string& name) {
  std::ifstream in(UNSPOOL_DESCRIPTORS "/" + name, std::ios::binary);
  FileDescriptorSet set;
  EXPECT_TRUE(set.ParseFromIstream(&in));
  EXPECT_EQ(set.file_size(), 1);
  return set.file_size() == 1 ? set.file(0) : FileDescriptorProto();
}

Fields FieldsOf(const FileDescriptorProto& file) {
  Fields fields;
  for (const auto& message : file.message_type()) {
    for (const auto& field : message.field()) {
      fields[{message.name(), field.name(), field.number()}] = {
          field.label(), field.type(), field.type_name()};
    }
  }
  return fields;
}

TEST(ProfileProto, HasTheNamesNumbersAndTypesOfDebiansCopy) {
  const FileDescriptorProto ours = Read("ours.pb");
  const FileDescriptorProto debian = Read("debian.pb");
  EXPECT_EQ(ours.package(), debian.package());
  EXPECT_EQ(ours.syntax(), debian.syntax());
  EXPECT_EQ(ours.message_type_size(), 8);
  EXPECT_EQ(FieldsOf(ours), FieldsOf(debian));
}

}  // namespace
}  // namespace unspool::exporters
