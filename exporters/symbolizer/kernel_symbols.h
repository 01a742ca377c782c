// The functions of the kernel that runs here, by /proc/kallsyms. Our own
// engines record none of its addresses; profiles of others have them, in a
// mapping
// "[kernel.kallsyms]…" that begins at the symbol _text or _stext.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_KERNEL_SYMBOLS_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_KERNEL_SYMBOLS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace unspool::exporters {

// Whether a mapping of that name is a kernel's, of a machine and not of a
// guest.
bool IsKernelPath(std::string_view path);

// Thread rule: const after Load.
class KernelSymbols {
 public:
  // Reads the symbols, unless the mapping of build `build_id` (hex) that begins
  // at `start` is not of the kernel that runs now, where it is now: every boot
  // may put it elsewhere. PermissionDenied: addresses are hidden from this
  // user. NotFound: another kernel, or one that does not tell. Not
  // async-signal-safe: reads files, allocates.
  absl::Status Load(std::string_view build_id, uint64_t start,
                    const std::string& symbols = "/proc/kallsyms",
                    const std::string& notes = "/sys/kernel/notes");

  // The function in the kernel's own text (not that of a loadable module, whose
  // end is not known) that covers the address; "" if there is none.
  std::string_view Find(uint64_t address) const;

 private:
  struct Symbol {
    uint64_t address;
    char type;  // as nm(1): T global, W weak, t local
    std::string name;
  };

  void Parse(std::string_view text);
  void KeepText(uint64_t start, uint64_t end);

  std::vector<Symbol> symbols_;  // by address, one for each; the last is an end
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_KERNEL_SYMBOLS_H_
