#include "tests/oracle/tracer.h"

#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <iterator>

#include "unwind/self_memory.h"

namespace unspool::oracle {
namespace {

constexpr uint8_t kBreakpoint = 0xcc;

user_regs_struct GetRegisters(pid_t tid) {
  user_regs_struct registers{};
  ptrace(PTRACE_GETREGS, tid, nullptr, &registers);
  return registers;
}

// AT_ENTRY of the process.
uint64_t EntryOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/auxv",
                     std::ios::binary);
  Elf64_auxv_t entry;
  while (file.read(reinterpret_cast<char*>(&entry), sizeof(entry))) {
    if (entry.a_type == AT_ENTRY) return entry.a_un.a_val;
  }
  errx(2, "no AT_ENTRY in /proc/%d/auxv", pid);
}

bool ChangesMaps(uint64_t system_call) {
  switch (system_call) {
    case SYS_mmap:
    case SYS_munmap:
    case SYS_mremap:
    case SYS_mprotect:
    case Tracer::kSkip:
      return true;
    default:
      return false;
  }
}

}  // namespace

unwind::Registers ToRegisters(const user_regs_struct& user) {
  const uint64_t values[] = {user.rax, user.rdx, user.rcx, user.rbx, user.rsi,
                             user.rdi, user.rbp, user.rsp, user.r8,  user.r9,
                             user.r10, user.r11, user.r12, user.r13, user.r14,
                             user.r15, user.rip};
  unwind::Registers registers;
  for (size_t i = 0; i < std::size(values); ++i) registers.Set(i, values[i]);
  return registers;
}

std::vector<uint64_t> Thread::Truth() const {
  std::vector<uint64_t> truth = {registers.rip};
  const auto& frames = shadow.frames();
  for (size_t i = frames.size(); i > 0; --i) {
    truth.push_back(frames[i - 1].pc);
  }
  return truth;
}

pid_t Tracer::Start(const std::vector<std::string>& argv,
                    const std::string& agent) {
  const pid_t pid = fork();
  if (pid < 0) err(2, "fork");
  if (pid > 0) return pid;
  personality(ADDR_NO_RANDOMIZE);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
  setenv("LD_PRELOAD", agent.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : argv) {
    words.push_back(const_cast<char*>(word.c_str()));
  }
  words.push_back(nullptr);
  ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  execvp(words[0], words.data());
  err(127, "%s", words[0]);
}

Tracer::Tracer(const std::vector<std::string>& argv, const std::string& agent)
    : target_(Start(argv, agent)) {
  int status = 0;
  waitpid(target_.pid(), &status, 0);
  if (!WIFSTOPPED(status)) errx(2, "%s does not start", argv[0].c_str());
  ptrace(PTRACE_SETOPTIONS, target_.pid(), nullptr,
         PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEVFORK |
             PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD);
  RunToEntry();
  if (exchange_ == 0) errx(2, "%s: cannot be preloaded into", argv[0].c_str());
  target_.ReadMaps();
  Thread& thread = threads_[target_.pid()];
  thread.tid = target_.pid();
  thread.registers = GetRegisters(thread.tid);
  ReadFlow(thread);
  const Mapping* stack = target_.FindMapping(thread.registers.rsp);
  if (stack != nullptr) thread.bounds = {stack->start, stack->end};
}

Tracer::~Tracer() {
  kill(target_.pid(), SIGKILL);
  for (const auto& [tid, thread] : threads_) kill(tid, SIGKILL);  // vfork's
  while (waitpid(-1, nullptr, __WALL) > 0) {
  }
}

// Without stepping; the agent stops it on the way.
void Tracer::RunToEntry() {
  const pid_t pid = target_.pid();
  const uint64_t entry = EntryOf(pid);
  const long code = ptrace(PTRACE_PEEKTEXT, pid, entry, nullptr);
  ptrace(PTRACE_POKETEXT, pid, entry, (code & ~0xffL) | kBreakpoint);
  int signal = 0;
  for (;;) {
    int status = 0;
    ptrace(PTRACE_CONT, pid, nullptr, signal);
    if (waitpid(pid, &status, 0) < 0 || !WIFSTOPPED(status)) {
      errx(2, "the program ends before its entry");
    }
    signal = WSTOPSIG(status);
    if (signal != SIGTRAP) continue;
    signal = 0;
    user_regs_struct registers = GetRegisters(pid);
    if (registers.rax == kAgentIsReady && registers.rip != entry + 1) {
      exchange_ = registers.rdi;
      target_.Read(exchange_, &agent_, offsetof(Exchange, reply));
    } else if (registers.rip == entry + 1) {
      ptrace(PTRACE_POKETEXT, pid, entry, code);
      registers.rip = entry;
      ptrace(PTRACE_SETREGS, pid, nullptr, &registers);
      return;
    }
  }
}

