// Walks its own stack, and says what it found: one program, linked in several
// ways. Exit status 0 if every walk was right; argv[1] is the path that the
// program's module must have.

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unwind/load/own_cfi.h"
#include "unwind/self_unwinder.h"
#include "unwind/walk_scratch.h"

namespace {

using unspool::unwind::Frame;
using unspool::unwind::Module;
using unspool::unwind::Registers;
using unspool::unwind::WalkEnd;

constinit unspool::unwind::SelfUnwinder unwinder;
unspool::unwind::WalkScratch scratch;
bool all_right = true;

int CompareAndWalk(const void* a, const void* b) {
  Frame frames[64];
  const auto result = unwinder.Walk(Registers::Here(), {}, scratch, frames);
  bool is_right = result.end == WalkEnd::kRoot && result.depth >= 4;
  for (unsigned i = 0; i < result.depth; ++i) {
    if (frames[i].guessed) is_right = false;
  }
  if (!is_right && all_right) {
    printf("end %d, failed at %lx, depth %u\n", static_cast<int>(result.end),
           result.failed_pc, result.depth);
  }
  all_right = all_right && is_right;
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 || unwinder.Init(&unspool::unwind::AddCfiFromFiles) !=
                       decltype(unwinder)::InitStatus::kOk) {
    return 2;
  }
  int numbers[] = {3, 2, 1, 4};
  qsort(numbers, 4, sizeof(int), CompareAndWalk);
  for (unsigned id = 0; id < unwinder.module_count(); ++id) {
    const Module* module = unwinder.FindModule(id);
    if (!module->is_main) continue;
    printf("%s\n", module->path);
    return all_right && strcmp(module->path, argv[1]) == 0 ? 0 : 1;
  }
  return 1;
}
