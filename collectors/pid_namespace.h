// Which pid namespace this process is in, and whether its next child will be.

#ifndef UNSPOOL_COLLECTORS_PID_NAMESPACE_H_
#define UNSPOOL_COLLECTORS_PID_NAMESPACE_H_

#include <cstdint>

namespace unspool::collectors {

// The number of the pid namespace of this process (namespaces(7)), which says
// in which one its pid counts; 0 where /proc does not tell, or may not be
// asked. Async-signal-safe.
uint32_t OwnPidNamespace();

// False after the calling thread's unshare(CLONE_NEWPID) or setns(): its next
// child is the new namespace's init, with whose end the namespace ends, and
// must be the program's own (pid_namespaces(7)). True where /proc does not
// tell. Async-signal-safe.
bool StayChildrenInOurPidNamespace();

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_PID_NAMESPACE_H_
