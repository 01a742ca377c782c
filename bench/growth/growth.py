#!/usr/bin/env python3
"""What a sample costs as threads, stacks, samples, depth or modules grow.

    growth.py BUILD [--runs N] [--only WHAT] [--plots DIRECTORY]

Each figure is the median of N processes' medians. With --plots all that was
measured, now or before, is drawn there as SVG.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
import paired  # noqa: E402
import plot  # noqa: E402

COUNTS = {
    "threads": (1, 2, 4, 8, 16, 32, 64),
    "stacks": (10, 100, 1_000, 10_000, 100_000, 1_000_000),
    "samples": (10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000),
    "depth": (10, 30, 100, 300, 1_000, 3_000, 10_000),
    "modules": (1, 10, 100, 500, 1_000, 2_000),
}
MODULES = COUNTS["modules"][-1]
RUN_LIMIT_SECONDS = 1200


def frame_series(row):
    """ns a frame of a stack of row['frames']; the sample is of one like the
    last."""
    return {"handler": row["sample_ns"] / row["frames"],
            "comparing it": row["compare_ns"] / row["frames"],
            "frame pointers": row["frame_pointer_ns"] / row["frames"]}


# What: (title, x axis, y axis, figures of the program's output)
PLOTS = {
    "threads": ("sampled at once, 30 frames each", "threads", "ns a sample",
                lambda row: {"handler": row["sample_ns"]}),
    "stacks": ("distinct stacks, ten innermost of 30 frames differ",
               "distinct stacks before", "ns a sample",
               lambda row: {"handler": row["sample_ns"]}),
    "samples": ("10,000 such stacks in turn", "samples before", "ns a sample",
                lambda row: {"handler": row["sample_ns"]}),
    "depth": ("a stack like the last one", "frames", "ns a frame",
              frame_series),
    "modules": ("30 frames in modules at random", "modules", "ns a frame",
                lambda row: {"walk": row["frame_ns"]}),
}


def measure(build, what, count, runs, libraries):
    """Medians of what unspool_growth prints."""
    environment = {key: value for key, value in os.environ.items()
                   if key != "LD_PRELOAD"}
    if what == "modules":
        environment["LD_PRELOAD"] = ":".join(libraries)
    rows = [json.loads(subprocess.run(
        [os.path.join(build, "bin/unspool_growth"), what, str(count)],
        capture_output=True, text=True, check=True, env=environment,
        timeout=RUN_LIMIT_SECONDS).stdout) for _ in range(runs)]
    return {key: statistics.median(row[key] for row in rows)
            for key in rows[0]}


def measure_all(build, runs, wanted):
    """Prints and saves {what: {count: {series: ns}}} as it goes."""
    results = paired.load(build, "growth") or {}
    with tempfile.TemporaryDirectory(prefix="unspool-bench-") as directory:
        libraries = []
        for number in range(MODULES):
            libraries.append(os.path.join(directory, f"link-{number}.so"))
            shutil.copy(os.path.join(build, "lib/libbench_link.so"),
                        libraries[-1])
        for what in wanted:
            title, axis, unit, figures = PLOTS[what]
            print(f"\n{unit}: {title}")
            results[what] = {}
            for count in COUNTS[what]:
                row = figures(measure(build, what, count, runs, libraries))
                results[what][str(count)] = row
                print(f"{count:>12,} {axis}" + "".join(
                    f"   {name} {ns:.2f}" for name, ns in row.items()),
                    flush=True)
            paired.save(build, "growth", results)


def draw(results, directory):
    os.makedirs(directory, exist_ok=True)
    for what, rows in results.items():
        title, axis, unit, _ = PLOTS[what]
        series = {}
        for count, row in rows.items():
            for name, ns in row.items():
                series.setdefault(name, []).append((int(count), ns))
        path = os.path.join(directory, what + ".svg")
        with open(path, "w") as file:
            file.write(plot.svg(title, axis, unit, series))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", choices=PLOTS)
    parser.add_argument("--plots", metavar="DIRECTORY")
    options = parser.parse_args()
    if options.runs < 0 or (options.runs == 0 and not options.plots):
        parser.error("--runs is at least 1, or 0 with --plots")
    try:
        if options.runs > 0:
            measure_all(options.build, options.runs,
                        [options.only] if options.only else PLOTS)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        sys.exit(f"growth.py: {error}\n{getattr(error, 'stderr', None) or ''}")
    results = paired.load(options.build, "growth")
    if results is None:
        sys.exit(f"growth.py: nothing was measured in {options.build}; "
                 "leave out --runs 0")
    if options.plots:
        draw(results, options.plots)


if __name__ == "__main__":
    main()
