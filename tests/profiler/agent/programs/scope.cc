// scope OUTPUT: the C++ class, alone and where it must refuse.

#include <unspool/profiler.h>

#include <cerrno>
#include <utility>

#include "spin.h"

int main(int, char** argv) {
  unspool_options options = {};
  options.output = argv[1];
  unspool::Profiler profiler(options);
  if (profiler.status() != 0) return 1;
  spin_ms(200);
  {
    const unspool::Profiler second(options);
    if (second.status() != -EALREADY) return 2;
  }  // does not end the first
  spin_ms(100);
  if (profiler.Stop() != 0 || profiler.Stop() != 0) return 3;
  options.output = "/nowhere/at/all.pb";
  return unspool::Profiler(options).status() == -ENOENT ? 0 : 4;
}
