#!/usr/bin/env python3
"""Profiles real programs and prints what came out as Markdown tables.

    real_programs.py [--only NAME] [--no-peers] [--frequency HZ ...]

For each program, user and rate, under `unspool record`: samples, the sum of
weights against the program's user + system CPU time, stacks that reach the
root, what `go tool pprof` complains about, whether its table is ours, whether
output and exit status are those of an unprofiled run. Beside it gperftools and
`perf record --call-graph dwarf` on the same commands. UNSPOOL_BUILD_DIR names
the build directory (build/release). Run as root to have both users.
"""

import argparse
import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import tempfile
import threading

import harness
import peers
import pprof_decode
import workloads

RUN_LIMIT_SECONDS = 300


@dataclasses.dataclass
class Outcome:
    status: int
    digest: str
    cpu_ns: int  # of the program alone
    stderr: str


def execute(workload, prefix=(), extra=None, own_cpu=False):
    """Runs prefix + command to its end. `own_cpu`: the first program of the
    prefix stays as the parent; its own CPU time is taken off."""
    workload.prepare()
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("UNSPOOL_", "LD_PRELOAD"))}
    environment.update(extra or {})
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            [*prefix, *workload.argv], stdout=out, stderr=err, env=environment,
            cwd=workload.directory)
        try:
            driven = workload.drive(process)
            status, cpu_ns = reap(process, own_cpu)
        except BaseException:
            process.kill()
            raise
        out.seek(0)
        err.seek(0)
        digest = (workload.digest(out.read(), driven) if status == 0 else
                  f"status {status}")
        return Outcome(status, digest, cpu_ns,
                       err.read().decode(errors="replace"))


def reap(process, own_cpu):
    """(exit status, CPU ns). A child's own time is exact in its schedstat,
    which stays readable until it is waited for."""
    wait_for_end(process.pid, RUN_LIMIT_SECONDS)
    own_ns = 0
    if own_cpu:
        with open(f"/proc/{process.pid}/schedstat") as file:
            own_ns = int(file.read().split()[0])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    total = int((usage.ru_utime + usage.ru_stime) * 1e9)
    return process.returncode, total - own_ns


def wait_for_end(pid, seconds):
    """Until it is a zombie; ends it if that takes too long."""
    timer = threading.Timer(seconds, os.kill, (pid, signal.SIGKILL))
    timer.start()
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    finally:
        timer.cancel()


@dataclasses.dataclass
class Totals:
    samples: int = 0
    rooted: int = 0
    at_limit: int = 0
    wrong: list = dataclasses.field(default_factory=list)


def rooted_counts(profile):
    """(samples, those that reach the root, those cut at --max-depth)."""
    samples = rooted = at_limit = 0
    for sample in profile.samples:
        counted = harness.count(profile, sample)
        samples += counted
        if harness.is_rooted(sample):
            rooted += counted
        elif harness.truncation(sample) == "[truncated: depth]":
            at_limit += counted
    return samples, rooted, at_limit


def our_row(workload, user, prefix, frequency, plain, unspool, totals):
    path = os.path.join(workload.directory, "ours.pb.gz")
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
    outcome = execute(workload, [*prefix, unspool, "record", "-o", path, "-F",
                                 str(frequency), *workload.record_flags, "--"],
                      own_cpu=True)
    profile = pprof_decode.load(path)
    samples, rooted, at_limit = rooted_counts(profile)
    totals.samples += samples
    totals.rooted += rooted
    totals.at_limit += at_limit

    weight = profile.total("cpu")
    allowed = outcome.cpu_ns * 0.01 + workload.threads * 1e9 / frequency
    verdicts = {
        "sum of weights": abs(weight - outcome.cpu_ns) <= allowed,
        "output or status": same_result(outcome, plain),
        **judge_by_pprof(path, unspool)}
    totals.wrong += [f"{workload.name}, {user}, {frequency} Hz: {what}"
                     for what, right in verdicts.items() if not right]
    cells = [workload.name, user, frequency, samples,
             f"{outcome.cpu_ns / 1e9:.2f}", f"{weight / outcome.cpu_ns:.4f}",
             f"{100 * rooted / samples:.2f}",
             *("yes" if right else "NO" for right in verdicts.values())]
    return "| " + " | ".join(map(str, cells)) + " |"


