"""Ratios of runs that come in pairs, one after the other in changing order, so
that what else the machine does hits both; and what saves a run's results."""

import json
import math
import os
import statistics

# Student's t, two-sided 95 %, by degrees of freedom (the last for more).
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31,
       9: 2.26, 11: 2.20, 14: 2.14, 19: 2.09, 29: 2.05}


def t95(degrees):
    return T95[max((d for d in T95 if d <= degrees), default=1)]


def interval(values):
    """(mean, low, high): with the mean's 95 % interval. Two values at least."""
    mean = statistics.mean(values)
    half = (t95(len(values) - 1) * statistics.stdev(values) /
            math.sqrt(len(values)))
    return mean, mean - half, mean + half


def ratio_of(pairs):
    """(ratio, low, high) of first / second: geometric mean, 95 % interval."""
    return tuple(math.exp(value) for value in interval(
        [math.log(first / second) for first, second in pairs]))


def save(build, name, results):
    """For goals.py: as results/NAME.json in the build, with the machine's load
    (the one-minute average, this run included)."""
    directory = os.path.join(build, "results")
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, name + ".json"), "w") as file:
        json.dump({"load": os.getloadavg()[0], "results": results}, file,
                  indent=1)


def load(build, name):
    """What save() was given; None where there is nothing."""
    try:
        with open(os.path.join(build, "results", name + ".json")) as file:
            return json.load(file)["results"]
    except FileNotFoundError:
        return None
