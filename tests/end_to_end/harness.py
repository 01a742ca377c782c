"""Runs a program under the shipped product and hands back what was recorded.

Every run checks what must hold for all of them: the program's output and exit
status are those of an unprofiled run, and the profile is well-formed. A case
adds what it is about, as counts and shapes; no test asserts a time.

UNSPOOL_BUILD_DIR names the build directory (ctest sets it).
"""

import dataclasses
import glob
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

import pprof_decode

SOURCE = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
BUILD = os.environ.get("UNSPOOL_BUILD_DIR") or os.path.join(
    SOURCE, "build/release")
BUILD = os.path.realpath(BUILD)
PROGRAMS = os.path.join(BUILD, "end_to_end")
UNSPOOL = os.path.join(BUILD, "bin/unspool")
AGENT = os.path.join(BUILD, "lib/libunspool.so")
# pprof proper: unlike Go's it reads any ELF file's names and build id.
PPROF = os.path.join(BUILD, "tests/exporters/raw/pprof")

# The highest rate that `timer` reaches on Debian's kernels (CONFIG_HZ).
FREQUENCY = 250
NOBODY = 65534
# A deadlock ends here with a message, before ctest's own limit.
RUN_TIMEOUT_SECONDS = 90
STARTED = time.time()
ENOUGH_SAMPLES = 5


@dataclasses.dataclass
class Run:
    status: int
    stdout: bytes
    stderr: str
    cpu_ns: int  # getrusage() of the program at its end
    path: str = ""  # of the profile, as the product wrote it
    profile: pprof_decode.Profile = None  # named


def program(name):
    """Path of one of programs/, as built."""
    return os.path.join(PROGRAMS, name)


def spools(pid):
    """Recordings that this process left. Others run at the same time, and one
    that was killed long ago may have had its number."""
    return [path for path in glob.glob(f"/dev/shm/unspool-{pid}-*.spool")
            if os.stat(path).st_mtime >= STARTED]


def identities():
    """Users to run as: (name, command prefix). Root can also be no one."""
    if os.geteuid() != 0:
        return [("self", [])]
    return [("root", []),
            ("nobody", ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
                        "--clear-groups"])]


def weight(profile, sample):
    """Nanoseconds, CPU or wall-clock, that the sample stands for."""
    return sample.values[profile.value_index(profile.default_sample_type)]


def count(profile, sample):
    """Handler runs that gave this stack."""
    return sample.values[profile.value_index("samples")]


def is_pseudo(sample):
    """True for "[unsampled]" and "[lost: ...]": time without a stack."""
    return len(sample.frames) == 1 and sample.names[0].startswith("[")


def truncation(sample):
    """The outermost "[truncated: ...]" frame's name, or ""."""
    name = sample.names[-1]
    return name if name.startswith("[truncated: ") else ""


def is_rooted(sample):
    """True if the stack reaches a program's entry or a thread's start."""
    outermost = sample.frames[-1]
    return not truncation(sample) and (
        outermost.name == "_start" or
        outermost.module.startswith(("libc.so", "libc-2", "ld-linux")))


def flat_by_name(profile):
    """CPU nanoseconds by leaf function."""
    result = {}
    for sample in profile.samples:
        name = sample.names[0]
        result[name] = result.get(name, 0) + weight(profile, sample)
    return result


def folded_table(text):
    """{name: (flat, cumulative)} of folded stacks ("root;...;leaf value")."""
    flat, cumulative = {}, {}
    for line in text.splitlines():
        stack, _, value = line.rpartition(" ")
        names = stack.split(";")
        flat[names[-1]] = flat.get(names[-1], 0) + int(value)
        for name in set(names):
            cumulative[name] = cumulative.get(name, 0) + int(value)
    return {name: (flat.get(name, 0), value)
            for name, value in cumulative.items()}


def pprof_tool(*arguments, tool=("go", "tool", "pprof"), binaries=""):
    """`go tool pprof`, or PPROF, with these arguments: (stdout, stderr).
    `binaries`: where it looks for files besides where the profile says."""
    with tempfile.TemporaryDirectory() as scratch:
        result = subprocess.run(
            [*tool, *arguments], capture_output=True, text=True, timeout=120,
            check=True, env={**os.environ, "PPROF_TMPDIR": scratch,
                             "HOME": scratch, "PPROF_BINARY_PATH": binaries})
    return result.stdout, result.stderr


def pprof_table(path):
    """{name: (flat, cumulative)} in ns by `go tool pprof -top`, and what it
    complained about on stderr."""
    stdout, stderr = pprof_tool("-top", "-unit=ns", "-nodecount=1000000",
                                "-nodefraction=0", "-edgefraction=0", path)
    table = {}
    row = re.compile(r"\s*(\d+)(?:ns)?\s+\S+\s+\S+\s+(\d+)(?:ns)?\s+\S+  (.*)")
    for line in stdout.splitlines():
        match = row.fullmatch(line)
        if match:
            table[match[3].removesuffix(" (inline)")] = (int(match[1]),
                                                         int(match[2]))
    return table, stderr


