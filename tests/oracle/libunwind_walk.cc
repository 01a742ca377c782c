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

std::vector<uint64_t> LibunwindWalk::Walk(pid_t tid) {
  std::vector<uint64_t> pcs;
  void* state = _UPT_create(tid);
  unw_cursor_t cursor;
  if (unw_init_remote(&cursor, space_->value, state) == 0) {
    do {
      unw_word_t pc = 0;
      if (unw_get_reg(&cursor, UNW_REG_IP, &pc) != 0 || pc == 0) break;
      pcs.push_back(pc);
    } while (pcs.size() < kMaxFrames && unw_step(&cursor) > 0);
  }
  _UPT_destroy(state);
  return pcs;
}

}  // namespace unspool::oracle
