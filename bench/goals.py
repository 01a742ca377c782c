#!/usr/bin/env python3
"""Prints each goal beside the figure that was measured last, and writes them to
results/goals.json.

    goals.py BUILD

Reads what the scripts of bench/ have saved in BUILD/results; a goal that none
of them has measured says which command does.
"""

import argparse
import dataclasses

import paired


@dataclasses.dataclass
class Goal:
    what: str
    against: str
    limit: float
    unit: str = "x"
    at_least: bool = False
    value: float = None
    interval: tuple = None  # of 95 %, where runs were paired
    command: str = "scripts/bench walks"

    def meets(self, value):
        return value >= self.limit if self.at_least else value <= self.limit

    def verdict(self):
        """An interval that has the limit in it says neither yes nor no."""
        if self.value is None:
            return f"not measured: {self.command}"
        ends = {self.meets(end) for end in self.interval or (self.value,)}
        if len(ends) == 2:
            return "open: {:.3g} .. {:.3g}".format(*self.interval)
        return "met" if ends == {True} else "missed"


def ratio(cells, peer):
    """Ours / the peer's; None where either is not there, or wrong."""
    values = [(cells or {}).get(walker) for walker in ("unspool", peer)]
    if not all(isinstance(value, float) for value in values):
        return None
    return values[0] / values[1]


def walk_goals(walks):
    walks = walks or {}
    for depth in (30, 100, 1000):
        yield Goal(f"like the last stack, depth {depth}", "frame pointers", 1.0,
                   value=ratio(walks.get(f"same/{depth}"), "frame_pointer"))
    for depth in (10, 30, 100, 1000):
        yield Goal(f"warm rules, new stack, depth {depth}", "unw_backtrace",
                   0.9 if depth == 1000 else 0.75,
                   value=ratio(walks.get(f"warm/{depth}"), "unw_backtrace"))
    for depth in (30, 100):
        yield Goal(f"5,000 functions at random, depth {depth}", "unw_backtrace",
                   0.7, value=ratio(walks.get(f"random/{depth}"),
                                    "unw_backtrace"))
    yield Goal("16 MB touched in between, depth 30", "unw_backtrace", 0.7,
               value=ratio(walks.get("evicted/30"), "unw_backtrace"))
    for stack, what, limit in (("same", "like the last", 150),
                               ("warm", "warm", 300),
                               ("evicted", "caches evicted", 1000)):
        yield Goal(f"handler, depth 30, {what}", "", limit, unit="ns",
                   value=walks.get(f"{stack}/30", {}).get("sample"))


def cold_goals(cold):
    ours = (cold or {}).get("unspool", {})
    frame_ns = {walker: one["frame_ns"] for walker, one in (cold or {}).items()}
    yield Goal("never-seen code, fresh process", "libgcc", 0.5,
               value=ratio(frame_ns, "libgcc"))
    yield Goal("start of the unwinder", "", 1.0, unit="ms",
               value=ours["start_ns"] / 1e6 if ours else None)


def program_goals(programs):
    command = "scripts/bench programs"
    rates = (programs or {}).get("rates", {})
    for frequency, limit in (("100", 1.002), ("1000", 1.005), ("4000", 1.02)):
        cost = rates.get(frequency, {}).get("cost", [None])
        yield Goal(f"whole programs, CPU time at {frequency} Hz",
                   "empty handler", limit, value=cost[0], interval=cost[1:],
                   command=command)
    most = rates.get("4000", {})
    more = most.get("us_more_per_sample", [None])
    yield Goal("whole sample at 4,000 Hz, more than", "empty handler", 0.3,
               unit="us", value=more[0], interval=more[1:], command=command)
    percent = most.get("in_handler")
    yield Goal("in our handler at 4,000 Hz", "CPU time", 0.3, unit="%",
               value=None if percent is None else 100 * percent,
               command=command)
    weights = [one["weights"] for one in rates.values()]
    off = max((abs(1 - weight) for weight in weights), default=None)
    yield Goal("sum of weights off", "CPU time", 0.01, value=off,
               command=command)
    rooted = min((one["rooted"] for one in rates.values()), default=None)
    yield Goal("stacks that reach the root", "all samples", 0.999,
               at_least=True, value=rooted, command=command)


def start_stop_goals(results):
    command = "scripts/bench start_stop"
    ours = (results or {}).get("start", {}).get("unspool", {})
    for what, key, unit, limit in (("/bin/true, time", "ms", "ms", 1),
                                   ("/bin/true, memory", "mib", "MiB", 4),
                                   ("memory of a thread", "thread_kib", "KiB",
                                    32)):
        more = ours.get(key, [None])
        yield Goal(what + " more than", "no profiler", limit, unit=unit,
                   value=more[0], interval=more[1:], command=command)
    yield Goal("start with 2,000 modules", "no profiler", 50, unit="ms",
               value=ours.get("loaded_ms"), command=command)
    yield Goal("raw profile of a million stacks", "", 1000, unit="ms",
               value=(results or {}).get("stop", {}).get("ms"),
               command=command)
    yield Goal("spool of cc1plus, an hour at 1 kHz", "", 64, unit="MiB",
               value=(results or {}).get("spool", {}).get("hour_mib"),
               command=command)


def harm_goals(harm):
    command = "scripts/bench harm"
    if harm is None:
        yield Goal("throw, dlopen, thread rates at 4,000 Hz", "empty handler",
                   0.95, at_least=True, command=command)
    for one in harm or ():
        mean, *ends = paired.ratio_of(one["pairs"])
        yield Goal(f"{one['activity']} rate at {one['frequency']} Hz, "
                   f"{one['engine']}", "empty handler", 0.95, at_least=True,
                   value=mean, interval=tuple(ends), command=command)


def name_goals(names):
    command = "scripts/bench names"
    for peer in ("go tool pprof", "perf script"):
        factors = [by_peer[peer] for by_peer in (names or {}).values()
                   if peer in by_peer]
        yield Goal("names, inlined functions too: its time by ours", peer, 10,
                   at_least=True, value=min(factors, default=None),
                   command=command)


def print_goals(goals):
    print(f"{'what':48}{'against':16}{'figure':>10}{'goal':>12}  verdict")
    for goal in goals:
        figure = "-" if goal.value is None else f"{goal.value:.3g} {goal.unit}"
        sign = ">=" if goal.at_least else "<="
        bound = f"{sign} {goal.limit:g} {goal.unit}"
        print(f"{goal.what:48}{goal.against:16}{figure:>10}{bound:>12}  "
              f"{goal.verdict()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build")
    build = parser.parse_args().build
    goals = [*walk_goals(paired.load(build, "walks")),
             *cold_goals(paired.load(build, "cold")),
             *program_goals(paired.load(build, "programs")),
             *start_stop_goals(paired.load(build, "start_stop")),
             *harm_goals(paired.load(build, "harm")),
             *name_goals(paired.load(build, "names"))]
    print_goals(goals)
    paired.save(build, "goals", [{**dataclasses.asdict(goal),
                                  "verdict": goal.verdict()} for goal in goals])


if __name__ == "__main__":
    main()
