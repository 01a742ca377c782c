"""Runs build/<preset>/bin/unspool the way a person would, and looks at what
comes back. UNSPOOL_BUILD_DIR names the build directory (ctest sets it)."""

import atexit
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "end_to_end"))
import pprof_decode  # noqa: E402  (the tests' own reader of profiles)

BUILD = pathlib.Path(os.environ.get("UNSPOOL_BUILD_DIR",
                                    HERE.parents[2] / "build/release"))


def public_copy():
    """What the tests run, where an ordinary user can reach it: a checkout may
    lie below a directory that only root can enter."""
    copy = pathlib.Path(tempfile.mkdtemp(prefix="unspool-product-"))
    atexit.register(shutil.rmtree, copy, ignore_errors=True)
    copy.chmod(0o755)
    for path in ("bin/unspool", "lib/libunspool.so"):
        (copy / path).parent.mkdir()
        shutil.copy(BUILD / path, copy / path)
    shutil.copytree(BUILD / "cli_programs", copy / "cli_programs",
                    symlinks=True)
    return copy


PRODUCT = public_copy()
UNSPOOL = str(PRODUCT / "bin/unspool")
AGENT = str(PRODUCT / "lib/libunspool.so")
PROGRAMS = PRODUCT / "cli_programs"
ACT = str(PROGRAMS / "act")
NOBODY = 65534
TIMEOUT_SECONDS = 60


def as_nobody():
    """Command prefix that gives up root; empty for those who are not root."""
    if os.geteuid() != 0:
        return []
    return [shutil.which("setpriv"), f"--reuid={NOBODY}", f"--regid={NOBODY}",
            "--clear-groups"]


class Case(unittest.TestCase):
    """A test with a directory of its own, current while it runs tools."""

    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="unspool-cli-"))
        self.dir.chmod(0o777)
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def run_tool(self, *arguments, prefix=(), env=None, unspool=UNSPOOL,
                 **options):
        """CompletedProcess of the tool; stdout and stderr are text."""
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("UNSPOOL_")}
        environment.update(env or {})
        options.setdefault("stdout", subprocess.PIPE)
        return subprocess.run(
            [*prefix, unspool, *map(str, arguments)], cwd=self.dir,
            env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, timeout=TIMEOUT_SECONDS, **options)

    def record(self, *command, flags=(), **options):
        return self.run_tool("record", *flags, "--", *command, **options)

    def record_spin(self):
        """Leaves a profile of `act spin` in the test's directory."""
        run = self.record(ACT, "spin", "400")
        self.assertEqual(run.returncode, 0, run.stderr)

    def contents(self, name):
        return (self.dir / name).read_bytes()

    def assert_one_line(self, run, status, *words):
        """Failed with that status and one line on stderr with these words."""
        self.assertEqual(run.returncode, status, run.stderr)
        lines = run.stderr.splitlines()
        self.assertEqual(len(lines), 1, run.stderr)
        self.assertTrue(lines[0].startswith("unspool: "), lines[0])
        for word in words:
            self.assertIn(word, lines[0])

    def load(self, name="profile.pb.gz"):
        """The profile that was written into the test's directory."""
        return pprof_decode.load(str(self.dir / name))

    def cpu_seconds(self, function, name="profile.pb.gz"):
        """CPU time of stacks with that function in them."""
        profile = self.load(name)
        index = profile.value_index("cpu")
        return sum(sample.values[index] for sample in profile.samples
                   if function in sample.names) / 1e9

    def summary_samples(self, run):
        """How many samples the summary line counts."""
        match = re.search(r"unspool: (\d+) samples?\b", run.stderr)
        self.assertIsNotNone(match, run.stderr)
        return int(match.group(1))
