#include "tests/oracle/libunwind_walk.h"

#include <libunwind-ptrace.h>

#include "tests/oracle/agent_protocol.h"

namespace unspool::oracle {

struct LibunwindWalk::Space {
  unw_addr_space_t value = unw_create_addr_space(&_UPT_accessors, 0);
};

LibunwindWalk::LibunwindWalk() : space_(std::make_unique<Space>()) {
  unw_set_caching_policy(space_->value, UNW_CACHE_GLOBAL);
}

LibunwindWalk::~LibunwindWalk() { unw_destroy_addr_space(space_->value); }

void LibunwindWalk::Forget() { unw_flush_cache(space_->value, 0, 0); }

Stack LibunwindWalk::Walk(pid_t tid) {
  Stack stack;
  int status = -UNW_EUNSPEC;
  void* state = _UPT_create(tid);
  unw_cursor_t cursor;
  if (unw_init_remote(&cursor, space_->value, state) == 0) {
    do {
      unw_word_t pc = 0;
      status = unw_get_reg(&cursor, UNW_REG_IP, &pc);
      if (status != 0 || pc == 0) break;
      stack.pcs.push_back(pc);
      status = unw_step(&cursor);
    } while (status > 0 && stack.pcs.size() < kMaxFrames);
  }
  _UPT_destroy(state);
  if (status != 0) stack.end = "error";
  return stack;
}

}  // namespace unspool::oracle
