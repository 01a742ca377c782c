#include "profiler/agent/output_name.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <cstddef>

namespace unspool::profiler {
namespace {

// Appends to a bounded path; sticky when full.
class PathBuilder {
 public:
  explicit PathBuilder(OutputName* name) : name_(name) {}

  void Append(const char* text, size_t size) {
    if (size_ + size >= sizeof(name_->text)) is_full_ = true;
    if (is_full_) return;
    memcpy(name_->text + size_, text, size);
    size_ += size;
    name_->text[size_] = '\0';
  }
  void Append(const char* text) { Append(text, strlen(text)); }
  void Append(uint64_t number) {
    char digits[24];
    snprintf(digits, sizeof(digits), "%llu",
             static_cast<unsigned long long>(number));
    Append(digits);
  }
  // A value that is not ours to choose must not add directories.
  void AppendName(const char* text) {
    for (; *text != '\0'; ++text) Append(*text == '/' ? "_" : text, 1);
  }

  bool is_full() const { return is_full_; }

 private:
  OutputName* name_;
  size_t size_ = 0;
  bool is_full_ = false;
};

// False: not a letter that we know.
bool AppendExpansion(char letter, const OutputFacts& facts, PathBuilder* path) {
  switch (letter) {
    case 'p':
      path->Append(static_cast<uint64_t>(facts.pid));
      return true;
    case 'n':
      path->AppendName(facts.program);
      return true;
    case 't':
      path->Append(facts.time_s);
      return true;
    case 'h':
      path->AppendName(facts.host);
      return true;
    case '%':
      path->Append("%");
      return true;
    default:
      return false;
  }
}

bool EndsWith(const char* text, const char* ending) {
  const size_t size = strlen(text);
  const size_t ending_size = strlen(ending);
  return size >= ending_size && strcmp(text + size - ending_size, ending) == 0;
}

// Where the ending of the pattern begins; its end if there is none.
const char* FindEnding(const char* pattern) {
  const char* end = pattern + strlen(pattern);
  if (EndsWith(pattern, ".pb.gz")) return end - strlen(".pb.gz");
  const char* slash = strrchr(pattern, '/');
  const char* base = slash != nullptr ? slash + 1 : pattern;
  const char* dot = strrchr(base, '.');
  return dot != nullptr && dot != base ? dot : end;
}

bool HasPid(const char* pattern) {
  for (const char* at = pattern; *at != '\0'; ++at) {
    if (*at != '%') continue;
    if (*++at == 'p') return true;
    if (*at == '\0') return false;
  }
  return false;
}

}  // namespace

Problem ExpandOutput(const char* pattern, const OutputFacts& facts,
                     OutputName* name) {
  PathBuilder path(name);
  if (*pattern != '/') {
    path.Append(facts.directory);
    path.Append("/");
  }
  const bool inserts_pid = !facts.is_first_process && !HasPid(pattern);
  const char* ending = inserts_pid ? FindEnding(pattern) : nullptr;
  for (const char* at = pattern;; ++at) {
    if (at == ending) {
      path.Append(".");
      path.Append(static_cast<uint64_t>(facts.pid));
    }
    if (*at == '\0') break;
    if (*at != '%') {
      path.Append(at, 1);
    } else if (!AppendExpansion(*++at, facts, &path)) {
      return MakeProblem(EINVAL,
                         "the output %s is not a file name with %%p, %%n, %%t "
                         "or %%h for patterns and %%%% for a %%",
                         pattern);
    }
  }
  if (path.is_full()) {
    return MakeProblem(ENAMETOOLONG,
                       "the output %.64s… is not a file name: it is too long",
                       pattern);
  }
  return {};
}

bool WantsGzip(const char* name) { return !EndsWith(name, ".pb"); }

}  // namespace unspool::profiler
