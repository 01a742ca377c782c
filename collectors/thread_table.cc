#include "collectors/thread_table.h"

#include <sys/mman.h>

#include <new>

namespace unspool::collectors {
namespace {

// Never unmapped; nullptr: no memory.
void* Map(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Everything of the thread before, but for the memory, the place in the table,
// and the log, which AddThread begins anew.
void Clear(ThreadState& state) {
  state.next_free = nullptr;
  state.start = {};
  state.stack_request = {};
  state.stack = {};
  state.cpu_at_start_ns = 0;
  state.is_found = false;
  state.seems_blocked = false;
  state.had_source = false;
  state.lacks_event = false;
  state.signal = 0;
  state.max_depth = 0;
  state.source.Delete();
  state.busy.store(0);
  state.samples.store(0, std::memory_order_relaxed);
  state.losses.store(0, std::memory_order_relaxed);
  state.weight_ns.store(0, std::memory_order_relaxed);
  state.name = {};
}

}  // namespace

ThreadState* ThreadTable::MapNew() {
  if (slots_ == nullptr) slots_ = static_cast<Slots*>(Map(sizeof(Slots)));
  if (slots_ == nullptr || mapped_ == kMaxThreads) return nullptr;
  void* memory = Map(sizeof(ThreadState));
  if (memory == nullptr) return nullptr;
  auto* state = new (memory) ThreadState;
  state->index = mapped_;
  slots_->states[mapped_++].store(state, std::memory_order_release);
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
  state.source.Delete();
  set_tid(state, 0);
  --used_;
  state.next_free = free_;
  free_ = &state;
}

ThreadState* ThreadTable::FindByStack(uint64_t high) {
  for (uint32_t i = 0; i < mapped_; ++i) {
    ThreadState* state = At(i);
    if (state != nullptr && slots_->tids[i] > 0 && state->stack.high == high) {
      return state;
    }
  }
  return nullptr;
}

void ThreadTable::KeepAfterFork(ThreadState* own) {
  free_ = nullptr;
  used_ = 0;
  mapped_ = 0;
  if (slots_ == nullptr) return;
  // A state that another thread had just mapped may be there uncounted.
  for (; mapped_ < kMaxThreads && At(mapped_) != nullptr; ++mapped_) {
    slots_->tids[mapped_] = 0;
  }
  if (own == nullptr) return;
  own->source.ForgetAfterFork();
  const unwind::StackBounds stack = own->stack;
  Clear(*own);
  own->stack = stack;
  used_ = 1;
}

ThreadState* ThreadTable::FindByTid(int32_t tid) {
  for (uint32_t i = 0; i < mapped_; ++i) {
    if (slots_->tids[i] == tid) return At(i);
  }
  return nullptr;
}

}  // namespace unspool::collectors
