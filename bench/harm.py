#!/usr/bin/env python3
"""What being sampled costs a program's own throws, library loads and thread
starts: their rates under unspool, divided by those under a handler that returns
at once on the same source of ticks.

    bench/harm.py BUILD [--frequency HZ] [--pairs N] [--seconds S]

The ratio is the geometric mean over pairs of runs, with its 95 % interval.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

import paired

ACTIVITIES = ("throw", "dlopen", "thread")
ENGINES = ("timer", "perf", "trap")
GOAL = 0.95


class Bench:
    def __init__(self, build, options):
        self.build, self.options = build, options

    def rate(self, activity, variables):
        """What the program prints, with these variables in its environment."""
        clean = {key: value for key, value in os.environ.items()
                 if not key.startswith(("UNSPOOL_", "EMPTY_", "LD_PRELOAD"))}
        result = subprocess.run(
            [os.path.join(self.build, "bin/rates"), activity,
             str(self.options.seconds)], capture_output=True, text=True,
            env={**clean, **variables}, timeout=60 + 20 * self.options.seconds,
            check=True)
        return float(result.stdout)

    def ours(self, activity, engine):
        with tempfile.TemporaryDirectory() as directory:
            return self.rate(activity, {
                "LD_PRELOAD": os.path.join(self.build, "lib/libunspool.so"),
                "UNSPOOL_ENGINE": engine,
                "UNSPOOL_FREQUENCY": str(self.options.frequency),
                "UNSPOOL_OUTPUT": os.path.join(directory, "p.pb.gz")})

    def empty(self, activity, engine):
        return self.rate(activity, {
            "LD_PRELOAD": os.path.join(self.build, "lib/libempty_handler.so"),
            "EMPTY_HANDLER_ENGINE": engine,
            "EMPTY_HANDLER_FREQUENCY": str(self.options.frequency)})

    def pairs(self, activity, engine):
        """Rates (ours, empty) of each pair."""
        result = []
        for number in range(self.options.pairs):
            if number % 2:
                empty = self.empty(activity, engine)
                ours = self.ours(activity, engine)
            else:
                ours = self.ours(activity, engine)
                empty = self.empty(activity, engine)
            result.append((ours, empty))
        return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build", help="with bin/rates and both libraries in lib")
    parser.add_argument("--frequency", type=int, default=4000)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=2,
                        help="CPU seconds of each run [2]")
    parser.add_argument("--engine", choices=ENGINES,
                        help="this one only; perf and trap need the right to")
    options = parser.parse_args()
    if options.pairs < 2:
        parser.error("--pairs is at least 2")
    bench = Bench(options.build, options)
    saved = []
    print(f"rates at {options.frequency} Hz, ours / empty handler; goal "
          f">= {GOAL}\n")
    print(f"{'what':8} {'engine':6} {'ours/s':>10} {'empty/s':>10} "
          f"{'ratio':>6}  95 % interval")
    for activity in ACTIVITIES:
        for engine in [options.engine] if options.engine else ENGINES:
            try:
                pairs = bench.pairs(activity, engine)
            except (OSError, subprocess.SubprocessError, ValueError) as error:
                sys.exit(f"harm.py: {activity} with {engine}: {error}")
            ratio, low, high = paired.ratio_of(pairs)
            print(f"{activity:8} {engine:6} "
                  f"{statistics.median(p[0] for p in pairs):10.0f} "
                  f"{statistics.median(p[1] for p in pairs):10.0f} "
                  f"{ratio:6.3f}  {low:.3f} .. {high:.3f}", flush=True)
            saved.append({"activity": activity, "engine": engine,
                          "frequency": options.frequency, "pairs": pairs})
    paired.save(options.build, "harm", saved)


if __name__ == "__main__":
    main()
