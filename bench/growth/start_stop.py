#!/usr/bin/env python3
"""What the agent costs at a program's start and end, and how large a recording
becomes.

    start_stop.py BUILD [--rounds N] [--spool-minutes M]

/bin/true with the agent preloaded, beside none and gperftools' profiler: elapsed
time, peak memory, and time with 2,000 modules more; memory of each of 64 threads
that take some samples at 100 Hz; the raw profile of a million distinct stacks;
the spool of a compiler that runs again and again, sampled at 4 kHz: an hour at
1 kHz is as many samples as a quarter of one there.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests/end_to_end")]
import paired  # noqa: E402
import peers  # noqa: E402
import workloads  # noqa: E402

MODULES = 2000
STACKS = 1_000_000
HOUR_OF_SAMPLES = 3_600_000
TRUE = ["/bin/true"]
PROCESSES = 20  # of a round
LOADED_PROCESSES = 5  # with all those modules
THREADS = 64  # of engine_target
THREAD_CPU_SECONDS = 4  # of all of them
MIB = 1 << 20


class Bench:
    def __init__(self, build, directory):
        self.build, self.directory = os.path.abspath(build), directory
        self.modules = []

    def binary(self, name):
        return os.path.join(self.build, "bin", name)

    def profilers(self):
        """{name: (library, environment)}"""
        out = os.path.join(self.directory, "profile")
        return {
            "unspool": (os.path.join(self.build, "lib/libunspool.so"),
                        {"UNSPOOL_OUTPUT": out + ".pb.gz"}),
            "gperftools": (peers.LIBPROFILER, {"CPUPROFILE": out}),
        }

    def copy_modules(self):
        source = os.path.join(self.build, "lib/libbench_link.so")
        for number in range(MODULES):
            path = os.path.join(self.directory, f"link-{number}.so")
            shutil.copy(source, path)
            self.modules.append(path)

    def run(self, command, processes, libraries, environment):
        """Of so many runs of a command: [(elapsed ms, peak MiB)]."""
        result = subprocess.run(
            [self.binary("process_cost"), str(processes), *command],
            capture_output=True, text=True, check=True, timeout=300,
            env={"PATH": os.environ["PATH"], **environment,
                 "COMMAND_PRELOAD": ":".join(libraries)})
        rows = [list(map(int, line.split()))
                for line in result.stdout.splitlines()]
        return [(row[0] / 1e6, row[2] / 1024) for row in rows]

    def more(self, command, processes, profiler, rounds):
        """What the profiler adds to the least of a round: intervals of (ms,
        MiB). What else the machine does only ever adds."""
        library, environment = self.profilers()[profiler]
        differences = []
        for _ in range(rounds):
            plain, profiled = (
                [min(column) for column in zip(
                    *self.run(command, processes, libraries, environment))]
                for libraries in ([], [library]))
            differences.append([b - a for a, b in zip(plain, profiled)])
        return [paired.interval(column) for column in zip(*differences)]

    def more_when_loaded(self, profiler, rounds):
        """What it adds to the quickest start with all modules, in ms: to load
        them takes half a second, and never the same."""
        library, environment = self.profilers()[profiler]
        least = [float("inf")] * 2
        for _ in range(rounds):
            for i, extra in enumerate(([], [library])):
                runs = self.run(TRUE, LOADED_PROCESSES,
                                [*self.modules, *extra], environment)
                least[i] = min(least[i], min(ms for ms, _ in runs))
        return least[1] - least[0]


def measure_start(bench, rounds):
    results = {}
    print(f"{'/bin/true':12}{'ms more':>24}{'MiB more':>24}"
          f"{f'ms, {MODULES} modules':>20}{'KiB a thread':>24}")
    threads = [bench.binary("engine_target"), "threads",
               str(THREAD_CPU_SECONDS)]
    for profiler in bench.profilers():
        ms, mib = bench.more(TRUE, PROCESSES, profiler, rounds)
        _, with_threads = bench.more(threads, 1, profiler, rounds)
        # Less what is there without threads.
        thread_kib = [(one - mib[0]) * 1024 / THREADS for one in with_threads]
        loaded_ms = bench.more_when_loaded(profiler, rounds)
        results[profiler] = {"ms": ms, "mib": mib, "loaded_ms": loaded_ms,
                             "thread_kib": thread_kib}
        print(f"{profiler:12}{text_of(ms):>24}{text_of(mib):>24}"
              f"{loaded_ms:20.1f}{text_of(thread_kib):>24}", flush=True)
    return results


def text_of(interval):
    return "{:.2f} ({:.2f}..{:.2f})".format(*interval)


def measure_stop(bench, rounds):
    runs = [json.loads(subprocess.run(
        [bench.binary("unspool_growth"), "stop", str(STACKS)],
        capture_output=True, text=True, check=True, timeout=600).stdout)
        for _ in range(min(rounds, 3))]
    ms = statistics.median(run["stop_ms"] for run in runs)
    print(f"\nraw profile of {STACKS:,} distinct stacks: {ms:.0f} ms, "
          f"{runs[0]['bytes'] / MIB:.1f} MiB")
    return {"ms": ms, "bytes": runs[0]["bytes"]}


def spool_bytes(pid):
    """Memory of the recording that `unspool record` keeps; None: not there."""
    try:
        for fd in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{fd}"
            if os.readlink(path).startswith("/memfd:"):
                return os.stat(path).st_blocks * 512
    except OSError:
        pass
    return None


def measure_spool(bench, minutes):
    compiler = next(workload for workload in workloads.undriven(bench.directory)
                    if workload.name == "cc1plus")
    flag = os.path.join(bench.directory, "stop")
    process = subprocess.Popen(
        [bench.binary("unspool"), "record", "-F", "4000", "-o",
         os.path.join(bench.directory, "spool.pb.gz"), "--", "sh", "-c",
         'while [ ! -e "$0" ]; do "$@" || exit 1; done', flag, *compiler.argv],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    sizes = []
    end = time.monotonic() + 60 * minutes
    while process.poll() is None:
        size = spool_bytes(process.pid)
        if size is not None:
            sizes.append(size)
        if time.monotonic() > end:
            pathlib.Path(flag).touch()
        time.sleep(1)
    summary = process.stderr.read()
    samples = re.search(r"(\d+) samples", summary)
    if process.returncode != 0 or samples is None or not sizes:
        raise ValueError(f"unspool record: {summary}")
    samples = int(samples[1])
    last, middle = sizes[-1], sizes[len(sizes) // 2]
    # As it grew in the second half.
    hour = last + (last - middle) / (samples / 2) * max(
        0, HOUR_OF_SAMPLES - samples)
    print(f"\nspool of cc1plus, again and again: {last / MIB:.1f} MiB after "
          f"{samples:,} samples; an hour at 1 kHz: {hour / MIB:.1f} MiB")
    return {"samples": samples, "bytes_each_second": sizes,
            "hour_mib": hour / MIB}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--spool-minutes", type=float, default=15)
    options = parser.parse_args()
    if options.rounds < 2:
        parser.error("--rounds is at least 2")
    with tempfile.TemporaryDirectory(prefix="unspool-bench-") as directory:
        bench = Bench(options.build, directory)
        bench.copy_modules()
        try:
            results = {"start": measure_start(bench, options.rounds),
                       "stop": measure_stop(bench, options.rounds),
                       "spool": measure_spool(bench, options.spool_minutes)}
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            sys.exit(f"start_stop.py: {error}\n"
                     f"{getattr(error, 'stderr', None) or ''}")
    paired.save(options.build, "start_stop", results)


if __name__ == "__main__":
    main()
