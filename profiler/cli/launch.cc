#include "profiler/cli/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "profiler/agent/unique_fd.h"
#include "profiler/cli/message.h"

namespace unspool::profiler {
namespace {

std::vector<char*> Argv(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (const std::string& argument : arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  return argv;
}

// Returns only if the program could not be started; the reason is in errno.
void Execute(const ResolvedProgram& program,
             const std::vector<std::string>& arguments, char* const* envp) {
  if (!program.is_shell_text) {
    execve(program.path.c_str(), Argv(arguments).data(), envp);
    return;
  }
  std::vector<std::string> by_shell = {"/bin/sh", program.path};
  by_shell.insert(by_shell.end(), arguments.begin() + 1, arguments.end());
  execve("/bin/sh", Argv(by_shell).data(), envp);
}

// The errno that the child reported; 0 when the pipe closed on exec.
int ReadExecError(int fd) {
  int error = 0;
  ssize_t size;
  do {
    size = read(fd, &error, sizeof(error));
  } while (size < 0 && errno == EINTR);
  return size == sizeof(error) ? error : 0;
}

}  // namespace

pid_t StartProgram(const ResolvedProgram& program,
                   const std::vector<std::string>& arguments,
                   ChildEnvironment& environment,
                   const std::string& announce_pid, const SignalGate& gate) {
  // Without descriptors for it (ulimit -n), what execve(2) refuses is a status
  // without a line.
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) ends[0] = ends[1] = -1;
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) {
    throw Failure(kExitFailure, "cannot start " + Quoted(program.path) +
                                    ": fork: " + ErrnoText(errno));
  }
  if (pid == 0) {
    if (!announce_pid.empty()) {
      environment.Set(announce_pid, std::to_string(getpid()));
    }
    gate.RestoreInChild();
    Execute(program, arguments, environment.envp());
    const int error = errno;
    [[maybe_unused]] const ssize_t told =
        write(writer.get(), &error, sizeof(error));
    _exit(kExitNotFound);
  }
  writer.Reset();
  const int error = ReadExecError(reader.get());
  if (error == 0) return pid;
  waitpid(pid, nullptr, 0);
  throw Failure(error == ENOENT ? kExitNotFound : kExitNotExecutable,
                "cannot run " + Quoted(program.path) + ": " + ErrnoText(error));
}

}  // namespace unspool::profiler
