// libdw on the process that it is in: registers and memory by callbacks, where
// its usual users have ptrace.

#include <elfutils/libdwfl.h>
#include <unistd.h>

#include <cstring>

#include "bench/unwind/walkers.h"

namespace unspool::bench {
namespace {

Dwfl* session;
const ucontext_t* start;  // of the walk at hand; one at a time

struct LibdwWalk {
  std::span<uint64_t> pcs;
  size_t count = 0;
};

// Its one thread.
pid_t NextThread(Dwfl*, void*, void** thread_argument) {
  if (*thread_argument != nullptr) return 0;
  *thread_argument = &session;
  return 1;
}

bool FindThread(Dwfl*, pid_t, void*, void** thread_argument) {
  *thread_argument = &session;
  return true;
}

bool ReadMemory(Dwfl*, Dwarf_Addr address, Dwarf_Word* result, void*) {
  std::memcpy(result, reinterpret_cast<const void*>(address), sizeof(*result));
  return true;
}

// DWARF registers 0 to 16: psABI, AMD64 supplement, figure 3.36.
bool SetRegisters(Dwfl_Thread* thread, void*) {
  constexpr int kOrder[] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI,
                            REG_RDI, REG_RBP, REG_RSP, REG_R8,  REG_R9,
                            REG_R10, REG_R11, REG_R12, REG_R13, REG_R14,
                            REG_R15, REG_RIP};
  std::array<Dwarf_Word, std::size(kOrder)> values;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<Dwarf_Word>(start->uc_mcontext.gregs[kOrder[i]]);
  }
  return dwfl_thread_state_registers(thread, 0, values.size(), values.data());
}

int OnFrame(Dwfl_Frame* frame, void* argument) {
  auto& walk = *static_cast<LibdwWalk*>(argument);
  Dwarf_Addr pc = 0;
  if (walk.count == walk.pcs.size() || !dwfl_frame_pc(frame, &pc, nullptr)) {
    return DWARF_CB_ABORT;
  }
  walk.pcs[walk.count++] = pc;
  return DWARF_CB_OK;
}

// Other modules than those that are there now are unknown to it.
void InitLibdw() {
  static constexpr Dwfl_Callbacks kFiles = {
      .find_elf = dwfl_linux_proc_find_elf,
      .find_debuginfo = dwfl_standard_find_debuginfo,
      .section_address = nullptr,
      .debuginfo_path = nullptr};
  static constexpr Dwfl_Thread_Callbacks kThreads = {
      .next_thread = NextThread,
      .get_thread = FindThread,
      .memory_read = ReadMemory,
      .set_initial_registers = SetRegisters,
      .detach = nullptr,
      .thread_detach = nullptr};
  session = dwfl_begin(&kFiles);
  if (session == nullptr || dwfl_linux_proc_report(session, getpid()) != 0 ||
      dwfl_report_end(session, nullptr, nullptr) != 0 ||
      !dwfl_attach_state(session, nullptr, getpid(), &kThreads, nullptr)) {
    Fail("libdw cannot read this process");
  }
}

[[gnu::noinline]] size_t WalkLibdw(const ucontext_t& context,
                                   std::span<uint64_t> pcs) {
  start = &context;
  LibdwWalk walk{pcs};
  dwfl_getthread_frames(session, 1, OnFrame, &walk);
  return walk.count;
}

}  // namespace

const Walker kLibdw = {"libdw", WalkLibdw, InitLibdw, true, false};

}  // namespace unspool::bench
