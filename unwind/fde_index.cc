#include "unwind/fde_index.h"

#include <cstddef>
#include <utility>

#include "unwind/mapped_memory.h"

namespace unspool::unwind {
namespace {

bool IsDiscarded(const CfiSection& section, const Fde& fde) {
  return section.format == CfiFormat::kDebugFrame &&
         fde.pc_begin == section.bias;
}

// Calls on_fde(fde) for each FDE of a function.
template <class OnFde>
void ForEachFde(std::span<const uint8_t> bytes, const CfiSection& section,
                OnFde&& on_fde) {
  SpanSource source(bytes, section.address);
  CfiEntryCursor cursor(section);
  CfiEntry entry;
  while (cursor.Next(source, &entry)) {
    Cie cie;
    Fde fde;
    if (entry.kind == CfiEntry::Kind::kFde &&
        ReadFde(source, section, entry.address, &cie, &fde) &&
        fde.pc_begin < fde.pc_end && !IsDiscarded(section, fde)) {
      on_fde(fde);
    }
  }
}

// Heap sort: in place, and no worst case. std::sort would need libstdc++.
void SiftDown(std::span<FdeIndexEntry> heap, size_t root) {
  for (;;) {
    size_t child = 2 * root + 1;
    if (child >= heap.size()) return;
    if (child + 1 < heap.size() &&
        heap[child].pc_begin < heap[child + 1].pc_begin) {
      ++child;
    }
    if (heap[root].pc_begin >= heap[child].pc_begin) return;
    std::swap(heap[root], heap[child]);
    root = child;
  }
}

void Sort(std::span<FdeIndexEntry> entries) {
  for (size_t i = entries.size() / 2; i > 0; --i) SiftDown(entries, i - 1);
  for (size_t size = entries.size(); size > 1; --size) {
    std::swap(entries[0], entries[size - 1]);
    SiftDown(entries.first(size - 1), 0);
  }
}

}  // namespace

std::span<const FdeIndexEntry> BuildFdeIndex(std::span<const uint8_t> bytes,
                                             const CfiSection& section) {
  size_t count = 0;
  ForEachFde(bytes, section, [&](const Fde&) { ++count; });
  if (count == 0) return {};
  const auto index = MapArray<FdeIndexEntry>(count);
  if (index.empty()) return {};
  size_t next = 0;
  ForEachFde(bytes, section, [&](const Fde& fde) {
    if (next < count) index[next++] = {fde.pc_begin, fde.pc_end, fde.address};
  });
  Sort(index.first(next));
  return index.first(next);
}

}  // namespace unspool::unwind
