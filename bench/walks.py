#!/usr/bin/env python3
"""Runs unspool_bench and unspool_cold and prints ns per frame, ours beside our
peers'.

    walks.py BUILD [--repetitions N] [--filter REGEX]

Each figure is the median of the medians that N runs in random order gave,
divided by the frames of one walk; that of `sample` is ns per sample. `wrong`:
what that walker gives on such stacks differs from libgcc's.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile

import paired

WALKERS = ("unspool", "frame_pointer", "abseil", "unw_backtrace", "unw_step",
           "libgcc", "glibc", "libdw")
SAMPLE = "sample"
STACKS = ("same", "top1", "top3", "top10", "warm", "random", "evicted", "rsp",
          "rbp", "alloca", "realigned", "cxx", "signal", "leaf", "stub")
WRONG = "wrong"


def run_walks(build, repetitions, pattern):
    """{stack/depth: {walker: ns per frame, or WRONG}}."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run(
            [os.path.join(build, "bin/unspool_bench"),
             f"--benchmark_repetitions={repetitions}",
             f"--benchmark_filter={pattern}",
             "--benchmark_enable_random_interleaving=true",
             f"--benchmark_out={out.name}", "--benchmark_out_format=json"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            check=True)
        runs = json.load(out)["benchmarks"]
    cells = {}
    for one in runs:
        if one.get("run_type") != "iteration":
            continue
        _, walker, stack, depth = one["name"].split("/")[:4]
        cell = cells.setdefault(f"{stack}/{depth}", {}).setdefault(walker, [])
        if not one.get("error_occurred"):
            cell.append(one["median_ns"] / one["frames"])
    return {row: {walker: statistics.median(values) if values else WRONG
                  for walker, values in cells[row].items()}
            for row in sorted(cells, key=place_in_table)}


def place_in_table(row):
    stack, depth = row.split("/")
    return STACKS.index(stack), int(depth)


def run_cold(build, repetitions):
    """{walker: {start_ns, first_ns, frame_ns}}: medians over processes."""
    runs = {walker: [] for walker in WALKERS}
    order = [walker for walker in WALKERS for _ in range(repetitions)]
    random.shuffle(order)
    for walker in order:
        result = subprocess.run(
            [os.path.join(build, "bin/unspool_cold"), walker],
            capture_output=True, text=True, check=True, timeout=60)
        runs[walker].append(json.loads(result.stdout))
    return {walker: {key: statistics.median(one[key] for one in of_walker)
                     for key in of_walker[0]}
            for walker, of_walker in runs.items()}


def cell_text(value):
    if value is None:
        return "-"
    return value if value == WRONG else f"{value:.2f}"


def print_row(name, cells, last):
    print(f"{name:13}" + "".join(f"{cell:>14}" for cell in cells) +
          f"{last:>10}")


def print_walks(walks):
    print("ns per frame; ns per sample of our whole handler\n")
    print_row("stack/depth", WALKERS, SAMPLE)
    for row, by_walker in walks.items():
        sample = by_walker.get(SAMPLE)
        print_row(row, [cell_text(by_walker.get(walker)) for walker in WALKERS],
                  "-" if sample is None else f"{sample:.0f}")


def print_cold(cold):
    print("\na fresh process: ns per frame of code met for the first time; "
          "start, first walk in µs\n")
    print_row("", WALKERS, "")
    print_row("never seen", [f"{cold[w]['frame_ns']:.2f}" for w in WALKERS], "")
    for key in ("start", "first"):
        print_row(key, [f"{cold[w][key + '_ns'] / 1e3:.0f}" for w in WALKERS],
                  "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build", help="with bin/unspool_bench, bin/unspool_cold")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--filter", default=".", metavar="REGEX",
                        help="these rows only, and nothing is saved: "
                        "walk/WALKER/STACK/DEPTH")
    options = parser.parse_args()
    if options.repetitions < 1:
        parser.error("--repetitions is at least 1")
    try:
        walks = run_walks(options.build, options.repetitions, options.filter)
        print_walks(walks)
        if options.filter != ".":
            return
        cold = run_cold(options.build, options.repetitions)
        print_cold(cold)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        sys.exit(f"walks.py: {error}\n{getattr(error, 'stderr', None) or ''}")
    paired.save(options.build, "walks", walks)
    paired.save(options.build, "cold", cold)


if __name__ == "__main__":
    main()
