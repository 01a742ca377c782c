// What a file would become if it were executed now: whether the glibc loader
// will run it and so honour LD_PRELOAD, and if not, why not.
//
// Follows `#!` lines as the kernel does (execve(2), "Interpreter scripts") and
// reads only ELF headers; it does not search $PATH, check execute permission of
// scripts, or follow what a started program executes next (as `env` and `sh -c`
// do: there the environment carries over).

#ifndef UNSPOOL_UNWIND_LOAD_PROGRAM_KIND_H_
#define UNSPOOL_UNWIND_LOAD_PROGRAM_KIND_H_

#include <limits.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace unspool::unwind {

enum class ProgramKind : uint8_t {
  kGlibc,           // x86-64, run by glibc's loader: LD_PRELOAD works
  kStatic,          // no loader, fixed addresses (gcc -static)
  kStaticPie,       // no loader, any address (gcc -static-pie)
  kMusl,            // run by musl's loader
  kOtherLoader,     // run by a loader that is neither
  kOtherMachine,    // ELF for another CPU, class (32 bit) or byte order
  kBadElf,          // an ELF header, but the kernel would refuse the file
  kNotElf,          // neither ELF nor a `#!` script; also an empty file
  kTooManyScripts,  // more levels of `#!` than the kernel follows
  kNotFound,        // no such file (or script interpreter: see `file`)
  kNotRegular,      // a directory, fifo, socket or device
  kUnreadable,      // could not be opened or read; see `error`
};

// Why the kernel would start the program in secure-execution mode, where the
// loader drops LD_PRELOAD (ld.so(8)).
enum class PrivilegeGain : uint8_t {
  kNone,
  kSetUid,            // set-user-ID bit, and the owner is someone else
  kSetGid,            // set-group-ID bit, and the group is another one
  kFileCapabilities,  // xattr security.capability, caller not root
};

// Who will execute the program: the real ids, and whether PR_SET_NO_NEW_PRIVS
// rules out any gain.
struct Caller {
  uid_t uid;
  gid_t gid;
  bool no_new_privs;
};

// This process. Async-signal-safe.
Caller CurrentCaller();

struct Program {
  ProgramKind kind = ProgramKind::kNotFound;
  PrivilegeGain privilege_gain = PrivilegeGain::kNone;
  // `#!` lines followed: 0 if the path itself is what `kind` speaks of.
  uint8_t script_levels = 0;
  // libunspool.a is linked in. For kStatic and kStaticPie.
  bool has_agent = false;
  // errno of the call that failed, for kNotFound and kUnreadable; else 0.
  int error = 0;
  // The file that `kind` speaks of: the path as given, or the last interpreter.
  char file[PATH_MAX] = "";
  // PT_INTERP, for kGlibc, kMusl and kOtherLoader; else empty.
  char loader[PATH_MAX] = "";

  // Whether LD_PRELOAD will be honoured. Async-signal-safe.
  constexpr bool CanPreload() const {
    return kind == ProgramKind::kGlibc &&
           privilege_gain == PrivilegeGain::kNone;
  }
};

// The kernel follows this many `#!` lines and gives up with ELOOP at the next
// (measured on Linux 6.x; execve(2) still speaks of four).
inline constexpr int kMaxScriptLevels = 5;

// Looks at `path` (relative to the current directory, no $PATH search), as
// executed by `caller`. Never fails: what goes wrong is a kind. The answer
// holds for the moment of the call only. Any thread. Not async-signal-safe:
// opens and maps files.
void InspectProgram(const char* path, const Caller& caller, Program* program);

// What the kind or the gain means, as the tail of "<file> …": "is statically
// linked". Never null. Async-signal-safe.
const char* ProgramKindText(ProgramKind kind);
const char* PrivilegeGainText(PrivilegeGain gain);

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_LOAD_PROGRAM_KIND_H_
