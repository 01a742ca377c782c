#include "exporters/sample_value.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <limits>
#include <span>

#include "absl/status/status.h"

namespace unspool::exporters {
namespace {

struct Unit {
  std::string_view shown;
  double factor;  // in the family's base unit
  std::array<std::string_view, 3> names;
};

struct UnitFamily {
  std::span<const Unit> units;  // smallest first
  Unit fallback;                // for values below all units
};

constexpr Unit kTimeUnits[] = {
    {"ns", 1, {"ns", "nanosecond"}},
    {"us", 1e3, {"us", "microsecond", "μs"}},
    {"ms", 1e6, {"ms", "millisecond"}},
    {"s", 1e9, {"s", "second", "sec"}},
    {"hrs", 3600e9, {"hour", "hr"}},
};
constexpr Unit kSizeUnits[] = {
    {"B", 0x1p0, {"b", "byte"}},
    {"kB", 0x1p10, {"kb", "kbyte", "kilobyte"}},
    {"MB", 0x1p20, {"mb", "mbyte", "megabyte"}},
    {"GB", 0x1p30, {"gb", "gbyte", "gigabyte"}},
    {"TB", 0x1p40, {"tb", "tbyte", "terabyte"}},
    {"PB", 0x1p50, {"pb", "pbyte", "petabyte"}},
};
constexpr UnitFamily kFamilies[] = {{kTimeUnits, kTimeUnits[3]},
                                    {kSizeUnits, kSizeUnits[0]}};

// Case and a plural s do not matter.
const Unit* FindUnit(const UnitFamily& family, std::string_view name) {
  std::string wanted;
  for (char c : name) {
    wanted += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  if (wanted.size() > 2 && wanted.back() == 's') wanted.pop_back();
  if (wanted.empty()) return nullptr;
  for (const Unit& unit : family.units) {
    for (std::string_view candidate : unit.names) {
      if (candidate == wanted) return &unit;
    }
  }
  return nullptr;
}

const Unit& LargestUnitWithin(const UnitFamily& family, double amount) {
  for (size_t i = family.units.size(); i-- > 0;) {
    if (amount / family.units[i].factor >= 1) return family.units[i];
  }
  return family.fallback;
}

bool IsUnshownUnit(std::string_view unit) {
  return unit == "count" || unit == "sample" || unit == "unit" ||
         unit == "auto";
}

}  // namespace

absl::StatusOr<size_t> SampleTypeIndex(const Profile& profile,
                                       std::string_view type) {
  if (auto index = profile.FindSampleType(type)) return *index;
  std::string message =
      "no values of type '" + std::string(type) + "'; there are:";
  for (const ValueType& known : profile.sample_types) {
    message += " " + std::string(profile.strings[known.type]);
  }
  return absl::InvalidArgumentError(message);
}

int64_t AddValues(int64_t a, int64_t b) {
  constexpr std::numeric_limits<int64_t> kLimits;
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? kLimits.max() : kLimits.min();
}

int64_t Magnitude(int64_t value) {
  return value < 0 ? -std::max(value, -std::numeric_limits<int64_t>::max())
                   : value;
}

Quantity ScaleValue(int64_t value, std::string_view from, std::string_view to) {
  for (const UnitFamily& family : kFamilies) {
    const Unit* from_unit = FindUnit(family, from);
    if (from_unit == nullptr) continue;
    const double amount = static_cast<double>(value) * from_unit->factor;
    const Unit* to_unit = FindUnit(family, to);
    const Unit& unit = to == "auto"
                           ? LargestUnitWithin(family, std::abs(amount))
                       : to_unit != nullptr ? *to_unit
                                            : family.fallback;
    return {amount / unit.factor, std::string(unit.shown)};
  }
  return {static_cast<double>(value), IsUnshownUnit(to) ? "" : std::string(to)};
}

std::string FormatValue(int64_t value, std::string_view from,
                        std::string_view to) {
  const Quantity quantity = ScaleValue(value, from, to);
  char digits[64];
  std::snprintf(digits, sizeof(digits), "%.2f", quantity.amount);
  std::string text = digits;
  if (text.ends_with(".00")) text.resize(text.size() - 3);
  if (text == "0" || text == "-0") return "0";
  return text + quantity.unit;
}

std::string FormatPercentage(double value, double total) {
  const double percent = total == 0 ? 0 : 100 * std::abs(value / total);
  if (percent >= 99.95 && percent <= 100.05) return "  100%";
  char text[64];
  std::snprintf(text, sizeof(text), percent >= 1 ? "%5.2f%%" : "%5.2g%%",
                percent);
  return text;
}

std::string ChooseTableUnit(int64_t smallest, int64_t largest,
                            std::string_view unit) {
  if (smallest == 0) smallest = largest;
  std::string chosen = ScaleValue(smallest, unit, "auto").unit;
  const int64_t hundredth = largest / 100 + (largest % 100 != 0 ? 1 : 0);
  if (chosen != ScaleValue(largest, unit, "auto").unit &&
      smallest < hundredth) {
    // Two decimals show a hundredth of the larger unit.
    chosen = ScaleValue(100 * smallest, unit, "auto").unit;
  }
  return chosen.empty() ? std::string(unit) : chosen;
}

}  // namespace unspool::exporters
