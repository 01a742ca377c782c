"""Where the signal fence runs: which code runs inside our handler, and what it
may call. Each folder's README says the same in words."""

import fnmatch
import pathlib
import re

# Archives with code that runs in the handler, and the folder of each.
ARCHIVES = {
    "libunspool_unwind.a": "unwind",
    "libunspool_collectors.a": "collectors",
    "libunspool_spool.a": "collectors/spool",
}

# Sources that never run in the handler: they start, stop and read, or run in a
# thread of our own.
SETUP_SOURCES = (
    "exporters/*",
    "profiler/*",
    "unwind/load/*",
    "unwind/dynamic_symbol.*",
    "unwind/fde_index.*",
    "unwind/later_setup.*",
    "unwind/module_setup.*",
    "unwind/own_files.*",
    "unwind/self_unwinder_setup.*",
    "unwind/startup_object.*",
    "collectors/engine_choice.*",
    "collectors/engine_fork.*",
    "collectors/helper_thread.*",
    "collectors/seccomp_probe.*",
    "collectors/stack_bounds.*",
    "collectors/thread_finder.*",
    "collectors/thread_wait.*",
    "collectors/wall_clock.*",
    "collectors/wall_look.*",
    "collectors/wall_thread.*",
    "collectors/spool/*_setup.cc",
    "collectors/spool/archive_modules.*",
    "collectors/spool/id_index.h",
    "collectors/spool/spool_archive.*",
    "collectors/spool/spool_reader*",
    "collectors/spool/spool_view.*",
    "collectors/spool/mapped_array.h",
)

# Setup code that a source of both kinds calls where it starts and stops. That
# the handler does not get there is the stack check's business: it would have to
# know how much stack they use.
SETUP_CALLS = {
    "collectors/sampling_engine.cc": {
        "_ZN7unspool10collectors14NewThreadStackERKNS0_12StackRequestE",
        "_ZN7unspool10collectors15MainThreadStackEv",
    },
}

# The signal handler, as the linker knows it: SamplingEngine::OnSignal.
HANDLER = "_ZN7unspool10collectors14SamplingEngine8OnSignalEiP9siginfo_tPv"

# What it does on the thread state's own stack: SamplingEngine::RunTick.
TICK = "_ZN7unspool10collectors14SamplingEngine7RunTickEPv"

# Not for ticks: the program's own signals.
FORWARD = "_ZN7unspool10collectors13ForwardSignalEiP9siginfo_tPv"

# Assembly, which GCC gives no figures for: bytes of its own on the caller's
# stack, and what it calls there.
ASSEMBLY = {
    "unspool_call_on_stack": (24, None),
    "unspool_call_in_child":
        (24, "_ZN7unspool10collectors12_GLOBAL__N_110RunInChildEPv"),
}

# Functions that call through a pointer, and what that may be.
INDIRECT_CALLS = {
    "_ZN7unspool6unwind12LaterModules": {"_dl_find_object"},
    # The source of modules that the recorder gives it.
    "_ZN7unspool10collectors11SpoolWriter13FindOrAddBias":
        {"_ZNK7unspool6unwind12SelfUnwinder10FindModuleEj"},
    "_ZN7unspool10collectors9ModuleLog3Add":
        {"_ZN7unspool10collectors8Recorder16PresentDirectoryEPcm"},
    # The program's own handler of our signal: its stack is not ours, and it
    # would run in any case.
    "_ZN7unspool10collectors13ForwardSignal": set(),
}


def allowed_symbols():
    """What handler code may take from libc, and how much stack that uses, in
    bytes: fence_symbols.txt."""
    text = pathlib.Path(__file__).with_name("fence_symbols.txt").read_text()
    words = re.sub(r"#.*", "", text).split()
    return dict(zip(words[::2], map(int, words[1::2]), strict=True))


def is_setup(path):
    return any(fnmatch.fnmatch(path, pattern) for pattern in SETUP_SOURCES)


def setup_calls(folder, source):
    return SETUP_CALLS.get(f"{folder}/{source}", set())


def is_handler_source(path):
    return path.startswith(tuple(f"{f}/" for f in ARCHIVES.values())) and \
        not is_setup(path)
