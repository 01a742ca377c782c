// What others walk stacks with, but for libdw.

#define UNW_LOCAL_ONLY
#include <absl/debugging/stacktrace.h>
#include <dlfcn.h>
#include <libunwind.h>
#include <unwind.h>

#include <algorithm>
#include <string_view>

#include "bench/unwind/walkers.h"

namespace unspool::bench {
namespace {

// libunwind replaces these names in the global scope.
decltype(&_Unwind_Backtrace) libgcc_backtrace;
decltype(&_Unwind_GetIP) libgcc_get_ip;
int (*glibc_backtrace)(void** pcs, int room);

// `name` as `library` itself defines it.
void* FindIn(const char* library, const char* name) {
  void* handle = dlopen(library, RTLD_NOW);
  void* found = handle == nullptr ? nullptr : dlsym(handle, name);
  Dl_info info;
  if (found == nullptr || dladdr(found, &info) == 0 ||
      std::string_view(info.dli_fname).find(library) ==
          std::string_view::npos) {
    Fail("a library has no unwinder of its own");
  }
  return found;
}

size_t Count(int count) { return static_cast<size_t>(std::max(0, count)); }

void InitNothing() {}

[[gnu::noinline]] size_t WalkUnwBacktrace(const ucontext_t&,
                                          std::span<uint64_t> pcs) {
  return Count(unw_backtrace(reinterpret_cast<void**>(pcs.data()),
                             static_cast<int>(pcs.size())));
}

// As gperftools does in its handler.
[[gnu::noinline]] size_t WalkUnwStep(const ucontext_t& context,
                                     std::span<uint64_t> pcs) {
  unw_cursor_t cursor;
  unw_context_t copy = context;
  if (unw_init_local2(&cursor, &copy, UNW_INIT_SIGNAL_FRAME) != 0) return 0;
  size_t count = 0;
  while (count < pcs.size()) {
    unw_word_t pc = 0;
    if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0 || pc == 0) break;
    pcs[count++] = pc;
    if (unw_step(&cursor) <= 0) break;
  }
  return count;
}

struct LibgccWalk {
  std::span<uint64_t> pcs;
  size_t count = 0;
};

_Unwind_Reason_Code OnLibgccFrame(_Unwind_Context* context, void* argument) {
  auto* walk = static_cast<LibgccWalk*>(argument);
  if (walk->count == walk->pcs.size()) return _URC_END_OF_STACK;
  walk->pcs[walk->count++] = libgcc_get_ip(context);
  return _URC_NO_REASON;
}

void InitLibgcc() {
  constexpr const char* kLibrary = "libgcc_s.so.1";
  libgcc_backtrace = reinterpret_cast<decltype(libgcc_backtrace)>(
      FindIn(kLibrary, "_Unwind_Backtrace"));
  libgcc_get_ip = reinterpret_cast<decltype(libgcc_get_ip)>(
      FindIn(kLibrary, "_Unwind_GetIP"));
}

[[gnu::noinline]] size_t WalkLibgcc(const ucontext_t&,
                                    std::span<uint64_t> pcs) {
  LibgccWalk walk{pcs};
  libgcc_backtrace(OnLibgccFrame, &walk);
  // Where RA is undefined libgcc gives one more frame, at 0.
  if (walk.count > 0 && pcs[walk.count - 1] == 0) --walk.count;
  return walk.count;
}

void InitGlibc() {
  glibc_backtrace = reinterpret_cast<decltype(glibc_backtrace)>(
      FindIn("libc.so.6", "backtrace"));
}

[[gnu::noinline]] size_t WalkGlibc(const ucontext_t&, std::span<uint64_t> pcs) {
  return Count(glibc_backtrace(reinterpret_cast<void**>(pcs.data()),
                               static_cast<int>(pcs.size())));
}

[[gnu::noinline]] size_t WalkAbseil(const ucontext_t&,
                                    std::span<uint64_t> pcs) {
  return Count(absl::GetStackTrace(reinterpret_cast<void**>(pcs.data()),
                                   static_cast<int>(pcs.size()), 0));
}

}  // namespace

const Walker kUnwBacktrace = {"unw_backtrace", WalkUnwBacktrace, InitNothing,
                              false, false};
const Walker kUnwStep = {"unw_step", WalkUnwStep, InitNothing, true, false};
const Walker kLibgcc = {"libgcc", WalkLibgcc, InitLibgcc, false, false};
const Walker kGlibc = {"glibc", WalkGlibc, InitGlibc, false, false};
const Walker kAbseil = {"abseil", WalkAbseil, InitNothing, false, true};

}  // namespace unspool::bench
