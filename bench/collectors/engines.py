#!/usr/bin/env python3
"""Prints the table of the engines: what each gives at each rate, to whom, and
what a tick costs beside a handler that returns at once.

    engines.py BUILD [--seconds S] [--rates HZ,HZ...] [--repetitions N]

Users: root; nobody, who gets perf events without the kernel
(kernel.perf_event_paranoid = 2); denied, who gets none (3 on Debian, here by a
seccomp filter). Without root only the user who runs it, and denied.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/end_to_end"))
import pprof_decode  # noqa: E402

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
MODES = ["cpu", "syscalls", "poll", "threads"]
EXECS = 300


class Bench:

    def __init__(self, build, directory, seconds):
        """Works on copies that everyone can reach."""
        self.directory = pathlib.Path(directory)
        for name in ("bin/unspool", "bin/engine_target", "lib/libunspool.so",
                     "lib/libempty_handler.so"):
            to = self.directory / name
            to.parent.mkdir(exist_ok=True)
            shutil.copy(pathlib.Path(build, name), to)
        os.chmod(self.directory, 0o1777)
        self.target = str(self.directory / "bin/engine_target")
        self.seconds = seconds
        # A second's worth of work, roughly, to be the same in each run.
        cpu_ns, _ = self.run(["cpu", "100000000"])
        self.work = str(int(1e8 * 1e9 * seconds / cpu_ns))

    def run(self, arguments, prefix=(), environment=None):
        """What the target prints: (CPU ns, EINTR or kills)."""
        result = subprocess.run(
            [*prefix, self.target, *arguments], capture_output=True, text=True,
            cwd=self.directory, timeout=600,
            env={**os.environ, **(environment or {})})
        if result.returncode != 0:
            sys.exit(f"engines.py: {result.args}: {result.stderr}")
        cpu_ns, count = map(int, result.stdout.split())
        return cpu_ns, count

    def arguments(self, mode):
        if mode == "cpu":
            return [mode, self.work]
        # 64 threads, and each is to live for a while.
        return [mode, str(self.seconds * (4 if mode == "threads" else 1))]

    def record(self, arguments, prefix, engine, rate):
        """(CPU ns, EINTR or kills, profile)."""
        path = self.directory / "p.pb.gz"
        path.unlink(missing_ok=True)
        cpu_ns, count = self.run(
            arguments, [*prefix, str(self.directory / "bin/unspool"), "record",
                        "-F", str(rate), "--engine", engine, "-o", str(path),
                        "--"])
        return cpu_ns, count, pprof_decode.load(str(path))

    def cost(self, engine, rate, repetitions):
        """Median µs per tick: (with an empty handler, ours)."""
        empty_report = self.directory / "ticks"
        empty = {"LD_PRELOAD": str(self.directory / "lib/libempty_handler.so"),
                 "EMPTY_HANDLER_ENGINE": engine,
                 "EMPTY_HANDLER_FREQUENCY": str(rate),
                 "EMPTY_HANDLER_REPORT": str(empty_report)}
        costs = []
        for _ in range(repetitions):
            plain_ns, _ = self.run(["cpu", self.work])
            empty_ns, _ = self.run(["cpu", self.work], environment=empty)
            ours_ns, _, profile = self.record(["cpu", self.work], [], engine,
                                              rate)
            costs.append(((empty_ns - plain_ns) / int(empty_report.read_text()),
                          (ours_ns - plain_ns) / profile.total("samples")))
        return [statistics.median(column) / 1e3 for column in zip(*costs)]


def users(bench):
    """[(name, command prefix, engines that are to be had)]."""
    deny = [bench.target, "deny"]
    if os.geteuid() != 0:
        return [("self", [], ["timer", "perf"]), ("denied", deny, ["timer"])]
    return [("root", [], ["timer", "perf", "trap"]),
            ("nobody", NOBODY, ["timer", "perf"]),
            ("denied", NOBODY + deny, ["timer"])]


def comment(profile, key):
    for text in profile.comments:
        if text.startswith(f"unspool.{key}="):
            return text.partition("=")[2]
    return ""


def print_samples(bench, rates):
    print("samples per CPU second (sum of weights / CPU time; EINTR)\n")
    print(f"{'user':8}{'engine':8}{'Hz':>6}" +
          "".join(f"{mode:>22}" for mode in MODES))
    for user, prefix, engines in users(bench):
        for engine in engines:
            for rate in rates:
                cells = []
                for mode in MODES:
                    cpu_ns, eintr, profile = bench.record(
                        bench.arguments(mode), prefix, engine, rate)
                    assert comment(profile, "engine") == engine, profile.comments
                    cells.append(
                        f"{profile.total('samples') * 1e9 / cpu_ns:.0f} "
                        f"({profile.total('cpu') / cpu_ns:.3f}; {eintr})")
                print(f"{user:8}{engine:8}{rate:6d}" +
                      "".join(f"{cell:>22}" for cell in cells), flush=True)


def print_auto(bench, rates):
    print("\nwhat auto takes\n")
    for user, prefix, _ in users(bench):
        taken = [comment(bench.record(["cpu", "20000000"], prefix, "auto",
                                      rate)[2], "engine") for rate in rates]
        print(f"{user:8}" + "  ".join(
            f"{rate} Hz: {engine}" for rate, engine in zip(rates, taken)))


def print_exec(bench):
    print(f"\nprograms ended by a tick, of {EXECS} executed\n")
    for user, prefix, engines in users(bench):
        for engine in engines:
            killed = [bench.record(["exec", str(EXECS)], prefix, engine,
                                   rate)[1] for rate in (4000, 10000)]
            print(f"{user:8}{engine:8}4000 Hz: {killed[0]}  "
                  f"10000 Hz: {killed[1]}", flush=True)


def print_costs(bench, rates, repetitions):
    print("\nµs per tick: empty handler, ours\n")
    for engine in users(bench)[0][2]:
        for rate in rates:
            if rate < 1000 and engine != "timer":
                continue
            empty, ours = bench.cost(engine, rate, repetitions)
            print(f"{engine:8}{rate:6d} Hz {empty:8.1f} {ours:8.1f}",
                  flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--rates", default="100,250,1000,4000,10000")
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    rates = [int(rate) for rate in arguments.rates.split(",")]
    with tempfile.TemporaryDirectory(prefix="unspool-bench-") as directory:
        bench = Bench(arguments.build, directory, arguments.seconds)
        print_samples(bench, rates)
        print_auto(bench, rates)
        print_exec(bench)
        print_costs(bench, rates, arguments.repetitions)


if __name__ == "__main__":
    main()
