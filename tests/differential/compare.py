#!/usr/bin/env python3
"""Compares `unspool cfi` with readelf, entry by entry.

usage: compare.py --unspool BINARY [--theirs FILE] rows|opcodes FILE

Exits 0 if unspool and readelf say the same about each CIE and FDE of FILE, 1
if they differ or either fails; prints one line of counts, and the first
differences. --theirs gives readelf another file: for tests of this script.

Both sides print the same text (profiler/cli/cfi_dump.h), so blocks are compared as
bytes and nothing is normalised away. Streaming: memory does not grow with the
file.
"""

import argparse
import itertools
import os
import subprocess
import sys
import tempfile

READELF_DUMP = {"rows": "frames-interp", "opcodes": "frames"}
OUR_FLAGS = {"rows": [], "opcodes": ["--raw"]}
SECTION = b"Contents of the "
CHUNK_SIZE = 1 << 20
# Where "FDE" stands in "00000018 0000000000000024 0000001c FDE cie=…".
KIND = slice(35, 38)


class Result:
    """Counts of one comparison; `reports` holds the first few differences."""

    MAX_REPORTS = 5

    def __init__(self):
        self.fdes = 0
        self.lines = 0  # rows or instructions of readelf's FDEs
        self.differences = 0  # lines that differ, or are missing on one side
        self.reports = []
        self.failures = []  # a side that did not finish, with its words

    def ok(self):
        return self.differences == 0 and not self.failures

    def count(self, block):
        if block[KIND] != b"FDE":
            return
        self.fdes += 1
        # The first line is the entry's own; `rows` has a line of heads.
        self.lines += max(0, block.count(b"\n") - block.count(b"   LOC "))

    def report(self, ours, theirs):
        """Two blocks of one entry, or None for one that a side lacks."""
        before = self.differences
        our_lines = ours.split(b"\n") if ours else []
        their_lines = theirs.split(b"\n") if theirs else []
        entry = (their_lines or our_lines)[0].decode(errors="replace")
        for our, their in itertools.zip_longest(our_lines, their_lines):
            if our == their:
                continue
            self.differences += 1
            if len(self.reports) < self.MAX_REPORTS:
                self.reports.append(
                    f"  {entry}\n    ours:    {show(our)}\n    readelf: {show(their)}"
                )
        assert self.differences > before


def show(line):
    return "(nothing)" if line is None else line.decode(errors="replace")


def blocks(stream):
    """Sections' heads and entries in a dump, without the blank lines."""
    rest = b""
    inside = False
    while True:
        chunk = stream.read(CHUNK_SIZE)
        parts = (rest + chunk).split(b"\n\n")
        rest = parts.pop() if chunk else b""
        for part in parts:
            block = part.strip(b"\n")
            if not inside:
                # readelf may say first that a section has no bytes.
                block = block[block.find(SECTION) :] if SECTION in block else b""
                inside = block != b""
            if inside and block:
                yield block
        if not chunk:
            return


def offset_of(block):
    """Where in the section an entry is; -1 for text that is no entry."""
    try:
        return int(block.split(b" ", 1)[0], 16)
    except ValueError:
        return -1


def compare_streams(our_stream, their_stream, result):
    ours, theirs = blocks(our_stream), blocks(their_stream)
    our, their = next(ours, None), next(theirs, None)
    while our is not None or their is not None:
        if our == their:
            result.count(their)
            our, their = next(ours, None), next(theirs, None)
            continue
        if our is not None and their is not None:
            only_ours = offset_of(our) < offset_of(their)
            only_theirs = offset_of(our) > offset_of(their)
        else:
            only_ours, only_theirs = their is None, our is None
        result.report(None if only_theirs else our, None if only_ours else their)
        if not only_ours:
            result.count(their)
            their = next(theirs, None)
        if not only_theirs:
            our = next(ours, None)


def compare(unspool, mode, path, their_path=None):
    """Runs both tools on a file and returns the Result."""
    our_command = [unspool, "cfi", *OUR_FLAGS[mode], path]
    their_command = [
        "readelf",
        "--debug-dump=no-follow-links",
        "--debug-dump=" + READELF_DUMP[mode],
        their_path or path,
    ]
    result = Result()
    with tempfile.TemporaryFile() as our_errors, tempfile.TemporaryFile() as their_errors:
        environment = dict(os.environ, LC_ALL="C")
        with subprocess.Popen(
            our_command, stdout=subprocess.PIPE, stderr=our_errors, env=environment
        ) as ours, subprocess.Popen(
            their_command, stdout=subprocess.PIPE, stderr=their_errors, env=environment
        ) as theirs:
            compare_streams(ours.stdout, theirs.stdout, result)
        for process, errors in ((ours, our_errors), (theirs, their_errors)):
            if process.returncode != 0:
                errors.seek(0)
                words = errors.read().decode(errors="replace").strip()
                result.failures.append(
                    f"{os.path.basename(process.args[0])} exited with "
                    f"{process.returncode}: {words}"
                )
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--unspool", required=True)
    parser.add_argument("--theirs")
    parser.add_argument("mode", choices=READELF_DUMP)
    parser.add_argument("file")
    options = parser.parse_args()

    result = compare(options.unspool, options.mode, options.file, options.theirs)
    print(
        f"{options.file}: {result.fdes} FDEs, {result.lines} {options.mode}, "
        f"{result.differences} differences"
    )
    for text in result.reports + result.failures:
        print(text)
    if result.fdes == 0:
        print("nothing to compare: no FDE in readelf's output")
        return 1
    return 0 if result.ok() else 1


if __name__ == "__main__":
    sys.exit(main())
