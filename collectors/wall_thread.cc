#include "collectors/wall_thread.h"

#include <new>

#include "unwind/mapped_memory.h"

namespace unspool::collectors {

WallThread* WallThreadTable::Add(int32_t tid) {
  uint32_t i = 0;
  if (used_ == end_) {
    i = end_;
  } else {
    while (At(i).tid != 0) ++i;
  }
  if (i == kMaxThreads) return nullptr;
  Block*& block = blocks_[i / kBlockSize];
  if (block == nullptr) {
    block = static_cast<Block*>(unwind::MapZeroed(sizeof(Block)));
    if (block == nullptr) return nullptr;
  }
  auto* thread = new (&At(i)) WallThread;
  thread->tid = tid;
  if (i == end_) ++end_;
  ++used_;
  return thread;
}

void WallThreadTable::Release(WallThread& thread) {
  thread.tid = 0;
  --used_;
}

WallThread* WallThreadTable::Find(int32_t tid) {
  for (uint32_t n = 0; n < end_; ++n) {
    const uint32_t i = hint_ + n < end_ ? hint_ + n : hint_ + n - end_;
    if (At(i).tid != tid) continue;
    hint_ = i + 1 < end_ ? i + 1 : 0;
    return &At(i);
  }
  return nullptr;
}

void WallThreadTable::Clear() {
  ForEach([](WallThread& thread) { thread.tid = 0; });
  end_ = 0;
  used_ = 0;
  hint_ = 0;
}

}  // namespace unspool::collectors
