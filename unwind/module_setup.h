// Lists the modules that are loaded now, before the first walk.

#ifndef UNSPOOL_UNWIND_MODULE_SETUP_H_
#define UNSPOOL_UNWIND_MODULE_SETUP_H_

#include "unwind/module_snapshot.h"

namespace unspool::unwind {

// Adds what only the files of a module hold to its sources: see
// unwind/load/own_cfi.h, which this library does not know.
using AddSources = void (*)(LoadedModule* loaded);

// Fills in the rest of `loaded`, whose segments and path are described: its
// unwind data, with an index where there is no search table. `add_from_files`
// is asked, unless it is null. The module must stay mapped during the call.
// Not async-signal-safe: allocates by mmap, reads files.
void DescribeUnwindData(AddSources add_from_files, LoadedModule* loaded);

// The pinned ones among the modules that are loaded now, described. What is not
// pinned is left to be found as a later module.
//
// Pinned are, in the loader's order, all modules up to the last one that the
// program needs (DT_NEEDED, directly or through others). The loader appends to
// that order, so whatever stands before a module that the program started with
// was there at the start too (preloaded ones, for instance), and dlclose()
// never unloads those. Also the vDSO and the loader.
//
// `add_from_files` is asked for each of them, unless it is null.
//
// False if memory cannot be had. Not async-signal-safe: takes the loader's
// lock, allocates by mmap, reads files.
bool TakeModuleSnapshot(AddSources add_from_files, ModuleSnapshot* snapshot);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_MODULE_SETUP_H_
