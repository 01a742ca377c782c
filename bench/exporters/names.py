#!/usr/bin/env python3
"""How long names take: a program with 20,000 inlined templates and over 100 MB
of debug data, sampled for 10 s, named by us, by `perf script` with lines and
inlined functions and by `go tool pprof`; and our names and lines beside addr2line's on
every address.

    bench/exporters/names.py BUILD [--seconds S] [--frequency HZ]
                                   [--limit S] [COMPILER...]

Goals: ours in 10 s, in 1.5 x the debug data's memory, 10 x as fast as either.
Peers are ended after --limit seconds; one that fails is said to. Status 1 if a
frame differs from addr2line's and none of the reasons in names_check.py
explains it.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE / "inlines"), str(HERE.parent)]
import build as inlines  # noqa: E402
import names_check  # noqa: E402
import paired  # noqa: E402

REPETITIONS = 3  # of ours; the median counts


class Cost:
    """Wall time in s and the largest process's memory in MB."""

    def __init__(self, seconds, megabytes, is_complete=True):
        self.seconds, self.megabytes = seconds, megabytes
        self.is_complete = is_complete

    def __str__(self):
        more = " " if self.is_complete else ">"
        return f"{more}{self.seconds:8.2f} s {self.megabytes:7.0f} MB"


def run(command, limit, **variables):
    """What `command` and those that it waits for cost."""
    start = time.monotonic()
    process = subprocess.Popen(
        [str(word) for word in command], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL, env={**os.environ, **variables},
        process_group=0)
    status = None
    while status is None and time.monotonic() - start < limit:
        pid, status_word, usage = os.wait4(process.pid, os.WNOHANG)
        status = status_word if pid else None
        time.sleep(0.002)
    is_complete = status is not None
    if not is_complete:
        os.killpg(process.pid, 9)
        _, _, usage = os.wait4(process.pid, 0)
    elif status != 0:
        process.returncode = 0
        raise RuntimeError(f"failed with wait status {status}")
    process.returncode = 0  # it was waited for here
    return Cost(time.monotonic() - start, usage.ru_maxrss / 1024, is_complete)


def debug_megabytes(program):
    listing = subprocess.run(["size", "-A", program], text=True, check=True,
                             capture_output=True).stdout
    return sum(int(line.split()[1]) for line in listing.splitlines()
               if line.startswith(".debug_")) / 1e6


def record(program, folder, build, options):
    """A raw profile and a perf.data of the same program."""
    raw, perf = folder / "raw.pb.gz", folder / "perf.data"
    run([program, options.seconds], 10 * options.seconds + 60,
        LD_PRELOAD=str(build / "lib/libunspool.so"), UNSPOOL_OUTPUT=str(raw),
        UNSPOOL_FREQUENCY=str(options.frequency))
    run(["perf", "record", "-q", "-F", options.frequency, "-e", "cpu-clock:u",
         "--call-graph", "fp", "-o", perf, program, options.seconds],
        10 * options.seconds + 60)
    return raw, perf


def ours(build, raw, named):
    costs = [run([build / "bin/unspool", "export", raw, "-o", named], 600)
             for _ in range(REPETITIONS)]
    return Cost(statistics.median(cost.seconds for cost in costs),
                max(cost.megabytes for cost in costs))


def compare(program, build, options):
    """Prints the table of one program; returns whether all frames are right,
    and {peer: its time by ours}, at least that for one that was ended."""
    factors = {}
    megabytes = debug_megabytes(program)
    print(f"{program.name}: {megabytes:.0f} MB of debug data")
    with tempfile.TemporaryDirectory(prefix="unspool-bench-") as folder:
        folder = pathlib.Path(folder)
        raw, perf = record(program, folder, build, options)
        named = folder / "named.pb.gz"
        cost = ours(build, raw, named)
        print(f"  unspool export   {cost}   "
              f"{cost.megabytes * 1.048576 / megabytes:.2f} x the debug data",
              flush=True)
        check = names_check.check(named, program)
        print("  " + check.text.replace("\n", "\n  "), flush=True)
        for name, peer in (
                ("go tool pprof", ["go", "tool", "pprof", "-symbolize=local",
                                   "-proto", "-output", folder / "go.pb.gz",
                                   raw]),
                ("perf script", ["perf", "script", "--inline", "-F", "+srcline",
                                 "-i", perf])):
            try:
                theirs = run(peer, options.limit)
            except RuntimeError as error:
                print(f"  {name:16s} {error}", flush=True)
                continue
            factors[name] = theirs.seconds / cost.seconds
            print(f"  {name:16s} {theirs}   {factors[name]:.1f} x our time",
                  flush=True)
        return check.is_right, factors


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("compiler", nargs="*", default=inlines.COMPILERS)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--frequency", type=int, default=1000)
    parser.add_argument("--limit", type=float, default=900)
    options = parser.parse_args()
    build = options.build.resolve()
    programs = inlines.build_all(build / "names", options.compiler)
    results = {program.name: compare(program, build, options)
               for program in programs}
    paired.save(build, "names", {name: factors
                                 for name, (_, factors) in results.items()})
    return 0 if all(is_right for is_right, _ in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
