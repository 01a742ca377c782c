// The compiler attributes that code here needs, each in one place.

#ifndef UNSPOOL_UNWIND_ATTRIBUTES_H_
#define UNSPOOL_UNWIND_ATTRIBUTES_H_

// For functions that read stack memory word by word: red zones of
// AddressSanitizer and races seen by ThreadSanitizer do not concern them.
#define UNSPOOL_READS_RAW_STACK \
  __attribute__((no_sanitize("address", "undefined", "thread")))

#endif  // UNSPOOL_UNWIND_ATTRIBUTES_H_
