// A call instruction, as an architecture recognizes it before an address, and
// the stub that it may aim at.

#ifndef UNSPOOL_UNWIND_CALL_SITE_H_
#define UNSPOOL_UNWIND_CALL_SITE_H_

#include <cstdint>

namespace unspool::unwind {

struct CallSite {
  enum class Kind : uint8_t { kNone, kDirect, kIndirect };

  Kind kind = Kind::kNone;
  // kDirect: what it calls. kIndirect: the word that says what, 0 if that is no
  // fixed place.
  uint64_t target = 0;
};

// Code that only jumps elsewhere, as in a PLT.
struct JumpStub {
  enum class Kind : uint8_t { kNone, kDirect, kIndirect };

  Kind kind = Kind::kNone;
  // kDirect: where it jumps. kIndirect: the word that says where.
  uint64_t target = 0;
};

}  // namespace unspool::unwind

#endif  // UNSPOOL_UNWIND_CALL_SITE_H_
