#!/usr/bin/env python3
"""What the wall clock's looks cost: the helper thread's CPU time, in % of one
CPU, by number of idle threads beside one that computes, and by rate.

    bench/collectors/wall.py BUILD [--seconds S] [--repetitions N]

Goal: under 1 % with 200 idle threads at 100 Hz.
"""

import argparse
import os
import statistics
import subprocess
import tempfile

THREADS = (0, 200, 1000)
RATES = (100, 1000)


def helper_percent(build, threads, rate, seconds):
    with tempfile.TemporaryDirectory(prefix="unspool-bench-") as directory:
        result = subprocess.run(
            [os.path.join(build, "bin/unspool"), "record", "--clock", "wall",
             "-F", str(rate), "-o", os.path.join(directory, "p.pb.gz"), "--",
             os.path.join(build, "bin/wall_target"), str(threads),
             str(seconds)], capture_output=True, text=True, check=True)
    cpu_ns, wall_ns = map(int, result.stdout.split())
    return 100 * cpu_ns / wall_ns


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--repetitions", type=int, default=3)
    arguments = parser.parse_args()
    print("% of a CPU" + "".join(f"{rate:9d} Hz" for rate in RATES))
    for threads in THREADS:
        row = [statistics.median(
            helper_percent(arguments.build, threads, rate, arguments.seconds)
            for _ in range(arguments.repetitions)) for rate in RATES]
        print(f"{threads:5d} idle" + "".join(f"{cell:12.2f}" for cell in row),
              flush=True)


if __name__ == "__main__":
    main()
