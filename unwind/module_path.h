// What a module's path tells about it.

#ifndef UNSPOOL_UNWIND_MODULE_PATH_H_
#define UNSPOOL_UNWIND_MODULE_PATH_H_

namespace unspool::unwind {

// What follows the last slash. Async-signal-safe.
const char* FileNameOf(const char* path);

// Is it glibc's libc, libpthread or loader, by its file name?
// Async-signal-safe.
bool IsLibcOrLoaderPath(const char* path);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_MODULE_PATH_H_
