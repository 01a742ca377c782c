#include "profiler/cli/unnamed.h"

#include <string>
#include <string_view>

#include "profiler/cli/message.h"

namespace unspool::profiler {

void TellUnnamed(const exporters::Profile& profile, size_t first) {
  constexpr std::string_view kKey = "unspool.unnamed=";
  for (size_t i = first; i < profile.comments.size(); ++i) {
    const std::string_view comment = profile.strings[profile.comments[i]];
    if (comment.starts_with(kKey)) {
      Tell("names are missing: " + OneLine(comment.substr(kKey.size())));
    }
  }
}

}  // namespace unspool::profiler
