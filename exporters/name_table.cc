#include "exporters/name_table.h"

namespace unspool::exporters {

uint32_t FunctionTable::Intern(const Function& function,
                               std::vector<Function>* functions) {
  const auto [entry, is_new] = indices_.try_emplace(
      KeyOf(function), static_cast<uint32_t>(functions->size()));
  if (is_new) functions->push_back(function);
  return entry->second;
}

std::vector<uint32_t> FunctionTable::InternAll(const NameTable& names,
                                               Profile* profile) {
  std::vector<uint32_t> indices;
  indices.reserve(names.functions().size());
  for (const Function& function : names.functions()) {
    const auto intern = [&](StringId id) {
      return profile->strings.Intern(names.strings()[id]);
    };
    indices.push_back(Intern({.name = intern(function.name),
                              .system_name = intern(function.system_name),
                              .filename = intern(function.filename),
                              .start_line = function.start_line},
                             &profile->functions));
  }
  return indices;
}

void NameTable::Add(uint32_t key, std::span<const NamedFrame> frames) {
  entries_.push_back(
      {key, static_cast<uint32_t>(frames.size()), lines_.size()});
  for (const NamedFrame& frame : frames) {
    const Function function = {
        .name = strings_.Intern(frame.name),
        .system_name = strings_.Intern(frame.system_name),
        .filename = strings_.Intern(frame.file),
        .start_line = frame.start_line,
    };
    lines_.push_back({indices_.Intern(function, &functions_), frame.line});
  }
}

}  // namespace unspool::exporters
