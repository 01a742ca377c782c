// Whether a child process of ours would be an ordinary one.

#ifndef UNSPOOL_COLLECTORS_PID_NAMESPACE_H_
#define UNSPOOL_COLLECTORS_PID_NAMESPACE_H_

namespace unspool::collectors {

// False after the calling thread's unshare(CLONE_NEWPID) or setns(): its next
// child is the new namespace's init, with whose end the namespace ends, and
// must be the program's own (pid_namespaces(7)). True where /proc does not
// tell. Async-signal-safe.
bool StayChildrenInOurPidNamespace();

}  // namespace unspool::collectors

#endif  // UNSPOOL_COLLECTORS_PID_NAMESPACE_H_
