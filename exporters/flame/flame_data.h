// The bytes that the page draws from; page/data.js reads them. README.md has
// the layout.

#ifndef UNSPOOL_EXPORTERS_FLAME_FLAME_DATA_H_
#define UNSPOOL_EXPORTERS_FLAME_FLAME_DATA_H_

#include <cstddef>
#include <string>

#include "exporters/flame/flame_facts.h"
#include "exporters/flame/flame_tree.h"
#include "exporters/flame/sample_groups.h"
#include "exporters/flame/stack_frames.h"

namespace unspool::exporters {

// If the names, files and threads are more than `max_text_bytes`, the long ones
// lose their middle ("std::map<…>::find"), in steps, down to 64 bytes.
// Any thread. Not async-signal-safe: allocates.
std::string EncodeFlameData(const FlameFacts& facts, const StackFrames& frames,
                            const SampleGroups& groups, const FlameTree& tree,
                            size_t max_text_bytes);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_FLAME_FLAME_DATA_H_
