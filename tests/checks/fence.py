"""Where the signal fence runs: which code runs inside our handler, and what it
may call. Each folder's README says the same in words."""

import fnmatch

# Archives with code that runs in the handler, and the folder of each.
ARCHIVES = {
    "libunspool_unwind.a": "unwind",
    "libunspool_collectors.a": "collectors",
    "libunspool_spool.a": "collectors/spool",
}

# Sources that never run in the handler: they start, stop and read.
SETUP_SOURCES = (
    "unwind/load/*",
    "exporters/*",
    "profiler/*",
    "collectors/spool/*_setup.cc",
    "collectors/spool/spool_reader.*",
    "collectors/spool/malloc_array.h",
)

# The signal handler, as the linker knows it.
HANDLER = ""

# Stack that functions of libc use, with room: these are leaves or thin wrappers
# of system calls.
EXTERNAL_STACK_BYTES = {}

# Functions that call through a pointer, and what they may reach.
INDIRECT_CALLS = {}


def is_setup(path):
    return any(fnmatch.fnmatch(path, pattern) for pattern in SETUP_SOURCES)


def is_setup_member(folder, source):
    """`source`: a member's name without ".o", which has lost its folder."""
    return is_setup(f"{folder}/{source}")


def is_handler_source(path):
    return path.startswith(tuple(f"{f}/" for f in ARCHIVES.values())) and \
        not is_setup(path)
