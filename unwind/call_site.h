// A call instruction, as an architecture recognizes it before an address.

#ifndef UNSPOOL_UNWIND_CALL_SITE_H_
#define UNSPOOL_UNWIND_CALL_SITE_H_

#include <cstdint>

namespace unspool::unwind {

struct CallSite {
  enum class Kind : uint8_t { kNone, kDirect, kIndirect };

  Kind kind = Kind::kNone;
  uint64_t target = 0;  // kDirect
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_CALL_SITE_H_
