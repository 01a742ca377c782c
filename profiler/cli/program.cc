#include "profiler/cli/program.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "profiler/cli/message.h"
#include "unwind/load/program_kind.h"

namespace unspool::profiler {
namespace {

using unwind::PrivilegeGain;
using unwind::ProgramKind;

// 0, or why `path` cannot be executed.
int CheckExecutable(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

bool IsAbsence(int error) { return error == ENOENT || error == ENOTDIR; }

// The first executable file of that name; otherwise, as execvp(3), an error
// other than absence is remembered and the search goes on.
std::string SearchPath(const std::string& command, std::string_view dirs) {
  int error = ENOENT;
  std::string culprit;
  for (size_t begin = 0; begin <= dirs.size();) {
    const size_t end = std::min(dirs.find(':', begin), dirs.size());
    const std::string_view dir = dirs.substr(begin, end - begin);
    std::string path = (dir.empty() ? "." : std::string(dir)) + "/" + command;
    const int status = CheckExecutable(path);
    if (status == 0) return path;
    if (!IsAbsence(status)) {
      error = status;
      culprit = path;
    }
    begin = end + 1;
  }
  if (error == ENOENT) {
    throw Failure(kExitNotFound,
                  "cannot run " + Quoted(command) +
                      ": no program of that name in PATH; check the spelling, "
                      "or give a path such as ./" +
                      OneLine(command));
  }
  throw Failure(kExitNotExecutable, "cannot run " + Quoted(culprit) + ": " +
                                        ErrnoText(error) +
                                        "; give a file that you may execute");
}

std::string FindProgram(const std::string& command, const char* search_path) {
  if (command.empty()) {
    throw Failure(kExitNotFound,
                  "cannot run '': it is empty; name a program after --");
  }
  if (command.find('/') == std::string::npos) {
    return SearchPath(command,
                      search_path == nullptr ? "/bin:/usr/bin" : search_path);
  }
  const int error = CheckExecutable(command);
  if (error == 0) return command;
  if (IsAbsence(error)) {
    throw Failure(kExitNotFound, "cannot run " + Quoted(command) + ": " +
                                     ErrnoText(error) + "; check the path");
  }
  throw Failure(kExitNotExecutable, "cannot run " + Quoted(command) + ": " +
                                        ErrnoText(error) +
                                        "; give a file that you may execute");
}

[[noreturn]] void CannotRun(const std::string& path, const std::string& why) {
  throw Failure(kExitNotExecutable, "cannot run " + Quoted(path) + ": " + why +
                                        "; rebuild or reinstall it");
}

// What the kernel would refuse although the file is there and executable.
void CheckFormat(const std::string& path, const unwind::Program& program) {
  switch (program.kind) {
    case ProgramKind::kNotFound:
      CannotRun(path,
                "its interpreter " + Quoted(program.file) + " does not exist");
    case ProgramKind::kNotRegular:
    case ProgramKind::kBadElf:
    case ProgramKind::kTooManyScripts:
      CannotRun(path, Quoted(program.file) + " " +
                          unwind::ProgramKindText(program.kind));
    default:
      break;
  }
  if (program.script_levels > 0) {
    const int error = CheckExecutable(program.file);
    if (error != 0) {
      CannotRun(path, "its interpreter " + Quoted(program.file) + ": " +
                          ErrnoText(error));
    }
  }
  if (program.loader[0] != '\0' && access(program.loader, F_OK) != 0) {
    CannotRun(path,
              "its loader " + Quoted(program.loader) + ": " + ErrnoText(errno));
  }
}

const char* AlternativeTo(ProgramKind kind) {
  switch (kind) {
    case ProgramKind::kStatic:
    case ProgramKind::kStaticPie:
      return "link libunspool.a (and -lz -lzstd) into it and call "
             "unspool_start(), or link it dynamically";
    case ProgramKind::kMusl:
    case ProgramKind::kOtherLoader:
      return "build it against glibc";
    default:
      return "build it for 64-bit x86";
  }
}

std::optional<std::string> FindObstacle(const unwind::Program& program) {
  const std::string who = Quoted(program.file);
  switch (program.kind) {
    case ProgramKind::kGlibc:
      break;
    case ProgramKind::kUnreadable:  // may still be executed, and preloaded
    case ProgramKind::kNotElf:      // /bin/sh will run it
      return std::nullopt;
    case ProgramKind::kStatic:
    case ProgramKind::kStaticPie:
      if (program.has_agent) break;  // started by the environment, too
      [[fallthrough]];
    default:
      return who + " " + unwind::ProgramKindText(program.kind) +
             ", so the agent cannot be preloaded and it runs unprofiled: " +
             AlternativeTo(program.kind);
  }
  if (program.privilege_gain == PrivilegeGain::kNone) return std::nullopt;
  return who + " " + unwind::PrivilegeGainText(program.privilege_gain) +
         ", so the loader ignores the agent and it runs unprofiled: run it as "
         "the user that it becomes, or profile a copy without that privilege";
}

}  // namespace

ResolvedProgram ResolveProgram(const std::string& command,
                               const char* search_path) {
  ResolvedProgram resolved;
  resolved.path = FindProgram(command, search_path);
  const auto program = std::make_unique<unwind::Program>();  // 8 KiB
  unwind::InspectProgram(resolved.path.c_str(), unwind::CurrentCaller(),
                         program.get());
  CheckFormat(resolved.path, *program);
  resolved.is_shell_text = program->kind == ProgramKind::kNotElf;
  resolved.obstacle = FindObstacle(*program);
  return resolved;
}

}  // namespace unspool::profiler
