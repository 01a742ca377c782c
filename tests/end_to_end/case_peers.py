#!/usr/bin/env python3
"""Each case under gperftools' CPU profiler (Debian's libprofiler) and under
unspool, in one table: what became of the program, and what was recorded.

    UNSPOOL_BUILD_DIR=../../build/release ./case_peers.py [ID...] [--json FILE]

Not a test: a peer's failures are facts about it. Minutes; wants google-perftools
and libjemalloc2. Ends only what it started.
"""

import argparse
import dataclasses
import glob
import json
import os
import re
import signal
import struct
import subprocess
import tempfile

import harness
import peers
import pprof_decode
import waiting

LIMIT_SECONDS = 180
LIBRARIES = "/usr/lib/x86_64-linux-gnu"


@dataclasses.dataclass
class Row:
    case: str
    what: str
    argv: list
    frequency: int = 4000  # of storms; totals are compared at 100
    preload: str = ""  # besides the profiler
    variables: dict = dataclasses.field(default_factory=dict)
    times: int = 1  # the program says how much CPU time one of so many used


def own(name, *arguments):
    return [harness.program(name), *arguments]


def rows():
    storm = own("exception_storm", "2")
    bootstrap = harness.program("liballocator_bootstrap.so")
    yield Row("DL-01, CR-02", "exceptions and dlopen, 4 threads", storm)
    yield Row("DL-02", "the same with tcmalloc's heap profiler", storm,
              preload=f"{LIBRARIES}/libtcmalloc.so.4",
              variables={"HEAPPROFILE": "heap"})
    yield Row("DL-02", "the same with jemalloc's", storm,
              preload=f"{LIBRARIES}/libjemalloc.so.2",
              variables={"MALLOC_CONF": "prof:true,lg_prof_sample:12"})
    yield Row("DL-04", "allocator that asks the loader", storm,
              preload=bootstrap)
    yield Row("CR-01", "CFI that leads anywhere", own("wrong_cfi", "100e6"))
    yield Row("CR-03", "backtrace() in loops", own("backtraces", "2"))
    yield Row("CR-04, CR-05", "stacks that are gone, guard pages",
              own("stale_stacks"))
    yield Row("CR-08", "stacks with little room", own("small_threads"))
    yield Row("CR-09", "threads by the thousand", own("thread_churn", "4"))
    yield Row("DO-02", "50 libraries come and go",
              own("churn/churn", harness.program("churn"), "3"))
    yield Row("DO-02", "iconv's libraries", own("iconv_churn", "3"))
    yield Row("DO-03", "10 MB of relocations",
              own("relocation/relocation", harness.program("relocation"), "3"))
    yield Row("FE-01", "fork, both burn", own("forks", "1"), 100)
    yield Row("FE-02", "exec without the agent", own("forks", "exec"))
    yield Row("FE-03", "20 forks of 512 MB", own("forks", "big"))
    yield Row("FE-04", "8 equal threads", own("equal_shares", "1"), 100)
    yield Row("FE-07", "threads of every kind", own("thread_kinds", "2"), 100)
    yield Row("FE-08", "20 commands", ["bash", "-c", f"{own('dies')[0]} exit;"
                                       * 20 + "true"], 100, times=20)
    yield Row("SI-01", "calls that block", own("blocked_calls", "2"))
    yield Row("SI-02", "errno, MXCSR, x87, direction",
              own("machine_state", "3"))
    yield Row("SI-03", "own SIGPROF handler", own("signal_owner"), 100)
    yield Row("SI-03", "sigwait() for SIGPROF", own("signal_owner", "sigwait"),
              100)
    yield Row("SI-03", "built with -pg", own("self_profiled", "single", "2"),
              100)
    yield Row("SI-04", "thread that blocks all signals",
              own("blocked_thread", "1"), 100)
    yield Row("SI-07", "work in signal handlers", own("nested_handlers"))
    yield Row("SI-08", "slow first instruction", own("first_instruction"))
    for sanitizer in ("address", "thread", "undefined"):
        yield Row("SI-10", f"clang -fsanitize={sanitizer}",
                  own(f"sanitized_clang_{sanitizer}", "1"))
    for how in ("_exit", "quick_exit", "abort", "15", "9"):
        name = signal.Signals(int(how)).name if how.isdigit() else how
        yield Row("US-03", f"ends by {name}", own("dies", how), 100)
    yield Row("US-07", "time in the kernel", own("system_time"), 100)
    yield Row("PF-04", "64 threads", own("totals", "threads", "3"), 100)
    yield Row("ST-06, ST-08", "ends that are none", own("odd_ends"))
    yield Row("ST-08", "static, musl", own("musl_spin"), 100)


