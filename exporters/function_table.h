// Flat and cumulative values by function, the figures and order of pprof's -top
// without its trimming.

#ifndef UNSPOOL_EXPORTERS_FUNCTION_TABLE_H_
#define UNSPOOL_EXPORTERS_FUNCTION_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "exporters/frame_names.h"
#include "exporters/profile.h"
#include "exporters/sample_filter.h"

namespace unspool::exporters {

struct FunctionRow {
  uint32_t name = 0;  // a number of the FrameNames
  int64_t flat = 0;
  int64_t cum = 0;
  bool called = false;   // has a caller that it was not inlined into
  bool inlined = false;  // has one that it was inlined into
};

struct FunctionTable {
  int64_t total = 0;  // see TotalValue
  std::vector<FunctionRow> rows;
};

// What percentages are of: the sum of absolute values of all samples, filtered
// or not; in a difference, of the base's.
// Never allocates but for a difference's labels.
int64_t TotalValue(const Profile& profile, size_t value_index);

// The rows of values[value_index] of the samples that `filter` keeps, the
// largest flat value first. Rows with neither value are left out.
// Not async-signal-safe: allocates.
FunctionTable BuildFunctionTable(const Profile& profile,
                                 const FrameNames& names, size_t value_index,
                                 const SampleFilter& filter);

// The smallest value, beside 0, that has to be readable in the table.
int64_t SmallestValue(const FunctionTable& table);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_FUNCTION_TABLE_H_
