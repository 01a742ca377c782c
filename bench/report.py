#!/usr/bin/env python3
"""Runs unspool_bench and prints one table: ns per frame, ours beside its peers.

    report.py BINARY [--json FILE] [--repetitions N] [FLAGS OF GOOGLE BENCHMARK]

Each cell is the median over repetitions in random order, divided by the frames
that one walk gave. A ratio below 1 means that ours is faster.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile

OURS = "unspool"
SAMPLE = "sample"  # walk and record; per sample
PEERS = ["frame_pointer", "unw_backtrace", "libgcc"]
STACKS = ["same", "random", "evicted"]


def run(binary, repetitions, flags):
    """The binary's own JSON."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run(
            [binary, f"--benchmark_repetitions={repetitions}",
             "--benchmark_enable_random_interleaving=true",
             "--benchmark_report_aggregates_only=false",
             f"--benchmark_out={out.name}", "--benchmark_out_format=json",
             *flags],
            stdout=subprocess.DEVNULL, check=True)
        return json.load(out)


def per_frame(results):
    """{(stack, depth): {walker: median ns per frame}}."""
    runs = {}
    for one in results["benchmarks"]:
        if one.get("run_type") != "iteration":
            continue
        _, walker, stack, depth = one["name"].split("/")[:4]
        assert one["time_unit"] == "ns", one
        cell = runs.setdefault((stack, int(depth)), {}).setdefault(walker, [])
        cell.append(one["real_time"] / one["frames"])
    return {row: {walker: statistics.median(values)
                  for walker, values in cells.items()}
            for row, cells in runs.items()}


def print_table(table):
    print("ns per frame; ratio = ours / peer; ns/sample = our whole part\n")
    heads = "  ".join(f"{peer:>13}  ratio" for peer in PEERS)
    print(f"{'stack':8} {'depth':>5}  {OURS:>8}  {heads}  {'ns/sample':>9}")
    by_stack = lambda row: (STACKS.index(row[0]), row[1])
    for stack, depth in sorted(table, key=by_stack):
        cells = table[stack, depth]
        ours = cells.get(OURS)
        line = f"{stack:8} {depth:5d}  " + (
            f"{ours:8.2f}" if ours else f"{'-':>8}")
        for peer in PEERS:
            theirs = cells.get(peer)
            if ours and theirs:
                line += f"  {theirs:13.2f}  {ours / theirs:5.2f}"
            else:
                line += f"  {'-':>13}  {'-':>5}"
        sample = cells.get(SAMPLE)
        print(line + (f"  {sample:9.0f}" if sample else f"  {'-':>9}"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("--json", help="save the raw figures here")
    parser.add_argument("--repetitions", type=int, default=5)
    arguments, flags = parser.parse_known_args()
    try:
        results = run(arguments.binary, arguments.repetitions, flags)
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"report.py: {error}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(results, file, indent=1)
    print_table(per_frame(results))


if __name__ == "__main__":
    main()
