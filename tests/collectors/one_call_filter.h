// A seccomp filter for tests of what happens under one.

#ifndef UNSPOOL_TESTS_COLLECTORS_ONE_CALL_FILTER_H_
#define UNSPOOL_TESTS_COLLECTORS_ONE_CALL_FILTER_H_

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include <cstdint>

#include "collectors/seccomp_probe.h"

namespace unspool::collectors {

// A filter that allows everything but one call.
class OneCallFilter {
 public:
  OneCallFilter(uint32_t call, uint32_t action)
      : code_{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
              BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
              BPF_STMT(BPF_RET | BPF_K, action),
              BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)},
        program_{4, code_} {}

  // For this process, for good.
  void Install() const {
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program_);
  }

  SeccompRequest request() const {
    return {SECCOMP_SET_MODE_FILTER, &program_};
  }

 private:
  sock_filter code_[4];
  sock_fprog program_;
};

}  // namespace unspool::collectors

#endif  // UNSPOOL_TESTS_COLLECTORS_ONE_CALL_FILTER_H_
