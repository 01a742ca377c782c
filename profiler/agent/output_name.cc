#include "profiler/agent/output_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

// Names what a symbolic link names, whether that is there or not.
bool FollowLink(OutputName* name) {
  OutputName target;
  char* text = target.text;
  char* const slash = strrchr(name->text, '/');
  const ssize_t size = readlink(name->text, text, sizeof(target.text) - 1);
  if (size <= 0 || slash == nullptr) return false;
  if (text[0] != '/') {
    const auto folder = static_cast<size_t>(slash + 1 - name->text);
    if (folder + static_cast<size_t>(size) >= sizeof(target.text)) return false;
    memmove(text + folder, text, static_cast<size_t>(size) + 1);
    memcpy(text, name->text, folder);
  }
  *name = target;
  return true;
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

void ResolveLinks(OutputName* name) {
  constexpr int kMaxLinks = 40;  // as path_resolution(7)
  struct stat status;
  OutputName end = *name;
  for (int links = 0; stat(end.text, &status) != 0; ++links) {
    if (links == kMaxLinks) return;  // they lead in a circle
    if (FollowLink(&end)) continue;
    *name = end;
    return;
  }
  if (S_ISREG(status.st_mode) && realpath(name->text, end.text) != nullptr) {
    *name = end;
  }
}

bool WantsGzip(const char* name) { return !EndsWith(name, ".pb"); }

}  // namespace unspool::profiler
