#include "collectors/thread_table.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

namespace unspool::collectors {
namespace {

// Everything of the thread before, but for the memory and the place in the
// table.
void Clear(ThreadState& state) {
  state.next_free = nullptr;
  state.start = {};
  state.stack_request = {};
  state.stack = {};
  state.cpu_at_start_ns = 0;
  state.had_timer = false;
  state.max_depth = 0;
  state.timer.Delete();
  state.busy.store(0);
  state.samples.store(0, std::memory_order_relaxed);
  state.losses.store(0, std::memory_order_relaxed);
  state.weight_ns.store(0, std::memory_order_relaxed);
  state.is_disarmed = false;
  state.name = {};
  std::memset(static_cast<void*>(&state.log), 0, sizeof(state.log));
  std::memset(static_cast<void*>(&state.scratch), 0, sizeof(state.scratch));
}

}  // namespace

ThreadState* ThreadTable::MapNew() {
  if (mapped_ == kMaxThreads) return nullptr;
  void* memory = mmap(nullptr, sizeof(ThreadState), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* state = new (memory) ThreadState;
  state->index = mapped_;
  states_[mapped_++].store(state, std::memory_order_release);
  return state;
}

ThreadState* ThreadTable::Acquire(int32_t tid) {
  ThreadState* state = free_;
  if (state != nullptr) {
    free_ = state->next_free;
    Clear(*state);
  } else {
    state = MapNew();
    if (state == nullptr) return nullptr;
  }
  ++used_;
  set_tid(*state, tid);
  return state;
}

void ThreadTable::Release(ThreadState& state) {
  state.timer.Delete();
  set_tid(state, 0);
  --used_;
  state.next_free = free_;
  free_ = &state;
}

void ThreadTable::ForgetAfterFork() {
  used_ = 0;
  free_ = nullptr;
  for (uint32_t i = 0; i < mapped_; ++i) {
    ThreadState* state = states_[i].load(std::memory_order_relaxed);
    state->timer.ForgetAfterFork();
    tids_[i] = 0;
    state->next_free = free_;
    free_ = state;
  }
}

ThreadState* ThreadTable::FindByTid(int32_t tid) {
  for (uint32_t i = 0; i < mapped_; ++i) {
    if (tids_[i] == tid) return states_[i].load(std::memory_order_relaxed);
  }
  return nullptr;
}

}  // namespace unspool::collectors
