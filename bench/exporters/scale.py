#!/usr/bin/env python3
"""Time and memory of each command on a profile of 10 million samples with 1
million distinct stacks, 10 to 50 frames deep; go tool pprof on the same file
beside.

    bench/exporters/scale.py BUILD_DIRECTORY [--stacks N] [--samples N]
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

MIB = 1 << 20


def measure(command, out):
    """(seconds, peak RSS in MiB) of a command that succeeds."""
    begin = time.monotonic()
    with open(out, "wb") as stdout:
        process = subprocess.Popen(command, stdout=stdout,
                                   stderr=subprocess.PIPE)
    errors = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: {errors.decode()}")
    return time.monotonic() - begin, usage.ru_maxrss * 1024 / MIB


def rows(unspool, folder, profile):
    """(what, our command, the peer's command or None)"""
    pprof = ["go", "tool", "pprof"]

    def out(name):
        return str(folder / name)

    return [
        ("pprof", [unspool, "export", profile, "-o", out("a.pb.gz")],
         pprof + ["-proto", "-output", out("p.pb.gz"), profile]),
        ("folded", [unspool, "export", profile, "-o", out("a.folded")],
         pprof + ["-traces", "-output", out("p.traces"), profile]),
        ("table", [unspool, "report", profile],
         pprof + ["-top", profile]),
        ("tree", [unspool, "report", "--tree", profile],
         pprof + ["-tree", profile]),
        ("callers", [unspool, "report", "--callers", "Class777::", profile],
         pprof + ["-peek", "Class777::", profile]),
        ("focus", [unspool, "report", "--focus", "Class777::", profile],
         pprof + ["-top", "-focus=Class777::", profile]),
        ("json", [unspool, "report", "--json", profile], None),
        ("merge", [unspool, "merge", profile, profile, "-o", out("m.pb.gz")],
         pprof + ["-proto", "-output", out("pm.pb.gz"), profile, profile]),
        ("diff", [unspool, "diff", profile, profile],
         pprof + ["-top", "-normalize", "-diff_base=" + profile, profile]),
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--stacks", default="1000000")
    parser.add_argument("--samples", default="10000000")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unspool-scale-") as name:
        folder = pathlib.Path(name)
        profile = str(folder / "scale.pb.gz")
        subprocess.run([options.build / "bin/scale_profile", options.stacks,
                        options.samples, profile], check=True)
        print(f"{options.samples} samples, {options.stacks} stacks, "
              f"{os.path.getsize(profile) // MIB} MiB\n")
        print("what      unspool              go tool pprof          ratio")
        for what, ours, theirs in rows(str(options.build / "bin/unspool"),
                                       folder, profile):
            seconds, mib = measure(ours, folder / "stdout")
            line = f"{what:8} {seconds:6.1f} s {mib:6.0f} MiB"
            if theirs is not None:
                peer, peer_mib = measure(theirs, folder / "stdout")
                line += (f"   {peer:6.1f} s {peer_mib:6.0f} MiB"
                         f"   {peer / seconds:4.1f} x")
            print(line, flush=True)


if __name__ == "__main__":
    main()