int Tracer::Run(const OnStep& on_step) {
  on_step_ = on_step;
  Resume(threads_.begin()->second, 0);
  while (!is_done_ && !threads_.empty()) {
    int status = 0;
    const pid_t tid = waitpid(-1, &status, __WALL);
    if (tid < 0) break;
    OnStop(tid, status);
  }
  return exit_status_;
}

void Tracer::FinishThread(pid_t tid, int status) {
  threads_.erase(tid);
  if (tid == target_.pid() && WIFEXITED(status)) {
    exit_status_ = WEXITSTATUS(status);
  }
}

void Tracer::OnStop(pid_t tid, int status) {
  if (!WIFSTOPPED(status)) return FinishThread(tid, status);
  const auto found = threads_.find(tid);
  if (found == threads_.end()) {
    unannounced_.insert(tid);
    return;
  }
  Thread& thread = found->second;
  const int event = status >> 16;
  if (event != 0) return OnEvent(thread, event);
  const uint64_t pc = thread.registers.rip;
  const bool has_left = Advance(thread);
  const int signal = WSTOPSIG(status);
  if (signal != SIGTRAP) return Resume(thread, signal);
  // A string instruction stops after each of its repetitions.
  if (thread.registers.rip != pc) is_done_ = !on_step_(thread, has_left);
  Resume(thread, 0);
}

void Tracer::OnEvent(Thread& thread, int event) {
  if (event == PTRACE_EVENT_EXEC) {  // it is another program now
    const pid_t tid = thread.tid;
    ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
    threads_.erase(tid);
    return;
  }
  unsigned long tid = 0;
  ptrace(PTRACE_GETEVENTMSG, thread.tid, nullptr, &tid);
  AddThread(static_cast<pid_t>(tid), thread);
  Resume(thread, 0);
}

// The kernel stops it with SIGSTOP before its first instruction.
void Tracer::AddThread(pid_t tid, const Thread& creator) {
  if (unannounced_.erase(tid) == 0) waitpid(tid, nullptr, __WALL);
  Thread& thread = threads_[tid];
  thread.tid = tid;
  thread.registers = GetRegisters(tid);
  if (thread.registers.rsp == creator.registers.rsp) {  // vfork
    thread.shadow = creator.shadow;
    thread.bounds = creator.bounds;
  } else {
    target_.ReadMaps();
    const Mapping* stack = target_.FindMapping(thread.registers.rsp);
    if (stack != nullptr) thread.bounds = {stack->start, stack->end};
  }
  ReadFlow(thread);
  Resume(thread, 0);
}

// Takes note of what happened since the last stop.
bool Tracer::Advance(Thread& thread) {
  const user_regs_struct before = thread.registers;
  const Flow flow = thread.flow;
  thread.registers = GetRegisters(thread.tid);
  const bool is_system_call = flow == Flow::kSystemCall;
  if (is_system_call && before.rax == kSkip) Skip(thread);
  const user_regs_struct& now = thread.registers;
  const auto read = [&](uint64_t at) { return target_.ReadWord(at); };
  bool has_left = false;
  if (thread.signal != 0 && EnterHandler(thread, before)) {
    thread.signal = 0;
  } else if (now.rip != before.rip || now.rsp != before.rsp) {
    thread.signal = 0;
    if (is_system_call && before.rax == SYS_rt_sigreturn) {
      has_left = thread.shadow.EndInterrupt({now.rip, now.rsp}, read);
    } else {
      has_left = thread.shadow.Step({before.rip, before.rsp}, flow,
                                    {now.rip, now.rsp}, read);
    }
  }
  if (is_system_call && ChangesMaps(before.rax)) {
    target_.ReadMaps();
    ++map_changes_;
  }
  thread.last_flow = flow;
  ReadFlow(thread);
  return has_left;
}

