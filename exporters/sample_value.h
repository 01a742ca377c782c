// Sample types by name, and their values as text, in the way of pprof's tables.

#ifndef UNSPOOL_EXPORTERS_SAMPLE_VALUE_H_
#define UNSPOOL_EXPORTERS_SAMPLE_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "exporters/profile.h"

namespace unspool::exporters {

// Profile::FindSampleType, or InvalidArgument with the names that there are.
absl::StatusOr<size_t> SampleTypeIndex(const Profile& profile,
                                       std::string_view type);

// Sums and absolute values of a stranger's numbers: they end at the limits of
// int64_t instead of overflowing. Never allocates.
int64_t AddValues(int64_t a, int64_t b);
int64_t Magnitude(int64_t value);

// A number and the unit that it is to be read in.
struct Quantity {
  double amount;
  std::string unit;
};

// `value`, measured in `from`, in the unit `to`; in the largest unit that gives
// at least 1 if `to` is "auto". Times, sizes and GCUs are converted; what
// pprof does not show ("count") becomes "", other units stay.
// Not async-signal-safe: allocates.
Quantity ScaleValue(int64_t value, std::string_view from, std::string_view to);

// The same as text: "1.23s", "450ms", "0".
// Not async-signal-safe: allocates.
std::string FormatValue(int64_t value, std::string_view from,
                        std::string_view to);

// `value` of `total`, at least two digits, 6 wide: " 1.25%", "  100%".
// Not async-signal-safe: allocates.
std::string FormatPercentage(double value, double total);

// The one unit for a table whose smallest and largest values these are: fine
// enough that the smallest is not 0 when printed with two decimals.
// Not async-signal-safe: allocates.
std::string ChooseTableUnit(int64_t smallest, int64_t largest,
                            std::string_view unit);

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SAMPLE_VALUE_H_
