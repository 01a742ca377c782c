"""A program and its library in a folder of their own, for tests that replace,
hide or rename them."""

import os
import shutil
import subprocess
import time

import harness
from test_layouts import CALLBACK_CHAIN, FOO_CHAIN, chains


class Case(harness.Case):
    """foo_main and its library in a folder of their own: `app`."""

    def setUp(self):
        super().setUp()
        self.app = self.copy_layout("layout_bfd", "app")
        self.main = os.path.join(self.app, "foo_main")

    def copy_layout(self, layout, name):
        """A copy of foo_main and libfoo.so that everyone may replace."""
        folder = os.path.join(self.dir, name)
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        for file in ("foo_main", "libfoo.so"):
            shutil.copy(harness.program(f"{layout}/{file}"), folder)
        return folder

    def start(self, argv, **variables):
        """The process, which need not say what it used."""
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("UNSPOOL_", "LD_PRELOAD", "E2E_"))}
        process = subprocess.Popen(
            argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            cwd=self.dir, env={**environment, **variables})
        self.addCleanup(process.kill)
        return process

    def finish(self, process):
        """(stdout, stderr) of a process that must succeed."""
        stdout, stderr = process.communicate(
            timeout=harness.RUN_TIMEOUT_SECONDS)
        self.assertEqual(process.returncode, 0, stderr)
        return stdout, stderr

    def record_while(self, argv, act, prefix=(), unspool=harness.UNSPOOL):
        """The profile of a program while which `act(tool)` was called."""
        path = os.path.join(self.dir, "while.pb.gz")
        tool = self.start([*prefix, unspool, "record", "-o", path, "-F", "250",
                           "--", *argv])
        act(tool)
        stdout, stderr = self.finish(tool)
        self.assertEqual(stdout, "done 1\n")
        run = harness.Run(0, stdout, stderr, 0, path)
        run.profile = self.load(path, run)
        return run

    def await_true(self, condition, what):
        deadline = time.monotonic() + harness.RUN_TIMEOUT_SECONDS
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.01)

    def check(self, run, first=None):
        """All is named, under the paths that the program knew."""
        self.assertEqual(chains(run.profile), {FOO_CHAIN, CALLBACK_CHAIN})
        self.assertNotIn("names are missing", run.stderr)
        self.check_paths(run, first)

    def check_paths(self, run, first=None):
        """The paths alone; `first`: of the first mapping, if not foo_main's."""
        # The loader leaves "/./" in what lies beside "./foo_main".
        files = [os.path.normpath(mapping.filename)
                 for mapping in run.profile.mappings.values()]
        self.assertEqual(files[0], first or self.main)
        self.assertIn(self.main, files)
        self.assertIn(os.path.join(self.app, "libfoo.so"), files)
        self.assertNotIn("(deleted)", " ".join(files + run.profile.comments))


def opened_by(tool):
    """What a process has open."""
    folder = f"/proc/{tool.pid}/fd"
    links = []
    for fd in os.listdir(folder):
        try:
            links.append(os.readlink(os.path.join(folder, fd)))
        except FileNotFoundError:
            pass  # closed meanwhile
    return links