def same_result(outcome, plain):
    return (outcome.status, outcome.digest) == (plain.status, plain.digest)


def judge_by_pprof(path, unspool):
    """What `go tool pprof` says of the profile."""
    table, complaints = harness.pprof_table(path)
    complaints += harness.pprof_tool("-raw", path)[1]
    folded = subprocess.run(
        [unspool, "export", path, "--format", "folded", "-o", "-"],
        capture_output=True, text=True, check=True).stdout
    return {"no pprof warning": not complaints,
            "top table": table == harness.folded_table(folded)}


def gperftools_row(workload, frequency, plain):
    path = os.path.join(workload.directory, "gperftools.prof")
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)
    outcome = execute(workload,
                      extra=peers.gperftools_environment(path, frequency))
    program = resolve(workload.argv[0])
    run = peers.read_gperftools(path, program, outcome.status)
    return peer_row("gperftools", workload, frequency, run, outcome, plain,
                    f"{run.cpu_ns / outcome.cpu_ns:.4f}", "")


def perf_row(workload, frequency, plain):
    path = os.path.join(workload.directory, "perf.data")
    outcome = execute(workload, peers.perf_prefix(path, frequency),
                      own_cpu=True)
    script = peers.read_perf(path, resolve(workload.argv[0]))
    run = script.run
    share = run.samples * 1e9 / frequency / outcome.cpu_ns
    return peer_row("perf dwarf", workload, frequency, run, outcome, plain,
                    f"{share:.4f}",
                    f"{script.data_bytes / 1e6:.1f} MB, perf script "
                    f"{script.seconds:.1f} s")


def peer_row(peer, workload, frequency, run, outcome, plain, share, note):
    same = same_result(outcome, plain)
    rooted = f"{100 * run.rooted / run.samples:.2f}" if run.samples else "-"
    notes = ", ".join(text for text in (note, run.note) if text)
    return (f"| {peer} | {workload.name} | {frequency} | {run.samples} | "
            f"{share} | {rooted} | {'same' if same else 'CHANGED'} | {notes} |")


def resolve(command):
    return subprocess.run(["which", command], capture_output=True, text=True,
                          check=True).stdout.strip()


def print_ours(chosen, frequencies, directory):
    totals = Totals()
    unspool, _ = harness.copy_product(directory)
    print("| program | user | Hz | samples | CPU s | weights / CPU | "
          "rooted % | weights within 1 % + a period per thread | "
          "output and status unchanged | no pprof warning | "
          "top table equal |")
    print("|---" * 11 + "|")
    plains = {}
    for workload in chosen:
        for user, prefix in harness.identities():
            plain = execute(workload, prefix)
            plains[workload.name] = plain
            for frequency in frequencies:
                print(our_row(workload, user, prefix, frequency, plain, unspool,
                              totals), flush=True)
            # The next user's files are its own.
            workload.prepare()
    share = 100 * totals.rooted / totals.samples
    print(f"\n{totals.samples} samples, {totals.rooted} rooted: "
          f"{share:.3f} %; {totals.at_limit} cut at the depth asked for, "
          f"{totals.samples - totals.rooted - totals.at_limit} for other "
          f"reasons.\n")
    return totals, plains


def print_peers(chosen, frequencies, plains):
    print("| peer | program | Hz | samples | time in profile / CPU | "
          "rooted % | output and status | notes |")
    print("|---" * 8 + "|")
    for workload in chosen:
        for frequency in frequencies:
            for row in (gperftools_row, perf_row):
                print(row(workload, frequency, plains[workload.name]),
                      flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", help="programs whose name contains this")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--frequency", type=int, nargs="+",
                        default=[100, 250])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unspool-real-") as directory:
        os.chmod(directory, 0o1777)
        chosen = [workload for workload in workloads.all_workloads(directory)
                  if not arguments.only or arguments.only in workload.name]
        totals, plains = print_ours(chosen, arguments.frequency, directory)
        if not arguments.no_peers:
            print_peers(chosen, arguments.frequency, plains)
    for wrong in totals.wrong:
        print(f"wrong: {wrong}", file=sys.stderr)
    sys.exit(1 if totals.wrong else 0)


if __name__ == "__main__":
    main()
