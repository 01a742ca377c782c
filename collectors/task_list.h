// The threads of this process as the kernel lists them in /proc/self/task.
//
// Raw system calls throughout: opendir() allocates, and open() and read() are
// cancellation points, where a thread of the program could end with our lock
// held.

#ifndef UNSPOOL_COLLECTORS_TASK_LIST_H_
#define UNSPOOL_COLLECTORS_TASK_LIST_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace unspool::collectors {

// Iterates over thread ids, in no order. Threads that come or go meanwhile may
// or may not be seen. Async-signal-safe.
class TaskList {
 public:
  TaskList();
  ~TaskList();
  TaskList(const TaskList&) = delete;
  TaskList& operator=(const TaskList&) = delete;

  // The next thread id; 0 at the end, or if /proc cannot be read.
  int32_t Next();

 private:
  int fd_;
  size_t used_ = 0;  // bytes of buffer_ that hold entries
  size_t next_ = 0;
  alignas(8) std::array<char, 1024> buffer_;
};

// How many threads there are: one stat(), no descriptor (the directory's link
// count is threads + 2, proc_task_getattr). 0 if /proc cannot be read.
// Async-signal-safe.
uint32_t CountTasks();

// Reads at most `size` bytes of the beginning of /proc/self/task/TID/FILE (a
// name of at most 11 bytes); gives how many, 0 if the thread is gone or /proc
// cannot be read. Async-signal-safe.
size_t ReadTaskFile(int32_t tid, const char* file, char* buffer, size_t size);

// The same file as a descriptor, which the caller closes; -1 on failure.
// Async-signal-safe.
int OpenTaskFile(int32_t tid, const char* file);

// True if thread `tid` blocks `signal` now (SigBlk in
// /proc/self/task/TID/status, proc(5)). False also if it is gone.
// Async-signal-safe.
bool IsSignalBlocked(int32_t tid, int signal);

// True if thread `tid` has ended and is listed all the same: the main thread,
// after pthread_exit(), while others run. Async-signal-safe.
bool HasTaskEnded(int32_t tid);

// Thread names are at most 15 bytes and a NUL (prctl(2), PR_SET_NAME).
using TaskName = std::array<char, 16>;

// Reads the name of thread `tid`; false, and `name` as it was, if it is gone or
// /proc cannot be read. Async-signal-safe.
bool ReadTaskName(int32_t tid, TaskName& name);
// The calling thread's name; false, and `name` as it was, where a seccomp
// filter forbids the call. Async-signal-safe.
bool ReadOwnTaskName(TaskName& name);

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_TASK_LIST_H_
