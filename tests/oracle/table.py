#!/usr/bin/env python3
"""Makes one Markdown table of what stack_oracle has printed about each subject.

    table.py OUTPUT...      each named SUBJECT.out

A cell has how many stacks were right/guessed/truncated/misguessed/wrong, or "="
where that is as in the cell to its left. Exit status 2 if a file is not whole.
"""

import collections
import pathlib
import re
import sys

OURS = ("handler", "remote", "waiting")
PEERS = ("libunwind", "libdw", "gdb")
LINE = re.compile(
    r"(\w+) +(\d+) stacks  (\d+) right  (\d+) guessed  (\d+) truncated"
    r"  (\d+) misguessed  (\d+) wrong")


def read_counts(text):
    """{unwinder: [right, guessed, truncated, misguessed, wrong]}"""
    return {
        match[1]: [int(count) for count in match.groups()[2:]]
        for match in map(LINE.fullmatch, text.splitlines()) if match
    }


def cells(counts, unwinders):
    """How many stacks were judged, and a cell for each unwinder."""
    row = [f"{sum(counts[unwinders[0]]):,}"]
    last = None
    for unwinder in unwinders:
        said = "/".join(map(str, counts[unwinder]))
        row.append("=" if said == last else said)
        last = said
    return row


def table(subjects):
    """Lines, of {subject: {unwinder: counts}}; the last row is the sum."""
    total = collections.defaultdict(lambda: [0] * 5)
    for counts in subjects.values():
        for unwinder, row in counts.items():
            total[unwinder] = [a + b for a, b in zip(total[unwinder], row)]
    header = ["subject", "stacks", *OURS, "stacks", *PEERS]
    yield "| " + " | ".join(header) + " |"
    yield "|---" * len(header) + "|"
    for name, counts in [*subjects.items(), ("all", total)]:
        row = [name, *cells(counts, OURS), *cells(counts, PEERS)]
        yield "| " + " | ".join(row) + " |"


def main():
    subjects = {}
    for name in sys.argv[1:]:
        path = pathlib.Path(name)
        subjects[path.stem] = read_counts(path.read_text(encoding="utf-8"))
        missing = {*OURS, *PEERS} - subjects[path.stem].keys()
        if missing:
            print(f"table.py: {path} says nothing of {', '.join(sorted(missing))}",
                  file=sys.stderr)
            return 2
    print("\n".join(table(subjects)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
