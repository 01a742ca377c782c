// Ordinary C++ full of templates, for comparing names and lines with addr2line.
#include <algorithm>
#include <iostream>
#include <map>
#include <numeric>
#include <regex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
namespace app {
template <typename T>
struct Table {
  std::map<std::string, std::vector<T>> rows;
  void Add(const std::string& key, T value) { rows[key].push_back(value); }
  T Sum() const {
    T sum{};
    for (const auto& [key, row] : rows)
      sum += std::accumulate(row.begin(), row.end(), T{});
    return sum;
  }
};
static int Parse(const std::string& text) {
  std::regex pattern("([a-z]+)=([0-9]+)");
  std::smatch match;
  int total = 0;
  std::string rest = text;
  while (std::regex_search(rest, match, pattern)) {
    total += std::stoi(match[2]);
    rest = match.suffix();
  }
  return total;
}
}  // namespace app
int main(int argc, char** argv) {
  app::Table<double> table;
  std::vector<std::string> words(argv, argv + argc);
  std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) {
    return a.size() < b.size() || a < b;
  });
  for (auto& w : words) table.Add(w, static_cast<double>(app::Parse(w)));
  std::unordered_map<int, std::string> m;
  for (int i = 0; i < 100; ++i) m[i] = std::to_string(i);
  std::ostringstream s;
  for (auto& [k, v] : m) s << k << v;
  std::cout << table.Sum() << s.str().size() << "\n";
  try {
    throw std::runtime_error("x");
  } catch (const std::exception& e) {
    std::cout << e.what();
  }
}