class Case(unittest.TestCase):
    """A test with a scratch directory and the ways to run a program."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="unspool-test-")
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name
        # The runs of an ordinary user write here too.
        os.chmod(self.dir, 0o1777)

    def run_plain(self, argv, prefix=()):
        """The program alone."""
        return self._run([*prefix, *argv], {})

    def record(self, argv, frequency=FREQUENCY, prefix=(), unspool=UNSPOOL,
               name="record.pb.gz", clock="cpu", flags=()):
        """The program under `unspool record`."""
        path = os.path.join(self.dir, name)
        run = self._run([*prefix, unspool, "record", "-o", path, "-F",
                         str(frequency), "--clock", clock, *flags, "--", *argv], {})
        run.path = path
        run.profile = self.load(path, run, clock)
        return run

    def preload(self, argv, frequency=FREQUENCY, prefix=(), agent=AGENT,
                name="preload.pb.gz", clock="cpu"):
        """The program with the agent preloaded; named after."""
        path = os.path.join(self.dir, name)
        run = self._run(list(prefix) + list(argv), {
            "LD_PRELOAD": agent, "UNSPOOL_OUTPUT": path,
            "UNSPOOL_FREQUENCY": str(frequency), "UNSPOOL_CLOCK": clock})
        run.path = path
        self.load(path, run, clock)
        named = os.path.join(self.dir, "named-" + name)
        self.unspool("export", path, "-o", named)
        run.profile = self.load(named, run, clock)
        return run

    def unspool(self, *arguments):
        """stdout of an `unspool` command that must succeed."""
        result = subprocess.run([UNSPOOL, *arguments], capture_output=True,
                                text=True, timeout=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def load(self, path, run, clock="cpu"):
        """The decoded profile, if it is what every profile must be."""
        self.assertTrue(os.path.exists(path), f"no profile: {run.stderr}")
        profile = pprof_decode.load(path)
        self.assertEqual(profile.sample_types,
                         [("samples", "count"), (clock, "nanoseconds")])
        self.assertEqual(profile.default_sample_type, clock)
        self.assertGreater(profile.duration_nanos, 0)
        self.assertGreater(profile.total("samples"), 0, run.stderr)
        for sample in profile.samples:
            self.assertTrue(sample.frames, "a sample without a frame")
            self.assertGreater(weight(profile, sample), 0)
        return profile

    def assert_unchanged(self, run, plain):
        """The program did the same as without the profiler."""
        self.assertEqual((run.status, run.stdout), (plain.status, plain.stdout),
                         run.stderr)

    def assert_spent(self, ns, seconds):
        """`ns` is what samples say of a function that took `seconds`. What it
        used since the last tick of a processor that others share is not in
        them."""
        self.assertLess(ns / 1e9, seconds + 0.03)
        self.assertGreater(ns / 1e9, seconds - 0.15)

    def assert_sampled(self, profile, samples, what=""):
        """What is true of these says something: a part of a second, however
        few ticks a processor that others share had for it."""
        self.assertGreaterEqual(
            sum(count(profile, sample) for sample in samples), ENOUGH_SAMPLES,
            what)

    def assert_all(self, samples, predicate, what):
        """`what` holds for every sample, and there are enough to say so."""
        self.assertGreater(len(samples), 0, f"no samples for: {what}")
        for sample in samples:
            self.assertTrue(predicate(sample),
                            f"not so: {what}: {sample.names[::-1]}")

    def _run(self, argv, extra):
        usage = os.path.join(self.dir, f"rusage-{len(os.listdir(self.dir))}")
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("UNSPOOL_", "LD_PRELOAD"))}
        environment.update(extra, E2E_RUSAGE=usage)
        result = subprocess.run(argv, capture_output=True, env=environment,
                                cwd=self.dir, timeout=RUN_TIMEOUT_SECONDS)
        stderr = result.stderr.decode(errors="replace")
        if not os.path.exists(usage):
            self.fail(f"{argv} did not reach its end: status "
                      f"{result.returncode}: {stderr}")
        with open(usage) as file:
            cpu_ns = int(file.read())
        return Run(result.returncode, result.stdout, stderr, cpu_ns)


def copy_product(directory):
    """Tool and agent as an ordinary user can reach them: (unspool, agent)."""
    for part, path in (("bin", UNSPOOL), ("lib", AGENT)):
        os.makedirs(os.path.join(directory, part), exist_ok=True)
        shutil.copy(path, os.path.join(directory, part))
    return (os.path.join(directory, "bin/unspool"),
            os.path.join(directory, "lib/libunspool.so"))