// Until the kSkip that is the second has been refused.
void Tracer::Skip(Thread& thread) {
  constexpr int kSystemCallStop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD
  const uint64_t sp = thread.registers.rsp;
  int signal = 0;
  int to_come = 2;  // its entry and its exit
  while (to_come > 0) {
    int status = 0;
    if (ptrace(PTRACE_SYSCALL, thread.tid, nullptr, signal) != 0 ||
        waitpid(thread.tid, &status, __WALL) < 0 || !WIFSTOPPED(status)) {
      errx(2, "the program ends while it is not stepped through");
    }
    signal = WSTOPSIG(status) == kSystemCallStop ? 0 : WSTOPSIG(status);
    if (signal != 0) continue;
    thread.registers = GetRegisters(thread.tid);
    if (thread.registers.orig_rax == kSkip) --to_come;
  }
  if (thread.registers.rsp != sp) errx(2, "skip() is left in another frame");
}

// A handler begins with its signal's number and the ucontext_t that lies above
// its return address, which says where it interrupted.
bool Tracer::EnterHandler(Thread& thread, const user_regs_struct& before) {
  const user_regs_struct& now = thread.registers;
  constexpr uint64_t kWord = sizeof(uint64_t);
  constexpr uint64_t kRegisters = offsetof(ucontext_t, uc_mcontext.gregs);
  if (now.rdi != static_cast<uint64_t>(thread.signal) ||
      now.rdx != now.rsp + kWord || now.rip == before.rip) {
    return false;
  }
  const uint64_t pc = target_.ReadWord(now.rdx + kRegisters + kWord * REG_RIP);
  const uint64_t sp = target_.ReadWord(now.rdx + kRegisters + kWord * REG_RSP);
  thread.shadow.Interrupt({pc, sp}, {now.rip, now.rsp},
                          target_.ReadWord(now.rsp));
  return true;
}

void Tracer::ReadFlow(Thread& thread) {
  uint8_t code[kMaxInstructionSize];
  // Near a page that cannot be read there are fewer bytes.
  const uint64_t pc = thread.registers.rip;
  const size_t to_page_end = unwind::kPageSize - pc % unwind::kPageSize;
  size_t size = target_.Read(pc, code, sizeof(code));
  if (size == 0 && to_page_end < sizeof(code)) {
    size = target_.Read(pc, code, to_page_end);
  }
  thread.flow = DecodeFlow({code, size});
}

void Tracer::Resume(Thread& thread, int signal) {
  thread.signal = signal;
  // Fails if the thread was killed meanwhile; then waitpid(2) tells.
  ptrace(PTRACE_SINGLESTEP, thread.tid, nullptr, signal);
}

std::optional<Walked> Tracer::WalkInside(const Thread& thread) {
  const WalkRequest request = {ToRegisters(thread.registers), thread.bounds};
  target_.Write(exchange_ + offsetof(Exchange, request), &request,
                sizeof(request));
  user_regs_struct registers = thread.registers;
  registers.rip = agent_.entry;
  registers.rsp = agent_.stack_top;
  registers.orig_rax = ~0ULL;  // no system call to restart
  registers.eflags = 0x202;
  // No handler of the program's may run meanwhile.
  constexpr uint64_t kAllButTrap = ~(uint64_t{1} << (SIGTRAP - 1));
  uint64_t mask = 0;
  ptrace(PTRACE_GETSIGMASK, thread.tid, sizeof(mask), &mask);
  ptrace(PTRACE_SETSIGMASK, thread.tid, sizeof(mask), &kAllButTrap);
  ptrace(PTRACE_SETREGS, thread.tid, nullptr, &registers);
  int status = 0;
  if (ptrace(PTRACE_CONT, thread.tid, nullptr, nullptr) != 0 ||
      waitpid(thread.tid, &status, __WALL) < 0) {
    return std::nullopt;
  }
  if (!WIFSTOPPED(status)) {
    if (thread.tid == target_.pid()) exit_status_ = WEXITSTATUS(status);
    return std::nullopt;
  }
  ptrace(PTRACE_SETREGS, thread.tid, nullptr, &thread.registers);
  ptrace(PTRACE_SETSIGMASK, thread.tid, sizeof(mask), &mask);
  if (WSTOPSIG(status) != SIGTRAP) errx(2, "the walk ends with a signal");
  Walked walked;
  const uint64_t reply = exchange_ + offsetof(Exchange, reply);
  target_.Read(reply, &walked.result, sizeof(walked.result));
  walked.frames.resize(walked.result.depth);
  target_.Read(reply + offsetof(WalkReply, frames), walked.frames.data(),
               walked.frames.size() * sizeof(unwind::Frame));
  return walked;
}

}  // namespace unspool::oracle
