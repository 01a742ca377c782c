// dlopen and dlclose, in front of libc's: after a library was loaded is the
// time to read what a handler cannot, before one is unloaded the time to say
// so.
//
// glibc knows the module that calls dlopen() by the return address, and looks
// for a file without a '/' along that module's RUNPATH, or puts its folder in
// place of $ORIGIN. Such calls must be jumps, after which there is no time of
// ours: CMakeLists.txt has sibling calls optimized in every build type. What
// they load is looked at when the next library comes or goes, or a thread
// starts.
//
// Not part of libunspool.a, as interpose.cc.

#include <dlfcn.h>
#include <string.h>

#include "profiler/agent/export.h"
#include "profiler/agent/next_function.h"
#include "profiler/agent/session.h"

namespace unspool::profiler {
namespace {

constinit NextFunction<void* (*)(const char*, int)> next_dlopen("dlopen");
constinit NextFunction<int (*)(void*)> next_dlclose("dlclose");

[[gnu::constructor]] void FindNextFunctions() {
  next_dlopen.get();
  next_dlclose.get();
}

bool DependsOnCaller(const char* file) {
  return strchr(file, '/') == nullptr || strchr(file, '$') != nullptr;
}

[[gnu::noinline]] void* OpenAndLook(const char* file, int mode) {
  void* handle = next_dlopen.get()(file, mode);
  if (handle != nullptr) GetSession().LookAtLoadedModules();
  return handle;
}

}  // namespace
}  // namespace unspool::profiler

UNSPOOL_EXPORT void* dlopen(const char* file, int mode) noexcept {
  namespace profiler = unspool::profiler;
  profiler::Session& session = profiler::GetSession();
  session.LookAtModulesLoadedByName();
  if (file == nullptr || (mode & RTLD_NOLOAD) != 0) {
    return profiler::next_dlopen.get()(file, mode);
  }
  if (!profiler::DependsOnCaller(file)) {
    return profiler::OpenAndLook(file, mode);
  }
  session.NoteLoadByName();
  return profiler::next_dlopen.get()(file, mode);
}

UNSPOOL_EXPORT int dlclose(void* handle) noexcept {
  namespace profiler = unspool::profiler;
  profiler::GetSession().LookAtModulesLoadedByName();
  unspool::unwind::SelfUnwinder& unwinder = profiler::GetSession().unwinder();
  unwinder.BeginUnload();
  const int result = profiler::next_dlclose.get()(handle);
  unwinder.EndUnload();
  return result;
}
