// Reads everything that a spool lets one read, whatever it says.

#ifndef UNSPOOL_TESTS_COLLECTORS_SPOOL_DRAIN_H_
#define UNSPOOL_TESTS_COLLECTORS_SPOOL_DRAIN_H_

#include <cstdint>
#include <span>

#include "collectors/spool/spool_reader.h"

namespace unspool::collectors {

// How much there was, of each thing that views show.
struct Drained {
  SpoolStatus status = SpoolStatus::kOk;
  size_t images = 0;
  size_t modules = 0;
  size_t threads = 0;
  size_t counters = 0;
  size_t whole_stacks = 0;
  uint64_t bytes_sum = 0;  // of all bytes that views refer to
};

// Visits everything; every byte of every view is read, so a view that reaches
// outside the spool is found by AddressSanitizer.
inline Drained Drain(std::span<const uint8_t> bytes) {
  Drained all;
  SpoolReader reader;
  all.status = reader.Open(bytes);
  if (all.status != SpoolStatus::kOk) return all;
  const auto add_bytes = [&](auto view) {
    for (const auto byte : view) all.bytes_sum += static_cast<uint8_t>(byte);
  };
  all.images = reader.image_count();
  for (size_t i = 0; i < all.images; ++i) {
    const ImageView image = reader.image(i);
    add_bytes(image.engine);
    add_bytes(image.executable);
    add_bytes(image.command_line);
    add_bytes(image.hostname);
    reader.ForEachModule(i, [&](const ModuleView& module) {
      ++all.modules;
      add_bytes(module.path);
      add_bytes(module.build_id);
      for (size_t j = 0; j < module.segment_count; ++j) {
        all.bytes_sum += module.segments[j].start & 1;
      }
    });
    const uint64_t node_count = reader.node_count(i);
    reader.ForEachThread(i, [&](const ThreadView& thread) {
      ++all.threads;
      reader.ForEachCounter(i, thread, [&](const CounterView& counter) {
        ++all.counters;
        uint32_t id = counter.stack;
        NodeView node;
        for (;;) {
          const NodeChunkView chunk = reader.NodeChunkOf(i, id);
          if (!chunk.Find(id, &node)) break;
          if (chunk.IndexOf(id) >= node_count || node.parent >= id) {
            __builtin_trap();
          }
          id = node.parent;
        }
        all.whole_stacks += id != 0 && id < kFirstNode;
      });
    });
  }
  reader.ForEachArchived([&](const ArchivedView& image) {
    SpoolReader::ForEachArchivedThread(
        image, [&](const ThreadView&, ArchivedCounters counters) {
          ++all.threads;
          ArchivedCounter counter;
          while (counters.Next(&counter)) {
            ++all.counters;
            uint32_t id = counter.counter.stack;
            NodeView node;
            while (reader.FindArchivedNode(id, &node)) id = node.parent;
            all.whole_stacks += id != 0 && id < kFirstNode;
          }
        });
  });
  return all;
}

}  // namespace unspool::collectors

#endif  // UNSPOOL_TESTS_COLLECTORS_SPOOL_DRAIN_H_
