// Unwind data of this process's own modules that is in files and not in memory:
// .debug_frame (DWARF 5 §6.4.1), of the module's file or of its debug file,
// where .eh_frame lies if no .eh_frame_hdr says so, and where the program tells
// debuggers of code that it makes, if that is no exported symbol.

#ifndef UNSPOOL_UNWIND_LOAD_OWN_CFI_H_
#define UNSPOOL_UNWIND_LOAD_OWN_CFI_H_

#include "unwind/elf_module.h"

namespace unspool::unwind {

// Adds what the files of `loaded`, whose .eh_frame has been looked for, have
// beyond its sources: without indexes, and copied, for the life of the process,
// if it is not mapped; of the program, also its jit_descriptor. Nothing is
// added from a file of another build than the module, or that is damaged. The
// module must stay mapped during the call.
//
// A debug file is looked for only if the module's file has no .debug_frame, and
// the sources do not cover most of its code: the checksum of .gnu_debuglink is
// that of the whole file.
// Not async-signal-safe: maps files, allocates.
void AddCfiFromFiles(LoadedModule* loaded);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_LOAD_OWN_CFI_H_
