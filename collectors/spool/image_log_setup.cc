// Preparing the image's record, outside any handler.

#include <sys/utsname.h>

#include <algorithm>
#include <cstring>

#include "collectors/spool/image_log.h"

namespace unspool::collectors {

void ImageLog::Prepare(const ImageInfo& info) {
  utsname host;
  if (uname(&host) != 0) host.nodename[0] = '\0';
  const auto text = [](const char* from) {
    return Text(from, strnlen(from, kMaxText));
  };
  const Text texts[kTexts] = {text(info.engine), text(info.executable),
                              info.command_line.first(std::min(
                                  info.command_line.size(), kMaxCommandLine)),
                              text(host.nodename)};
  char* next = bytes_;
  for (size_t i = 0; i < kTexts; ++i) {
    if (!texts[i].empty()) memcpy(next, texts[i].data(), texts[i].size());
    texts_[i] = Text(next, texts[i].size());
    next += texts[i].size();
  }
  KeepFacts(info);
}

void ImageLog::PrepareAfterFork(const ImageInfo& info) { KeepFacts(info); }

void ImageLog::KeepFacts(const ImageInfo& info) {
  info_ = info;
  info_.engine = info_.executable = "";
  info_.command_line = {};
  comm_ = CutName(info.comm);
  record_.store(nullptr, std::memory_order_relaxed);
}

void ImageLog::Reset() { record_.store(nullptr, std::memory_order_relaxed); }

}  // namespace unspool::collectors
