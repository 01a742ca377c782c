"""gperftools and `perf record` on the same commands, for real_programs.py."""

import dataclasses
import os
import re
import signal
import subprocess
import time

import harness
import pprof_decode

LIBPROFILER = "/usr/lib/x86_64-linux-gnu/libprofiler.so.0"
# Post-processing that takes longer is given up; the table says so.
SCRIPT_LIMIT_SECONDS = 300

_THREAD_STARTS = {"clone3", "__clone3", "clone", "__clone", "start_thread"}


@dataclasses.dataclass
class PeerRun:
    samples: int = 0
    cpu_ns: int = 0  # as the peer's own profile states it
    rooted: int = 0
    note: str = ""


def gperftools_environment(path, frequency):
    return {"LD_PRELOAD": LIBPROFILER, "CPUPROFILE": path,
            "CPUPROFILE_FREQUENCY": str(frequency)}


def read_gperftools(path, program, status):
    """What is in the profile that gperftools left at `path`."""
    if status < 0:
        return PeerRun(note=f"killed by {signal.Signals(-status).name}")
    if not os.path.exists(path) or os.path.getsize(path) == 0:
        return PeerRun(note="no profile")
    program = os.path.realpath(program)  # it becomes the mapping's name
    converted = path + ".pb"
    subprocess.run(["go", "tool", "pprof", "-proto", "-symbolize=none",
                    "-output", converted, program, path],
                   capture_output=True, check=True, timeout=120)
    profile = pprof_decode.load_foreign(converted)
    main = os.path.basename(program)
    rooted = 0
    for sample in profile.samples:
        modules = [frame.module for frame in sample.frames]
        if _ends_in_start(modules, main):
            rooted += harness.count(profile, sample)
    return PeerRun(profile.total("samples"), profile.total("cpu"), rooted)


def _ends_in_start(modules, main):
    """By modules alone, as binaries are stripped: libc called by the program's
    outermost frame (_start), or a thread's two outermost frames in libc."""
    if len(modules) < 2:
        return False
    in_libc = [module.startswith("libc.so") for module in modules[-2:]]
    return in_libc[0] and (modules[-1] == main or in_libc[1])


@dataclasses.dataclass
class PerfScript:
    run: PeerRun
    seconds: float
    data_bytes: int


def perf_prefix(path, frequency):
    return ["perf", "record", "-q", "-F", str(frequency), "--call-graph",
            "dwarf", "-o", path, "--"]


def read_perf(path, program):
    """What `perf script` makes of perf.data, and how long it takes."""
    size = os.path.getsize(path)
    start = time.monotonic()
    text = _perf_script(path, [])
    seconds = time.monotonic() - start
    note = ""
    if text is None:
        note = f"given up after {SCRIPT_LIMIT_SECONDS} s, then --no-inline"
        text = _perf_script(path, ["--no-inline"])
    run = _count_perf(text or "", os.path.basename(os.path.realpath(program)))
    run.note = note
    return PerfScript(run, seconds, size)


def _perf_script(path, options):
    """Its text, or None when it takes too long."""
    try:
        result = subprocess.run(
            ["perf", "script", "-i", path, "-F", "comm,tid,ip,sym,dso",
             *options], capture_output=True, text=True, errors="replace",
            timeout=SCRIPT_LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        return None
    return result.stdout


def _count_perf(text, main):
    """Samples are blocks of lines "ip symbol (dso)", leaf first."""
    run = PeerRun()
    frame = re.compile(r"\s+[0-9a-f]+ (.*) \((.*)\)$")
    for block in text.split("\n\n"):
        frames = [match for match in map(frame.match, block.splitlines())
                  if match and match[2] != "inlined"]
        if not frames:
            continue
        run.samples += 1
        modules = [os.path.basename(match[2]) for match in frames]
        symbol = frames[-1][1].split("+")[0]
        run.rooted += (symbol == "_start" or symbol in _THREAD_STARTS or
                       _ends_in_start(modules, main))
    return run
