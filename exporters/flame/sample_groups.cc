#include "exporters/flame/sample_groups.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "exporters/merge.h"
#include "exporters/sample_value.h"

namespace unspool::exporters {
namespace {

struct Thread {
  StringId name = 0;
  int64_t tid = 0;  // 0: unknown
  bool operator==(const Thread&) const = default;
  template <typename H>
  friend H AbslHashValue(H hash, const Thread& thread) {
    return H::combine(std::move(hash), thread.name, thread.tid);
  }
};

struct LabelFacts {
  Thread thread;
  bool guessed = false;
  bool waiting = false;
  bool is_base = false;
};

LabelFacts ReadLabels(const Profile& profile, std::span<const Label> labels) {
  LabelFacts facts;
  StringId comm = 0;
  for (const Label& label : labels) {
    const std::string_view key = profile.strings[label.key];
    if (key == "thread") facts.thread.name = label.str;
    if (key == "comm") comm = label.str;
    if (key == "tid" && label.str == 0) facts.thread.tid = label.num;
    if (key == "unwind" && profile.strings[label.str] == "guessed") {
      facts.guessed = true;
    }
    if (key == "state" && profile.strings[label.str] == "waiting") {
      facts.waiting = true;
    }
  }
  if (facts.thread.name == 0) facts.thread.name = comm;
  return facts;
}

std::string TextOf(const Profile& profile, const Thread& thread) {
  std::string text(profile.strings[thread.name]);
  if (thread.tid == 0) return text;
  const std::string tid = std::to_string(thread.tid);
  return text.empty() ? tid : text + " (" + tid + ")";
}

// Threads by number, with the weight of each.
class ThreadTable {
 public:
  uint32_t FindOrAdd(const Thread& thread) {
    const auto [entry, is_new] =
        numbers_.try_emplace(thread, static_cast<uint32_t>(threads_.size()));
    if (is_new) {
      threads_.push_back(thread);
      weights_.push_back(0);
    }
    return entry->second;
  }

  void AddWeight(uint32_t thread, int64_t value) {
    weights_[thread] = AddValues(weights_[thread], Magnitude(value));
  }

  // The texts that are kept, and by thread which of them is its own.
  std::vector<std::string> Number(const Profile& profile, bool by_name,
                                  std::vector<uint32_t>* text_of) const {
    text_of->resize(threads_.size());
    if (by_name || threads_.size() > SampleGroups::kMaxThreads) {
      return NumberNames(profile, text_of);
    }
    std::iota(text_of->begin(), text_of->end(), 0);
    std::vector<std::string> texts;
    for (const Thread& thread : threads_) {
      texts.push_back(TextOf(profile, thread));
    }
    return texts;
  }

 private:
  std::vector<std::string> NumberNames(const Profile& profile,
                                       std::vector<uint32_t>* text_of) const {
    ThreadTable names;
    for (size_t i = 0; i < threads_.size(); ++i) {
      (*text_of)[i] = names.FindOrAdd({.name = threads_[i].name});
      names.AddWeight((*text_of)[i], weights_[i]);
    }
    std::vector<uint32_t> order(names.threads_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](uint32_t i) { return names.weights_[i]; });
    const bool all_fit = order.size() <= SampleGroups::kMaxThreads;
    const size_t kept = all_fit ? order.size() : SampleGroups::kMaxThreads - 1;
    std::vector<uint32_t> rank(order.size());
    std::vector<std::string> texts;
    for (size_t i = 0; i < order.size(); ++i) {
      rank[order[i]] = static_cast<uint32_t>(std::min(i, kept));
      if (i < kept) texts.push_back(TextOf(profile, names.threads_[order[i]]));
    }
    if (!all_fit) texts.push_back("(other threads)");
    for (uint32_t& text : *text_of) text = rank[text];
    return texts;
  }

  absl::flat_hash_map<Thread, uint32_t> numbers_;
  std::vector<Thread> threads_;
  std::vector<int64_t> weights_;
};

}  // namespace

SampleGroups GroupSamples(const Profile& profile, size_t value_index) {
  const DiffBase base(profile);
  SampleGroups result;
  result.is_difference =
      base.is_diff() || FindDiffSums(profile, value_index).has_value();
  ThreadTable threads;
  // Threads are their numbers in the table until all are known.
  std::vector<SampleGroup> groups(profile.sample_count());
  std::span<const Label> last;
  LabelFacts last_facts;
  for (size_t i = 0; i < groups.size(); ++i) {
    const Sample sample = profile.sample(i);
    const int64_t value = sample.values[value_index];
    // Neighbours share their labels.
    if (sample.labels.data() != last.data() ||
        sample.labels.size() != last.size()) {
      last = sample.labels;
      last_facts = ReadLabels(profile, last);
      last_facts.is_base = base.Has(sample);
    }
    groups[i] = {.thread = threads.FindOrAdd(last_facts.thread),
                 .guessed = last_facts.guessed,
                 .before = base.is_diff() ? last_facts.is_base : value < 0,
                 .waiting = last_facts.waiting};
    result.is_difference |= groups[i].before;
    threads.AddWeight(groups[i].thread, value);
  }
  std::vector<uint32_t> text_of;
  result.threads = threads.Number(profile, result.is_difference, &text_of);

  absl::flat_hash_map<uint32_t, uint32_t> numbers;
  for (SampleGroup group : groups) {
    group.thread = text_of[group.thread];
    const uint32_t key = group.thread << 3 | uint32_t{group.waiting} << 2 |
                         uint32_t{group.guessed} << 1 | group.before;
    const auto [entry, is_new] =
        numbers.try_emplace(key, static_cast<uint32_t>(result.groups.size()));
    if (is_new) result.groups.push_back(group);
    result.of_sample.push_back(entry->second);
  }
  return result;
}

}  // namespace unspool::exporters
