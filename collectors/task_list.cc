#include "collectors/task_list.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "collectors/optional_calls.h"

namespace unspool::collectors {
namespace {

constexpr char kTaskDirectory[] = "/proc/self/task";

int OpenForReading(const char* path, int flags = 0) {
  if (!IsAllowed(OptionalCall::kFiles)) return -1;
  return static_cast<int>(
      syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | flags));
}

void CloseRaw(int fd) { syscall(SYS_close, fd); }

// "/proc/self/task/TID/FILE"; `file` is at most 11 bytes.
class TaskPath {
 public:
  TaskPath(int32_t tid, const char* file) {
    char digits[12];
    size_t count = 0;
    for (uint32_t rest = static_cast<uint32_t>(tid); rest != 0; rest /= 10) {
      digits[count++] = static_cast<char>('0' + rest % 10);
    }
    size_t at = sizeof(kTaskDirectory) - 1;
    std::memcpy(text_, kTaskDirectory, at);
    text_[at++] = '/';
    while (count != 0) text_[at++] = digits[--count];
    text_[at++] = '/';
    std::memcpy(text_ + at, file, std::strlen(file) + 1);
  }
  const char* text() const { return text_; }

 private:
  char text_[40];
};

// Reads at most `size` bytes of the file's beginning; 0 on failure.
size_t ReadBeginning(const char* path, char* buffer, size_t size) {
  const int fd = OpenForReading(path);
  if (fd < 0) return 0;
  const long count = syscall(SYS_read, fd, buffer, size);
  CloseRaw(fd);
  return count < 0 ? 0 : static_cast<size_t>(count);
}

// The directory entry of getdents64(2); d_name is a decimal number, or "." or
// "..", which give 0.
struct DirectoryEntry {
  uint64_t inode;
  int64_t offset;
  uint16_t size;
  uint8_t type;
  char name[];
};

int32_t ParseTid(const char* name) {
  int32_t tid = 0;
  for (; *name >= '0' && *name <= '9'; ++name) tid = tid * 10 + (*name - '0');
  return tid;
}

// The number that begins `fields` fields, separated by one blank each, after
// `text`; 0 if there is none before `end`.
uint64_t ParseField(const char* text, const char* end, int fields) {
  for (; text != end && fields != 0; ++text) {
    if (*text == ' ') --fields;
  }
  uint64_t value = 0;
  for (; text != end && *text >= '0' && *text <= '9'; ++text) {
    value = value * 10 + static_cast<uint64_t>(*text - '0');
  }
  return value;
}

// /proc/self/task/TID/stat from the end of the name on, which is field 2, in
// parentheses, and may hold any byte (proc(5)).
class TaskStat {
 public:
  explicit TaskStat(int32_t tid) {
    const size_t size = ReadTaskFile(tid, "stat", text_, sizeof(text_));
    const void* name_end = memrchr(text_, ')', size);
    if (name_end == nullptr) return;
    name_end_ = static_cast<const char*>(name_end);
    end_ = text_ + size;
  }

  // The parenthesis; end() if there is nothing to be read.
  const char* name_end() const { return name_end_; }
  const char* end() const { return end_; }

 private:
  char text_[1024];
  const char* name_end_ = text_;
  const char* end_ = text_;
};

}  // namespace

TaskList::TaskList() : fd_(OpenForReading(kTaskDirectory, O_DIRECTORY)) {}

TaskList::~TaskList() {
  if (fd_ >= 0) CloseRaw(fd_);
}

int32_t TaskList::Next() {
  while (fd_ >= 0) {
    if (next_ >= used_) {
      const long count =
          syscall(SYS_getdents64, fd_, buffer_.data(), buffer_.size());
      if (count <= 0) return 0;
      used_ = static_cast<size_t>(count);
      next_ = 0;
    }
    const auto* entry =
        reinterpret_cast<const DirectoryEntry*>(buffer_.data() + next_);
    next_ += entry->size;
    const int32_t tid = ParseTid(entry->name);
    if (tid != 0) return tid;
  }
  return 0;
}

uint32_t CountTasks() {
  if (!IsAllowed(OptionalCall::kFiles)) return 0;
  struct stat status;
  if (syscall(SYS_newfstatat, AT_FDCWD, kTaskDirectory, &status, 0) != 0 ||
      status.st_nlink < 2) {
    return 0;
  }
  return static_cast<uint32_t>(status.st_nlink - 2);
}

size_t ReadTaskFile(int32_t tid, const char* file, char* buffer, size_t size) {
  return ReadBeginning(TaskPath(tid, file).text(), buffer, size);
}

int OpenTaskFile(int32_t tid, const char* file) {
  return OpenForReading(TaskPath(tid, file).text());
}

bool IsSignalBlocked(int32_t tid, int signal) {
  const TaskStat stat(tid);
  constexpr int kFieldsAfterName = 32 - 2;
  const uint64_t blocked =
      ParseField(stat.name_end(), stat.end(), kFieldsAfterName);
  return (blocked >> (signal - 1) & 1) != 0;
}

bool HasTaskEnded(int32_t tid) {
  const TaskStat stat(tid);
  constexpr ptrdiff_t kState = 2;  // ") Z"
  return stat.end() - stat.name_end() > kState &&
         stat.name_end()[kState] == 'Z';
}

bool ReadTaskName(int32_t tid, TaskName& name) {
  TaskName text{};
  const size_t size = ReadTaskFile(tid, "comm", text.data(), text.size());
  if (size == 0) return false;
  text[size - 1] = '\0';  // the newline
  name = text;
  return true;
}

bool ReadOwnTaskName(TaskName& name) {
  return IsAllowed(OptionalCall::kThreadName) &&
         prctl(PR_GET_NAME, name.data()) == 0;
}

}  // namespace unspool::collectors
