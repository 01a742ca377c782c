#include "exporters/raw/profile_stream.h"

namespace unspool::exporters::raw {

void ProfileStream::Flush() {
  const auto bytes = buffer_.bytes();
  if (status_ == RawStatus::kOk && !buffer_.ok()) {
    status_ = RawStatus::kNoMemory;
  } else if (status_ == RawStatus::kOk && !bytes.empty() &&
             !sink_.write(sink_.context, bytes.data(), bytes.size())) {
    status_ = RawStatus::kSinkFailed;
  }
  buffer_.Clear();
}

}  // namespace unspool::exporters::raw
