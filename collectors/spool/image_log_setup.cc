// Preparing the image's record, outside any handler.

#include <sys/utsname.h>

#include <algorithm>
#include <cstring>

#include "collectors/spool/image_log.h"

namespace unspool::collectors {

namespace {

// A longer command line is cut.
constexpr size_t kMaxCommandLine = 8192;
constexpr size_t kMaxText = 4096;

std::span<const char> CutText(const char* text) {
  return {text, strnlen(text, kMaxText)};
}

}  // namespace

void ImageLog::Prepare(const ImageInfo& info) {
  utsname host;
  if (uname(&host) != 0) host.nodename[0] = '\0';
  static_assert(sizeof(host.nodename) == sizeof(hostname_));
  memcpy(hostname_, host.nodename, sizeof(hostname_));
  info_ = info;
  comm_ = CutName(info.comm);
  texts_[0] = CutText(info.engine);
  texts_[1] = CutText(info.executable);
  texts_[2] = info.command_line.first(
      std::min(info.command_line.size(), kMaxCommandLine));
  texts_[3] = CutText(hostname_);
  record_.store(nullptr, std::memory_order_relaxed);
}

void ImageLog::Reset() { record_.store(nullptr, std::memory_order_relaxed); }

}  // namespace unspool::collectors
