// For real_programs.py: 64 threads of ordinary C++: strings, maps, sorting.
//
// worker_threads [rounds per thread]
// Prints a checksum that does not depend on how the threads interleave.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "burn.h"

namespace {

constexpr int kThreads = 64;

uint64_t CountWords(std::mt19937& random) {
  std::map<std::string, int> words;
  for (int i = 0; i < 2000; ++i) {
    ++words["word-" + std::to_string(random() % 500)];
  }
  return std::accumulate(words.begin(), words.end(), uint64_t{0},
                         [](uint64_t sum, const auto& word) {
                           return sum * 31 +
                                  word.first.size() *
                                      static_cast<uint64_t>(word.second);
                         });
}

uint64_t SortNumbers(std::mt19937& random) {
  std::vector<uint32_t> numbers(5000);
  std::generate(numbers.begin(), numbers.end(), std::ref(random));
  std::sort(numbers.begin(), numbers.end());
  return numbers[numbers.size() / 2];
}

void Work(int seed, int rounds, uint64_t* result) {
  std::mt19937 random(static_cast<unsigned>(seed));
  for (int i = 0; i < rounds; ++i) {
    *result += CountWords(random) ^ SortNumbers(random);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = static_cast<int>(argument(argc, argv, 1, 120));
  std::vector<uint64_t> results(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back(Work, i, rounds, &results[static_cast<size_t>(i)]);
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("checksum %016llx\n",
              static_cast<unsigned long long>(std::accumulate(
                  results.begin(), results.end(), uint64_t{0})));
  report_rusage();
  return 0;
}
