#!/usr/bin/env python3
"""What profiling costs real programs: xz, sqlite3, cc1plus, python3.

    programs.py BUILD [--rounds N] [--frequency HZ]... [--only PROGRAM]
                      [--no-peers]

In each round every program runs at every rate without a profiler, with a handler
that returns at once (on the source of ticks that unspool takes), with unspool,
and with the peers, one after the other in random order. A cost is the CPU time,
the profiler's own included, of a run divided by another one's of the same round:
the geometric mean over rounds, with its 95 % interval. `least`: the least of all
runs divided by the empty handler's least, for machines whose other tenants make
some runs longer and none shorter.
"""

import argparse
import dataclasses
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import paired

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/end_to_end"))
import peers as profilers  # noqa: E402
import pprof_decode  # noqa: E402
import workloads  # noqa: E402

PLAIN, EMPTY, OURS, TIMED = "plain", "empty handler", "unspool", "timed"
PEERS = ("gperftools", "perf fp", "perf dwarf")
RUN_LIMIT_SECONDS = 300


@dataclasses.dataclass
class Run:
    cpu_s: float
    samples: int = 0
    weight_s: float = 0  # sum of all weights
    truncated: int = 0
    handler_ns: float = 0  # of a sample


class Runner:
    """Runs workloads in `directory` under one of the above."""

    def __init__(self, build, directory):
        self.build, self.directory = os.path.abspath(build), directory
        self.engines = {}  # that unspool takes, by frequency

    def library(self, name):
        return os.path.join(self.build, "lib", name)

    def path(self, name):
        return os.path.join(self.directory, name)

    def execute(self, workload, prefix=(), variables=None):
        """(CPU seconds of the command and its children, its stderr)."""
        workload.prepare()
        clean = {key: value for key, value in os.environ.items() if not
                 key.startswith(("UNSPOOL_", "EMPTY_", "LD_PRELOAD"))}
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                [*prefix, *workload.argv], stdout=subprocess.DEVNULL,
                stderr=errors, cwd=workload.directory,
                env={**clean, **(variables or {})})
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            errors.seek(0)
            text = errors.read().decode(errors="replace")
        if process.returncode != 0:
            raise ValueError(f"{process.args[0]} ended with "
                             f"{process.returncode}: {text[-300:]}")
        return usage.ru_utime + usage.ru_stime, text

    def ours(self, workload, frequency, libraries=(), variables=None):
        path = self.path("ours.pb.gz")
        cpu_s, _ = self.execute(workload, variables={
            "LD_PRELOAD": ":".join([*libraries,
                                    self.library("libunspool.so")]),
            "UNSPOOL_FREQUENCY": str(frequency), "UNSPOOL_OUTPUT": path,
            **(variables or {})})
        profile = pprof_decode.load(path)
        comments = dict(comment.removeprefix("unspool.").split("=", 1)
                        for comment in profile.comments)
        self.engines[frequency] = comments["engine"]
        return Run(cpu_s, int(comments["samples"]),
                   profile.total("cpu") / 1e9, int(comments["truncated"]))

    def timed(self, workload, frequency):
        report = self.path("handler_time")
        run = self.ours(workload, frequency,
                        [self.library("libhandler_time.so")],
                        {"HANDLER_TIME_REPORT": report})
        with open(report) as file:
            calls, total_ns, late = map(float, file.read().split())
        run.handler_ns = total_ns / max(1, calls - late)
        return run

    def empty(self, workload, frequency):
        report = self.path("ticks")
        cpu_s, _ = self.execute(workload, variables={
            "LD_PRELOAD": self.library("libempty_handler.so"),
            "EMPTY_HANDLER_ENGINE": self.engines[frequency],
            "EMPTY_HANDLER_FREQUENCY": str(frequency),
            "EMPTY_HANDLER_REPORT": report})
        with open(report) as file:
            return Run(cpu_s, int(file.read()))

    def gperftools(self, workload, frequency):
        cpu_s, text = self.execute(
            workload, variables=profilers.gperftools_environment(
                self.path("gperftools.prof"), frequency))
        interrupts = re.search(r"PROFILE: interrupts\S* = (\d+)/", text)
        return Run(cpu_s, int(interrupts[1]) if interrupts else 0)

    def perf(self, workload, frequency, call_graph):
        cpu_s, text = self.execute(workload, [
            "perf", "record", "-F", str(frequency), "--call-graph", call_graph,
            "-o", self.path("perf.data"), "--"])
        samples = re.search(r"\((\d+) samples\)", text)
        return Run(cpu_s, int(samples[1]) if samples else 0)

    def run(self, variant, workload, frequency):
        if variant == PLAIN:
            return Run(self.execute(workload)[0])
        if variant.startswith("perf "):
            return self.perf(workload, frequency, variant.split()[1])
        method = {EMPTY: self.empty, OURS: self.ours, TIMED: self.timed,
                  "gperftools": self.gperftools}[variant]
        return method(workload, frequency)


def measure(runner, programs, options, variants):
    """{program: {frequency: {variant: [Run of each round]}}}."""
    runs = {}
    for workload in programs:
        for frequency in options.frequency:
            cell = runs.setdefault(workload.name, {}).setdefault(frequency, {})
            runner.ours(workload, frequency)  # also finds the source of ticks
            for _ in range(options.rounds):
                for variant in random.sample(variants, len(variants)):
                    cell.setdefault(variant, []).append(
                        runner.run(variant, workload, frequency))
            print_cell(workload.name, frequency, runner.engines[frequency],
                       cell)
    return runs


