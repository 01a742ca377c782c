// __register_frame and __deregister_frame (GCC, libgcc/unwind-dw2-fde.c), in
// front of libgcc's: by them compilers at run time make their code known to C++
// exceptions, and here to samples.
//
// libgcc_s, or whoever else defines them, need not be in the global scope, as
// in a Python with a compiler among its modules: then it is looked for in every
// object that is loaded.
//
// Not part of libunspool.a, as interpose.cc.

#include <elf.h>
#include <errno.h>
#include <link.h>

#include "profiler/agent/export.h"
#include "profiler/agent/next_function.h"
#include "profiler/agent/session.h"
#include "unwind/dynamic_symbol.h"

UNSPOOL_EXPORT void __register_frame(void* start);
UNSPOOL_EXPORT void __deregister_frame(void* start);

namespace unspool::profiler {
namespace {

using FrameFunction = void (*)(void*);

constexpr char kRegister[] = "__register_frame";
constexpr char kDeregister[] = "__deregister_frame";

constinit NextFunction<FrameFunction> next_register(kRegister);
constinit NextFunction<FrameFunction> next_deregister(kDeregister);

struct Search {
  const char* name;
  uint64_t own;
  uint64_t found = 0;
};

int LookInObject(dl_phdr_info* info, size_t, void* search_pointer) {
  auto& search = *static_cast<Search*>(search_pointer);
  search.found = unwind::FindDynamicSymbol(*info, search.name, STT_FUNC);
  if (search.found == search.own) search.found = 0;
  return search.found != 0 ? 1 : 0;
}

// Where nobody has it, nobody could have called it without us.
void Forward(NextFunction<FrameFunction>& next, const char* name,
             FrameFunction own, void* start) {
  FrameFunction function = next.get();
  if (function == nullptr) {
    Search search = {name, reinterpret_cast<uint64_t>(own)};
    dl_iterate_phdr(LookInObject, &search);
    function = reinterpret_cast<FrameFunction>(search.found);
  }
  if (function != nullptr) function(start);
}

}  // namespace
}  // namespace unspool::profiler

UNSPOOL_EXPORT void __register_frame(void* start) {
  namespace profiler = unspool::profiler;
  profiler::Forward(profiler::next_register, profiler::kRegister,
                    &__register_frame, start);
  const int saved_errno = errno;
  profiler::GetSession().NoteFrames(reinterpret_cast<uint64_t>(start));
  errno = saved_errno;
}

UNSPOOL_EXPORT void __deregister_frame(void* start) {
  namespace profiler = unspool::profiler;
  const int saved_errno = errno;
  profiler::GetSession().ForgetFrames(reinterpret_cast<uint64_t>(start));
  errno = saved_errno;
  profiler::Forward(profiler::next_deregister, profiler::kDeregister,
                    &__deregister_frame, start);
}
