#include "tests/oracle/names.h"

#include <cstdio>
#include <cstring>

namespace unspool::oracle {
namespace {

const Dwfl_Callbacks kCallbacks = {
    .find_elf = dwfl_linux_proc_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = nullptr,
    .debuginfo_path = nullptr,
};

std::string Hex(uint64_t value) {
  char text[32];
  std::snprintf(text, sizeof(text), "+0x%lx", value);
  return text;
}

}  // namespace

void Names::Forget() {
  dwfl_end(dwfl_);
  dwfl_ = nullptr;
}

Dwfl* Names::dwfl() {
  if (dwfl_ == nullptr) {
    dwfl_ = dwfl_begin(&kCallbacks);
    dwfl_linux_proc_report(dwfl_, pid_);
    dwfl_report_end(dwfl_, nullptr, nullptr);
    dwfl_linux_proc_attach(dwfl_, pid_, /*assume_ptrace_stopped=*/true);
  }
  return dwfl_;
}

std::string Names::Of(uint64_t pc) {
  Dwfl_Module* module = dwfl_addrmodule(dwfl(), pc);
  if (module == nullptr) return "? " + Hex(pc);
  GElf_Addr start = 0;
  const char* path = dwfl_module_info(module, nullptr, &start, nullptr, nullptr,
                                      nullptr, nullptr, nullptr);
  const char* slash = std::strrchr(path, '/');
  std::string name = std::string(slash == nullptr ? path : slash + 1) + " ";
  GElf_Off offset = 0;
  GElf_Sym symbol;
  const char* function = dwfl_module_addrinfo(module, pc, &offset, &symbol,
                                              nullptr, nullptr, nullptr);
  // A far neighbour is none: it has a size, and ends before.
  if (function == nullptr || offset >= symbol.st_size) {
    return name + Hex(pc - start);
  }
  return name + function + Hex(offset);
}

std::string Names::FunctionOf(uint64_t pc) {
  const std::string name = Of(pc);
  return name.substr(0, name.rfind('+'));
}

Stack Names::WalkByLibdw(pid_t tid) {
  Stack stack;
  const int status = dwfl_getthread_frames(
      dwfl(), tid,
      [](Dwfl_Frame* frame, void* result) {
        Dwarf_Addr pc = 0;
        if (!dwfl_frame_pc(frame, &pc, nullptr)) return DWARF_CB_ABORT + 0;
        static_cast<Stack*>(result)->pcs.push_back(pc);
        return DWARF_CB_OK + 0;
      },
      &stack);
  if (status != DWARF_CB_OK) stack.end = "error";
  return stack;
}

}  // namespace unspool::oracle