def cost(cell, variant, base):
    return paired.ratio_of([(one.cpu_s, other.cpu_s) for one, other in
                            zip(cell[variant], cell[base])])


def least(cell, variant, base):
    return (min(run.cpu_s for run in cell[variant]) /
            min(run.cpu_s for run in cell[base]))


def us_per_sample(cell, variant, base):
    """(mean, low, high) over rounds; None without samples."""
    values = [(one.cpu_s - other.cpu_s) * 1e6 / one.samples
              for one, other in zip(cell[variant], cell[base]) if one.samples]
    return paired.interval(values) if len(values) > 1 else None


def text_of(values, digits):
    if values is None:
        return "-"
    mean, low, high = (f"{value:.{digits}f}" for value in values)
    return f"{mean} ({low}..{high})"


def print_head():
    print("CPU time / without a profiler; / empty handler; the least of all "
          "runs / the empty handler's;\nµs a sample more than without; "
          "samples\n")
    print(f"{'program':9}{'Hz':>5} {'ticks':6}{'profiler':14}"
          f"{'/ plain':>22}{'/ empty':>23}{'least':>8}{'µs/sample':>24}"
          f"{'samples':>9}")


def print_cell(name, frequency, engine, cell):
    for variant in (EMPTY, OURS, *PEERS):
        if variant not in cell:
            continue
        beside = (text_of(cost(cell, variant, EMPTY), 4)
                  if variant == OURS else "-")
        samples = statistics.median(run.samples for run in cell[variant])
        print(f"{name:9}{frequency:5} {engine:6}{variant:14}"
              f"{text_of(cost(cell, variant, PLAIN), 3):>22}{beside:>23}"
              f"{least(cell, variant, EMPTY):8.3f}"
              f"{text_of(us_per_sample(cell, variant, PLAIN), 1):>24}"
              f"{samples:9.0f}", flush=True)


def summary(runs):
    """What goals.py holds against its goals: for each rate over all programs."""
    rates = {}
    for frequency in sorted({rate for cells in runs.values()
                             for rate in cells}):
        cells = [by_rate[frequency] for by_rate in runs.values()]
        pairs = [(one.cpu_s, other.cpu_s) for cell in cells
                 for one, other in zip(cell[OURS], cell[EMPTY])]
        ours = [run for cell in cells for run in cell[OURS]]
        timed = [run for cell in cells for run in cell[TIMED]]
        rates[frequency] = {
            "cost": paired.ratio_of(pairs),
            "us_more_per_sample": paired.interval(
                [(one.cpu_s - other.cpu_s) * 1e6 / one.samples
                 for cell in cells
                 for one, other in zip(cell[OURS], cell[EMPTY])]),
            "in_handler": statistics.median(
                run.handler_ns * run.samples / 1e9 / run.cpu_s
                for run in timed),
            "weights": (sum(run.weight_s for run in ours) /
                        sum(run.cpu_s for run in ours)),
            "samples": sum(run.samples for run in ours),
            "rooted": 1 - (sum(run.truncated for run in ours) /
                           sum(run.samples for run in ours))}
    return rates


def print_handlers(runs):
    print("\nin our handler: ns a sample, of the program's CPU time\n")
    for name, by_rate in runs.items():
        for frequency, cell in by_rate.items():
            ns = statistics.median(run.handler_ns for run in cell[TIMED])
            share = statistics.median(run.handler_ns * run.samples / 1e9 /
                                      run.cpu_s for run in cell[TIMED])
            print(f"{name:9}{frequency:5} {ns:8.0f} ns {share:9.3%}")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--frequency", type=int, action="append", metavar="HZ",
                        help="[100, 1000 and 4000]")
    parser.add_argument("--only", metavar="PROGRAM")
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args(arguments)
    options.frequency = options.frequency or [100, 1000, 4000]
    if options.rounds < 2:
        parser.error("--rounds is at least 2")
    if shutil.which("perf") is None and not options.no_peers:
        parser.error("there is no perf (package linux-perf); --no-peers does "
                     "without")
    return options


def main():
    options = parse(None)
    variants = [PLAIN, EMPTY, OURS, TIMED]
    if not options.no_peers:
        variants += PEERS
    with tempfile.TemporaryDirectory(prefix="unspool-bench-") as directory:
        programs = [workload for workload in workloads.undriven(directory)
                    if options.only in (None, workload.name)]
        print_head()
        try:
            runs = measure(Runner(options.build, directory), programs, options,
                           variants)
        except (OSError, ValueError) as error:
            sys.exit(f"programs.py: {error}")
    if not runs:
        sys.exit(f"programs.py: no program {options.only!r}")
    print_handlers(runs)
    paired.save(options.build, "programs", {
        "rates": summary(runs),
        "runs": {name: {frequency: {variant: [dataclasses.asdict(run)
                                              for run in of_variant]
                                    for variant, of_variant in cell.items()}
                        for frequency, cell in by_rate.items()}
                 for name, by_rate in runs.items()}})


if __name__ == "__main__":
    main()
