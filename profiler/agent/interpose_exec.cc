// The exec functions, in front of libc's: an event of `perf` or `trap` that the
// calling thread ticks by is closed before, because its signal may come to the
// new program, whose default action is to end. (Linux 6.18, 300 times at 4 kHz:
// 127 programs ended by `trap` without this, none with it.) And signals that
// the program ignores stay ignored. An exec by a raw system call is not seen.
//
// Not part of libunspool.a, as interpose.cc.

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#include "collectors/signal_action.h"
#include "profiler/agent/export.h"
#include "profiler/agent/in_front_of_libc.h"
#include "profiler/agent/next_function.h"
#include "profiler/agent/session.h"

namespace unspool::profiler {
namespace {

using Strings = char* const*;

constinit NextFunction<int (*)(const char*, Strings, Strings)> next_execve(
    "execve");
constinit NextFunction<int (*)(const char*, Strings)> next_execv("execv");
constinit NextFunction<int (*)(const char*, Strings)> next_execvp("execvp");
constinit NextFunction<int (*)(const char*, Strings, Strings)> next_execvpe(
    "execvpe");
constinit NextFunction<int (*)(int, Strings, Strings)> next_fexecve("fexecve");
constinit NextFunction<int (*)(int, const char*, Strings, Strings, int)>
    next_execveat("execveat");

[[gnu::constructor]] void FindNextFunctions() {
  next_execve.get();
  next_execv.get();
  next_execvp.get();
  next_execvpe.get();
  next_fexecve.get();
  next_execveat.get();
}

// Returns what exec does, if it does.
template <typename Function, typename... Arguments>
int Execute(NextFunction<Function>& next, Arguments... arguments) {
  collectors::SamplingEngine& engine = GetSession().engine();
  GetSession().PrepareExec();
  engine.PrepareExec();
  collectors::IgnoreBeforeExec();
  const int result = next.get()(arguments...);
  const int saved_errno = errno;
  collectors::HandleAfterExec();
  engine.ResumeAfterExec();
  errno = saved_errno;
  return result;
}

// Arguments behind the first, without the null pointer that ends them.
size_t CountArguments(va_list arguments) {
  size_t count = 0;
  while (va_arg(arguments, char*) != nullptr) ++count;
  return count;
}

// `first` and `count` more.
void CopyArguments(const char* first, va_list arguments, size_t count,
                   char** copy) {
  copy[0] = const_cast<char*>(first);
  for (size_t i = 1; i <= count; ++i) copy[i] = va_arg(arguments, char*);
}

}  // namespace

// The first definition that the program finds must lie where this code does.
bool IsInFrontOfLibc() {
  Dl_info first{}, own{};
  return dladdr(dlsym(RTLD_DEFAULT, "execve"), &first) != 0 &&
         dladdr(reinterpret_cast<void*>(&next_execve), &own) != 0 &&
         first.dli_fbase == own.dli_fbase;
}

}  // namespace unspool::profiler

namespace profiler = unspool::profiler;

UNSPOOL_EXPORT int execve(const char* path, char* const* arguments,
                          char* const* environment) noexcept {
  return profiler::Execute(profiler::next_execve, path, arguments, environment);
}

UNSPOOL_EXPORT int execv(const char* path, char* const* arguments) noexcept {
  return profiler::Execute(profiler::next_execv, path, arguments);
}

UNSPOOL_EXPORT int execvp(const char* file, char* const* arguments) noexcept {
  return profiler::Execute(profiler::next_execvp, file, arguments);
}

UNSPOOL_EXPORT int execvpe(const char* file, char* const* arguments,
                           char* const* environment) noexcept {
  return profiler::Execute(profiler::next_execvpe, file, arguments,
                           environment);
}

UNSPOOL_EXPORT int fexecve(int fd, char* const* arguments,
                           char* const* environment) noexcept {
  return profiler::Execute(profiler::next_fexecve, fd, arguments, environment);
}

UNSPOOL_EXPORT int execveat(int directory, const char* path,
                            char* const* arguments, char* const* environment,
                            int flags) noexcept {
  return profiler::Execute(profiler::next_execveat, directory, path, arguments,
                           environment, flags);
}

// On the stack, as libc's: exec may be called in a signal handler.
UNSPOOL_EXPORT int execl(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const size_t count = profiler::CountArguments(list);
  va_end(list);
  auto** arguments = static_cast<char**>(alloca((count + 2) * sizeof(char*)));
  va_start(list, first);
  profiler::CopyArguments(first, list, count + 1, arguments);
  va_end(list);
  return profiler::Execute(profiler::next_execv, path, arguments);
}

UNSPOOL_EXPORT int execlp(const char* file, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const size_t count = profiler::CountArguments(list);
  va_end(list);
  auto** arguments = static_cast<char**>(alloca((count + 2) * sizeof(char*)));
  va_start(list, first);
  profiler::CopyArguments(first, list, count + 1, arguments);
  va_end(list);
  return profiler::Execute(profiler::next_execvp, file, arguments);
}

UNSPOOL_EXPORT int execle(const char* path, const char* first, ...) noexcept {
  va_list list;
  va_start(list, first);
  const size_t count = profiler::CountArguments(list);
  va_end(list);
  auto** arguments = static_cast<char**>(alloca((count + 3) * sizeof(char*)));
  va_start(list, first);
  profiler::CopyArguments(first, list, count + 2, arguments);
  va_end(list);
  return profiler::Execute(profiler::next_execve, path, arguments,
                           reinterpret_cast<char**>(arguments[count + 2]));
}
