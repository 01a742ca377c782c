/* unspool: profile a region of the process you are in.
 *
 * Plain C. Every call returns 0, or a negative errno; none throws, none ends
 * the process. Link unspool::agent (libunspool.so or libunspool.a).
 * Not async-signal-safe; any thread may call, calls are serialized.
 */
#ifndef UNSPOOL_UNSPOOL_H_
#define UNSPOOL_UNSPOOL_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Set `size` to sizeof(unspool_options): it says which version of this struct
 * the caller was built with. A zero elsewhere asks for what the environment
 * says (UNSPOOL_OUTPUT, UNSPOOL_FREQUENCY, ...), and without it for the
 * default. */
typedef struct unspool_options {
  size_t size;
  const char* output; /* profile to write at stop, "profile.pb.gz"; gzip unless
                         it ends in ".pb". %p pid, %n program, %t seconds since
                         1970, %h host, %% a %. */
  uint32_t frequency; /* samples per CPU second and thread, 1..10000; 100 */
  uint32_t max_depth; /* frames kept of a stack, 1..65536; 1024 */
  int sample_signal;  /* a standard signal; SIGPROF */
  int clock;          /* UNSPOOL_CLOCK_CPU: time that threads run;
                         UNSPOOL_CLOCK_WALL: and time that they wait; CPU */
} unspool_options;

#define UNSPOOL_CLOCK_CPU 1
#define UNSPOOL_CLOCK_WALL 2

typedef struct unspool_state {
  size_t size;        /* set by the caller, as above */
  int running;        /* 1 while samples are taken */
  uint32_t frequency; /* asked for */
  uint64_t samples;   /* taken so far */
  uint64_t lost;      /* could not be kept */
} unspool_state;

/* Starts sampling every thread there is and every one that comes. In a program
 * that `unspool record` runs, into its recording; then no profile is written
 * here. Children of fork() are sampled too under `unspool record`, else only if
 * UNSPOOL_CHILDREN is on. options NULL: all zero. -EALREADY: it runs; -EINVAL:
 * bad value (of a variable, too) or size; -EAGAIN: no timer to be had (ulimit
 * -i), or no thread for the wall clock (ulimit -u); -EACCES, -ENOSPC, ...: the
 * output or the recording cannot be written. Needs 48 KiB of stack. */
int unspool_start(const unspool_options* options);

/* Ends what unspool_start() began, and writes the profile. -ESRCH: it began
 * nothing, and what `unspool record` or UNSPOOL_OUTPUT began goes on; otherwise
 * why the profile could not be written. exit() does the same. The signal's
 * handler stays in place and does nothing. */
int unspool_stop(void);

/* Writes the profile so far; sampling goes on. -ESRCH: it does not run. */
int unspool_flush(void);

/* -EINVAL: bad size. */
int unspool_get_state(unspool_state* state);

/* For compilers that make code while the program runs, and do not tell GDB of
 * it (__jit_debug_descriptor), which is enough; whether it is sampled or not,
 * before and after unspool_start(). What is registered here is known to the
 * copy of the agent that is called.
 *
 * [start, start + size) is called `name`, which is copied, until the same
 * addresses are registered again. Samples before keep the name of that time.
 * -EINVAL: empty, or no name; -ENOSPC: the process has registered 262,143
 * pieces of code or 32 MiB of names; -ENOMEM. */
int unspool_register_code(const void* start, size_t size, const char* name);

/* Stacks go on through the functions that the call-frame information at `data`
 * describes, with the run-time addresses that it says. It is not copied, and
 * must stay until it is unregistered. Code without it is left by frame pointer
 * if it has one. Returns a handle, > 0, or a negative errno. -EFAULT: it cannot
 * be read; -EINVAL: nothing there can be understood; -ENOSPC: the process has
 * registered 262,143 functions; -ENOMEM. */
#define UNSPOOL_FRAMES_EH_FRAME 1    /* as .eh_frame, terminated or not */
#define UNSPOOL_FRAMES_DEBUG_FRAME 2 /* as .debug_frame */
int unspool_register_frames(const void* data, size_t size, int kind);

/* After it `data` is not used. -EINVAL: no such handle. */
int unspool_unregister_frames(int handle);

#ifdef __cplusplus
}
#endif

#endif /* UNSPOOL_UNSPOOL_H_ */
