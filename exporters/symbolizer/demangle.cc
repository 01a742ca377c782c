#include "exporters/symbolizer/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace unspool::exporters {

std::string Demangle(const std::string& symbol) {
  // __cxa_demangle takes type names too: without the check "f" would be float.
  if (!symbol.starts_with("_Z") || symbol.size() > kMaxMangledSize) {
    return symbol;
  }
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
      &std::free);
  return status == 0 && demangled != nullptr ? demangled.get() : symbol;
}

}  // namespace unspool::exporters
