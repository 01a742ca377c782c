// Names of code that a JIT compiler made in a recorded process: finds what the
// compiler wrote for profilers, and reads it.

#ifndef UNSPOOL_EXPORTERS_SYMBOLIZER_JIT_NAMES_H_
#define UNSPOOL_EXPORTERS_SYMBOLIZER_JIT_NAMES_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "exporters/symbolizer/jit_addresses.h"
#include "exporters/symbolizer/jit_file.h"

namespace unspool::exporters {

// Thread rule: one thread.
class JitNames {
 public:
  // `tick` must outlive this object; what it throws comes out of Find.
  explicit JitNames(const Tick& tick) : tick_(tick) {}

  // Names what jit-PID.dump names, then what perf-PID.map names, of:
  //   /tmp, as the process saw it; of one that nobody saw as it does while it
  //   lives, and as we do;
  //   the folder where the process was, or is, and where we are: V8's jitdump;
  //   .debug/jit/*/ in $JITDUMPDIR, else in $HOME: that of LLVM and of Java's
  //   agent of perf.
  // Where the process does not have our number, only of folders that it was
  // seen to have. Not async-signal-safe: allocates, reads files.
  void Find(const JitProcess& process, JitAddresses* addresses);

  // Why files that are there are not used, one line each: "PATH: why".
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  template <typename Read>
  void ReadFile(const std::string& path, const std::string& shown_path,
                const JitProcess& process, const JitAddresses& addresses,
                Read read);
  void ListDebugFolders();

  const Tick& tick_;
  bool is_listed_ = false;
  // Names of jitdumps below .debug/jit: where they are.
  std::multimap<std::string, std::string> dumps_;
  std::vector<std::string> problems_;
};

}  // namespace unspool::exporters

#endif  // UNSPOOL_EXPORTERS_SYMBOLIZER_JIT_NAMES_H_
