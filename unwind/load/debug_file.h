// Finds the file that holds a module's debug data, in the order in which gdb
// looks (GDB manual, "Debugging Information in Separate Files"), and the file
// that dwz made for several of them. What is found is checked; what is not the
// right file is reported and not used.

#ifndef UNSPOOL_UNWIND_LOAD_DEBUG_FILE_H_
#define UNSPOOL_UNWIND_LOAD_DEBUG_FILE_H_

#include <limits.h>

#include "unwind/load/elf_file.h"
#include "unwind/load/mapped_file.h"
#include "unwind/module.h"

namespace unspool::unwind {

// Where distributions put debug files.
inline constexpr char kDebugFolder[] = "/usr/lib/debug";

// Strings outlive the search.
struct DebugFileQuery {
  const char* path = "";  // absolute, of the file whose other half is wanted
  FileId id = {};         // of that file: a link may lead to itself
  // Where `path` and all others are looked up, see MappedFile::Open. By build
  // id, and only so, files outside of it are found as well.
  const char* root = "";
  const char* debug_folder = kDebugFolder;
};

// Told of each file that exists but is not used, and why ("is of another
// build").
struct RejectedFiles {
  void (*report)(void* context, const char* path, const char* why) = nullptr;
  void* context = nullptr;
};

class DebugFile {
 public:
  // The debug file of `module`, tried in this order:
  //   DEBUG_FOLDER/.build-id/ab/cdef….debug, which must have its build id;
  //   if .gnu_debuglink names one, that name in the module's folder, in .debug
  //   below it, and in DEBUG_FOLDER/FOLDER, first with the folder as given,
  //   then without symbolic links. Its checksum must be right, and its build
  //   id too if it has one.
  // False if there is none; then elf() is empty.
  // Not async-signal-safe: maps files.
  [[nodiscard]] bool Find(const ElfFile& module, const DebugFileQuery& query,
                          const RejectedFiles& rejected);

  // The file that .gnu_debugaltlink of `file` names, else the one with the
  // build id that it states in DEBUG_FOLDER/.build-id.
  // False if there is none, or none is named; then elf() is empty.
  // Not async-signal-safe: maps files.
  [[nodiscard]] bool FindAlt(const ElfFile& file, const DebugFileQuery& query,
                             const RejectedFiles& rejected);

  // The file at `path`, which somebody else found, if it has this build id.
  // False if it has not, or cannot be read; then elf() is empty.
  // Not async-signal-safe: maps files.
  [[nodiscard]] bool Open(const char* path, const BuildId& build_id,
                          const RejectedFiles& rejected);

  const ElfFile& elf() const { return elf_; }
  const MappedFile& file() const { return file_; }
  // Below root() where that is not "".
  const char* path() const { return path_; }
  const char* root() const { return root_; }

 private:
  struct Wanted;
  class Search;

  bool Take(const Wanted& wanted, const DebugFileQuery& query,
            const RejectedFiles& rejected, const char* root);

  MappedFile file_;
  ElfFile elf_;
  char path_[PATH_MAX] = "";
  const char* root_ = "";
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_LOAD_DEBUG_FILE_H_
