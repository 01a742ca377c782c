// libiberty parses and prints; what is here keeps it from running for ever.
// Each of the three languages has back references, by which a few hundred bytes
// can stand for a name of 2^100 characters.

#include "exporters/symbolizer/demangle.h"

#define HAVE_DECL_BASENAME 1  // libiberty's would differ from <cstring>'s
#include <libiberty/demangle.h>

#include <algorithm>
#include <csetjmp>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "exporters/symbolizer/cpp_name_size.h"

namespace unspool::exporters {
namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// Takes what libiberty prints, and leaves it once that is too long. Between
// setjmp and longjmp there is nothing to destroy: this lies outside.
struct Output {
  std::string text;
  std::jmp_buf too_long;
};

void Append(const char* text, size_t size, void* opaque) {
  auto* output = static_cast<Output*>(opaque);
  if (output->text.size() + size > kMaxDemangledSize) {
    std::longjmp(output->too_long, 1);
  }
  output->text.append(text, size);
}

// Runs print(Append, output); false if it fails or the name is too long.
template <typename Print>
bool IsPrinted(Output* output, Print print) {
  return setjmp(output->too_long) == 0 && print(Append, output) != 0;
}

std::string DemangleCpp(const std::string& symbol) {
  void* memory = nullptr;
  demangle_component* tree =
      cplus_demangle_v3_components(symbol.c_str(), DMGL_PARAMS, &memory);
  const std::unique_ptr<void, Free> owner(memory);
  Output output;
  if (tree == nullptr || !IsPrintableSize(tree) ||
      !IsPrinted(&output, [tree](demangle_callbackref append, void* opaque) {
        return cplus_demangle_print_callback(DMGL_PARAMS | DMGL_ANSI, tree,
                                             append, opaque);
      })) {
    return symbol;
  }
  return std::move(output.text);
}

// Returns "" for what is not Rust.
std::string DemangleRust(const std::string& symbol) {
  Output output;
  const bool is_rust = IsPrinted(&output, [&symbol](demangle_callbackref append,
                                                    void* opaque) {
    return rust_demangle_callback(symbol.c_str(), DMGL_NO_OPTS, append, opaque);
  });
  return is_rust ? std::move(output.text) : "";
}

// How long the name of a D symbol may become. A back reference ("Q" and a
// number in base 26, the last digit in lower case) stands for what lies between
// its target and itself, at most; one to an identifier (a digit) is one word.
bool IsPrintableD(std::string_view symbol) {
  std::vector<uint64_t> sizes(symbol.size() + 1);  // of all before
  for (size_t i = 0; i < symbol.size(); ++i) {
    uint64_t size = 1;
    if (symbol[i] == 'Q') {
      uint64_t distance = 0;
      size_t digit = i + 1;
      for (; digit < symbol.size() && distance <= i && symbol[digit] >= 'A' &&
             symbol[digit] <= 'Z';
           ++digit) {
        distance = distance * 26 + static_cast<uint64_t>(symbol[digit] - 'A');
      }
      if (digit < symbol.size() && symbol[digit] >= 'a' &&
          symbol[digit] <= 'z') {
        distance = distance * 26 + static_cast<uint64_t>(symbol[digit] - 'a');
      }
      const bool is_valid = distance > 0 && distance <= i;
      const size_t target = i - (is_valid ? distance : 0);
      if (is_valid && (symbol[target] < '0' || symbol[target] > '9')) {
        size = sizes[i] - sizes[target];
      }
    }
    sizes[i + 1] = sizes[i] + size;
    if (sizes[i + 1] > kMaxDemangledSize) return false;
  }
  return true;
}

std::string DemangleD(const std::string& symbol) {
  if (!IsPrintableD(symbol)) return symbol;
  const std::unique_ptr<char, Free> name(
      dlang_demangle(symbol.c_str(), DMGL_NO_OPTS));
  return name == nullptr ? symbol : name.get();
}

// Where the suffixes begin that compilers add to the names of clones.
size_t FindSuffix(const std::string& symbol) {
  size_t dot = symbol.find('.');
  if (symbol.starts_with("_ZN")) {
    // In Rust's legacy symbols dots are part of names, which end in "E".
    const size_t end = symbol.rfind("E.");
    dot = end == symbol.npos ? end : end + 1;
  }
  return std::min(dot, symbol.size());
}

}  // namespace

std::string Demangle(const std::string& symbol) {
  const bool is_cpp = symbol.starts_with("_Z");
  const bool is_rust = symbol.starts_with("_R");
  if (symbol.size() > kMaxMangledSize ||
      (!is_cpp && !is_rust && !symbol.starts_with("_D"))) {
    return symbol;
  }
  const size_t suffix = FindSuffix(symbol);
  const std::string base = symbol.substr(0, suffix);
  std::string name;
  if (is_cpp || is_rust) name = DemangleRust(base);
  if (is_cpp && name.empty()) return DemangleCpp(symbol);
  if (!is_cpp && !is_rust) name = DemangleD(base);
  if (name.empty() || name == base) return symbol;
  if (suffix == symbol.size()) return name;
  return name + " [clone " + symbol.substr(suffix) + "]";
}

}  // namespace unspool::exporters
