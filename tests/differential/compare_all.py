#!/usr/bin/env python3
"""Compares `unspool cfi` with readelf for every ELF file of a machine.

usage: compare_all.py --unspool BINARY [--jobs N] [DIRECTORY…]

Goes through the x86-64 programs, shared objects, debug files and object files
below the directories (default: /usr /opt), in both modes of compare.py.
Prints what differs, then totals. Exits 0 if nothing does. Takes minutes.
"""

import argparse
import concurrent.futures
import os
import struct
import sys
import time

sys.dont_write_bytecode = True  # the source tree stays as it is
import compare  # noqa: E402

DIRECTORIES = ["/usr", "/opt"]
TYPES = (1, 2, 3)  # ET_REL, ET_EXEC, ET_DYN
EM_X86_64 = 62


def is_elf(path):
    try:
        with open(path, "rb") as file:
            header = file.read(20)
    except OSError:
        return False
    if len(header) < 20 or header[:6] != b"\x7fELF\x02\x01":
        return False
    kind, machine = struct.unpack("<HH", header[16:20])
    return kind in TYPES and machine == EM_X86_64


def find_files(directories):
    """Each file once, whatever names link to it."""
    seen = set()
    for directory in directories:
        for parent, _, names in os.walk(directory):
            for name in sorted(names):
                path = os.path.join(parent, name)
                if not os.path.isfile(path) or os.path.islink(path):
                    continue
                status = os.stat(path)
                if (status.st_dev, status.st_ino) in seen:
                    continue
                seen.add((status.st_dev, status.st_ino))
                if is_elf(path):
                    yield path


def has_nothing_to_compare(result):
    """readelf gives up on the program headers of some separate debug files; they
    have no bytes of .eh_frame, and we print none."""
    return result.fdes == 0 and result.differences == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--unspool", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("directories", nargs="*", default=DIRECTORIES)
    options = parser.parse_args()

    started = time.monotonic()
    files = list(find_files(options.directories))
    totals = {mode: compare.Result() for mode in compare.READELF_DUMP}
    bad_files = 0
    without_fdes = 0

    def compare_file(path):
        return [
            (mode, compare.compare(options.unspool, mode, path)) for mode in totals
        ]

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, results in zip(files, pool.map(compare_file, files)):
            if all(has_nothing_to_compare(result) for _, result in results):
                without_fdes += 1
                continue
            bad_files += any(not result.ok() for _, result in results)
            for mode, result in results:
                totals[mode].fdes += result.fdes
                totals[mode].lines += result.lines
                totals[mode].differences += result.differences
                if not result.ok():
                    print(f"{path}: {result.differences} differences in {mode}")
                    for text in result.reports + result.failures:
                        print(text, flush=True)

    for mode, total in totals.items():
        print(
            f"{mode}: {total.fdes} FDEs, {total.lines} {mode}, "
            f"{total.differences} differences"
        )
    print(
        f"{len(files)} files, {bad_files} with a difference, {without_fdes} without "
        f"FDEs, {time.monotonic() - started:.0f} s"
    )
    return 1 if bad_files or not files else 0


if __name__ == "__main__":
    sys.exit(main())