@dataclasses.dataclass
class Ended:
    status: int = 0
    is_hung: bool = False
    stdout: str = ""
    stderr: str = ""
    cpu_ns: int = 0  # with the children that were waited for
    pid: int = 0


def run(argv, environment, directory):
    clean = {key: value for key, value in os.environ.items()
             if not key.startswith(("UNSPOOL_", "LD_PRELOAD", "CPUPROFILE"))}
    with tempfile.TemporaryFile("w+") as out, \
            tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(argv, stdout=out, stderr=err, cwd=directory,
                                   env={**clean, **environment},
                                   start_new_session=True)
        ended = Ended(pid=process.pid)
        ended.is_hung = not waiting.await_end(process, LIMIT_SECONDS)
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        ended.status = process.returncode
        for file in (out, err):
            file.seek(0)
        ended.stdout = out.read()
        ended.stderr = err.read()
    path = os.path.join(directory, "cpu")
    if os.path.exists(path):
        with open(path) as file:
            ended.cpu_ns = int(file.read() or 0)
    return ended


def gperftools(row, directory):
    """(what became of it, recorded CPU ns or None)."""
    path = os.path.join(directory, "gperftools")
    preload = ":".join(filter(None, (peers.LIBPROFILER, row.preload)))
    ended = run(row.argv, {**row.variables, "LD_PRELOAD": preload,
                           "CPUPROFILE": path, "E2E_RUSAGE": cpu_file(directory),
                           "CPUPROFILE_FREQUENCY": str(row.frequency)},
                directory)
    files = [name for name in glob.glob(path + "*") if os.path.getsize(name)]
    return ended, sum(map(legacy_total_ns, files)) if files else None


def legacy_total_ns(path):
    """Counts times period of gperftools' binary format: words; a header that
    says how long it is, then (count, depth, addresses)."""
    with open(path, "rb") as file:
        data = file.read()
    words = struct.unpack(f"<{len(data) // 8}Q", data[:len(data) // 8 * 8])
    total, place = 0, 2 + words[1]
    while place + 1 < len(words):
        count, depth = words[place], words[place + 1]
        if count == 0:
            break
        total += count
        place += 2 + depth
    return total * words[3] * 1000


def unspool(row, directory):
    path = os.path.join(directory, "unspool.pb.gz")
    command = [harness.UNSPOOL, "record", "-o", path, "-F",
               str(row.frequency), "--"]
    if row.preload:
        command += ["env", f"LD_PRELOAD={harness.AGENT}:{row.preload}"]
    ended = run([*command, *row.argv], {
        **row.variables, "E2E_RUSAGE": cpu_file(directory)}, directory)
    # The tool's way to tell of a signal.
    if ended.status > 128:
        ended.status = 128 - ended.status
    if not os.path.exists(path):
        return ended, None
    return ended, pprof_decode.load(path).total("cpu")


def cpu_file(directory):
    return os.path.join(directory, "cpu")


def verdict(row, plain, ended, recorded_ns):
    """In words; "" is good."""
    if ended.is_hung:
        return "hangs"
    found = []
    if ended.status != plain.status:
        found.append(f"killed by {signal.Signals(-ended.status).name}"
                     if ended.status < 0 else f"status {ended.status}")
    for word in ("interrupted", "strange", "wrong", "faults"):
        match = re.search(rf"{word} (\d+)", ended.stdout)
        if match and int(match[1]):
            found.append(f"{match[1]} {word}")
    if re.sub(r"\d+", "", ended.stdout) != re.sub(r"\d+", "", plain.stdout):
        found.append("output differs")
    if recorded_ns is None:
        found.append("no profile")
    elif ended.cpu_ns:
        share = recorded_ns / (row.times * ended.cpu_ns)
        if abs(share - 1) > 0.05:
            found.append(f"{share:.2f} of the CPU time")
    return ", ".join(found) or "right"


def compare(row):
    result = {"case": row.case, "what": row.what, "Hz": row.frequency}
    with tempfile.TemporaryDirectory(prefix="unspool-peers-") as directory:
        plain = run(row.argv, {**row.variables, "LD_PRELOAD": row.preload,
                               "E2E_RUSAGE": cpu_file(directory)}, directory)
        for name, profiler in (("gperftools", gperftools),
                               ("unspool", unspool)):
            place = os.path.join(directory, name + ".d")
            os.mkdir(place)
            result[name] = verdict(row, plain, *profiler(row, place))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("cases", nargs="*", metavar="ID")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    results = []
    print("| case | what | Hz | gperftools | unspool |\n|---|---|---|---|---|",
          flush=True)
    for row in rows():
        if options.cases and not any(name in row.case
                                     for name in options.cases):
            continue
        results.append(compare(row))
        print("|", " | ".join(map(str, results[-1].values())), "|", flush=True)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
