#!/usr/bin/env python3
"""Builds the program full of inlined templates: 20,000 function templates
inlined into 2,000 functions, with over 100 MB of debug data. Takes some 15
minutes of CPU time; what is up to date stays.

    bench/exporters/inlines/build.py DIRECTORY [COMPILER...]

gives DIRECTORY/inlines-g++ and DIRECTORY/inlines-clang++-14.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
COMPILERS = ("g++", "clang++-14")
# Frame pointers, for peers that cannot unwind without.
FLAGS = ("-std=c++20", "-O2", "-g", "-fno-omit-frame-pointer", f"-I{ROOT}")


def is_newer(made, *sources):
    return made.exists() and all(
        made.stat().st_mtime >= source.stat().st_mtime for source in sources)


def compile_file(compiler, source, made, *flags):
    if not is_newer(made, source, HERE / "chains.h"):
        partial = made.with_suffix(".part.o")
        subprocess.run([compiler, *FLAGS, *flags, "-c", source, "-o", partial],
                       check=True)
        partial.rename(made)
    return made


def build(directory, compiler, pool):
    """Returns the path of the program."""
    objects = pathlib.Path(directory) / compiler
    objects.mkdir(parents=True, exist_ok=True)
    units = int(re.search(r"kUnits = (\d+)",
                          (HERE / "chains.h").read_text()).group(1))
    jobs = [pool.submit(compile_file, compiler, HERE / "unit.cc",
                        objects / f"unit_{unit}.o", f"-DUNIT={unit}")
            for unit in range(units)]
    jobs.append(pool.submit(compile_file, compiler, HERE / "main.cc",
                            objects / "main.o"))
    made = [job.result() for job in jobs]
    program = pathlib.Path(directory) / f"inlines-{compiler}"
    if not is_newer(program, *made):
        subprocess.run([compiler, *made, "-o", program], check=True)
    return program


def build_all(directory, compilers=COMPILERS):
    """Returns the paths of the programs, in the order of `compilers`."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return [build(directory, compiler, pool) for compiler in compilers]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print(*build_all(sys.argv[1], sys.argv[2:] or COMPILERS), sep="\n")
