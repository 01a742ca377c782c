#include "collectors/thread_table.h"

#include <sys/mman.h>

#include <new>

#include "unwind/mapped_memory.h"

namespace unspool::collectors {
namespace {

// Everything of the thread before, but for the memory, the place in the table,
// and the log, which AddThread begins anew.
void Clear(ThreadState& state) {
  state.start = {};
  state.stack_request = {};
  state.stack = {};
  state.self.store(0, std::memory_order_relaxed);
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
  state.brake = {};
  state.pace = {};
  state.name = {};
}

uint64_t NextHead(uint64_t head, uint32_t first) {
  return ((head >> 32) + 1) << 32 | first;
}

}  // namespace

ThreadState* ThreadTable::PopFree() {
  uint64_t head = free_.load(std::memory_order_acquire);
  for (;;) {
    const auto index = static_cast<uint32_t>(head);
    if (index == 0) return nullptr;
    ThreadState* state = At(index - 1);
    // Another thread may have it by now; then the exchange fails.
    const uint64_t next =
        NextHead(head, state->next_free.load(std::memory_order_relaxed));
    if (free_.compare_exchange_weak(head, next, std::memory_order_acquire)) {
      return state;
    }
  }
}

void ThreadTable::PushFree(ThreadState& state) {
  uint64_t head = free_.load(std::memory_order_relaxed);
  do {
    state.next_free.store(static_cast<uint32_t>(head),
                          std::memory_order_relaxed);
  } while (!free_.compare_exchange_weak(head, NextHead(head, state.index + 1),
                                        std::memory_order_release));
}

ThreadState* ThreadTable::MapNew() {
  if (slots_ == nullptr)
    slots_ = static_cast<Slots*>(unwind::MapZeroed(sizeof(Slots)));
  if (slots_ == nullptr) return nullptr;
  void* memory = unwind::MapZeroed(sizeof(ThreadState));
  if (memory == nullptr) return nullptr;
  uint32_t index = mapped_.load(std::memory_order_relaxed);
  do {
    if (index == kMaxThreads) {
      munmap(memory, sizeof(ThreadState));
      return nullptr;
    }
  } while (!mapped_.compare_exchange_weak(index, index + 1,
                                          std::memory_order_relaxed));
  auto* state = new (memory) ThreadState;
  state->index = index;
  slots_->states[index].store(state, std::memory_order_release);
  return state;
}

ThreadState* ThreadTable::Acquire(int32_t tid) {
  ThreadState* state = PopFree();
  if (state != nullptr) {
    Clear(*state);
  } else {
    state = MapNew();
    if (state == nullptr) return nullptr;
  }
  used_.fetch_add(1, std::memory_order_relaxed);
  set_tid(*state, tid);
  return state;
}

void ThreadTable::Release(ThreadState& state) {
  state.source.Delete();
  set_tid(state, 0);
  used_.fetch_sub(1, std::memory_order_relaxed);
  PushFree(state);
}

ThreadState* ThreadTable::FindByStack(uint64_t high) {
  const uint32_t mapped = mapped_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < mapped; ++i) {
    if (TidAt(i) > 0 && At(i)->stack.high == high) return At(i);
  }
  return nullptr;
}

void ThreadTable::KeepAfterFork(ThreadState* own) {
  free_.store(0, std::memory_order_relaxed);
  used_.store(0, std::memory_order_relaxed);
  if (slots_ == nullptr) return;
  const uint32_t mapped = mapped_.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < mapped; ++i) {
    slots_->tids[i].store(0, std::memory_order_relaxed);
  }
  if (own == nullptr) return;
  own->source.ForgetAfterFork();
  const unwind::StackBounds stack = own->stack;
  Clear(*own);
  own->stack = stack;
  used_.store(1, std::memory_order_relaxed);
}

ThreadState* ThreadTable::FindByTid(int32_t tid) {
  const uint32_t mapped = mapped_.load(std::memory_order_acquire);
  for (uint32_t i = 0; i < mapped; ++i) {
    if (TidAt(i) == tid) return At(i);
  }
  return nullptr;
}

}  // namespace unspool::collectors
