"""Code that a JIT compiler made has the names that the compiler wrote down."""

import os
import shutil
import subprocess
import tempfile
import unittest

import harness
import pprof_decode

FIBONACCI = """
function fibonacci(n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
let total = 0;
for (let i = 0; i < 12; ++i) total += fibonacci(32);
console.log(total);
"""


class JT01JitCodeTest(harness.Case):
    """A program of ours, with perf's map and with a jitdump; preloaded and
    under `record`."""

    def check(self, kind, written, expected):
        argv = [harness.program("jit"), kind, "1500"]
        for run_it in (self.record, self.preload):
            run = run_it(argv)
            os.remove(written.format(run.profile.samples[0].labels["pid"]))
            frames = [sample.frames[0] for sample in run.profile.samples
                      if sample.names[0] == "jit_spin"]
            self.assertTrue(frames, run.stderr)
            for frame in frames:
                self.assertEqual((frame.module, frame.file, frame.line),
                                 expected)
            time = harness.flat_by_name(run.profile)
            self.assertGreater(time["jit_spin"], 0.8 * sum(time.values()))
            self.assertNotIn("[unknown]", time)
            _, complaints = harness.pprof_table(run.path)
            self.assertEqual(complaints, "")

    def test_perf_map(self):
        self.check("map", "/tmp/perf-{}.map", ("[jit]", "", 0))

    def test_jitdump(self):
        # Where the program is, and where the one who asks for names is.
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.dir)
        self.check("dump", "jit-{}.dump",
                   ("[jit]", "spin.jit", 42))


@unittest.skipUnless(os.geteuid() == 0, "only root makes mount namespaces")
class JT01OtherNamespacesTest(harness.Case):
    """A process in a pid namespace and with a /tmp of its own, where it has
    number 1; our process of that number wrote names, too."""

    # All of /tmp is seen, and what is written stays in this namespace, but for
    # the folder of the test.
    SCRIPT = """set -e
        mount -t tmpfs tmpfs "$1"; cd "$1"; mkdir up work dir; mount --bind "$2" dir
        mount -t overlay overlay -o lowerdir=/tmp,upperdir=up,workdir=work /tmp
        mount --bind dir "$2"; rm /tmp/perf-1.map; cd /tmp; shift 2; exec "$@"
        """

    def setUp(self):
        super().setUp()
        for path in ("/tmp/perf-1.map", "/tmp/jit-1.dump"):
            self.assertFalse(os.path.exists(path))
        with open("/tmp/perf-1.map", "w") as file:
            file.write("0 7fffffffffff wrong\n")
        self.addCleanup(os.remove, "/tmp/perf-1.map")
        mounts = tempfile.TemporaryDirectory(dir="/dev/shm")
        self.addCleanup(mounts.cleanup)
        self.inside = ["unshare", "-m", "-p", "-f", "sh", "-c", self.SCRIPT,
                       "sh", mounts.name, self.dir]

    def test_recorded_from_outside(self):
        for kind in ("map", "dump"):
            with self.subTest(kind):
                run = self.record(
                    [*self.inside, harness.program("jit"), kind, "1500"])
                time = harness.flat_by_name(run.profile)
                self.assertGreater(time["jit_spin"], 0.8 * sum(time.values()))
                self.assertNotIn("wrong", time)
                self.assertNotIn("names are missing", run.stderr)

    def test_preloaded_and_named_outside(self):
        path = os.path.join(self.dir, "inside.pb.gz")
        self._run([*self.inside, "env", f"LD_PRELOAD={harness.AGENT}",
                   f"UNSPOOL_OUTPUT={path}", harness.program("jit"), "map",
                   "500"], {})
        report = subprocess.run([harness.UNSPOOL, "report", path],
                                capture_output=True, text=True, check=True,
                                timeout=harness.RUN_TIMEOUT_SECONDS)
        self.assertIn("[unknown]", report.stdout)
        self.assertNotIn("wrong", report.stdout)
        self.assertIn("names are missing: code in no file of process 1: it ran "
                      "in another pid namespace", report.stderr)


class JT01RegisteredCodeTest(harness.Case):
    """Code without a frame pointer, of which the agent is told by
    unspool_register_code() and unspool_register_frames()."""

    CALLERS = ["main", "enter_jit"]

    def stacks(self, run):
        """Of the callback: (names, root first, from main on; sample)."""
        result = []
        for sample in run.profile.samples:
            names = [name for name in sample.names[::-1] if name != "burn"]
            if names[-1] == "callback":
                main = names.index("main") if "main" in names else 0
                result.append((names[main:], sample))
        self.assertGreater(len(result), 0, run.stderr)
        return result

    def run_mode(self, mode):
        argv = [harness.program("registered_code"), mode, "0.7"]
        plain = self.run_plain(argv)
        for run_it in (self.record, self.preload):
            run = run_it(argv)
            self.assert_unchanged(run, plain)
            yield run

    def test_named_and_with_frames(self):
        for run in self.run_mode("both"):
            for names, sample in self.stacks(run):
                self.assertEqual(
                    names, [*self.CALLERS, "jit thunk(int)", "callback"])
                self.assertTrue(harness.is_rooted(sample))
                self.assertNotIn("unwind", sample.labels)
                self.assertEqual(
                    {frame.module for frame in sample.frames
                     if frame.name == "jit thunk(int)"}, {"[jit]"})
            _, complaints = harness.pprof_table(run.path)
            self.assertEqual(complaints, "")

    def test_with_frames_only(self):
        for mode in ("frames", "debug_frame"):
            for run in self.run_mode(mode):
                for names, sample in self.stacks(run):
                    self.assertEqual((names[:2], names[3:]),
                                     (self.CALLERS, ["callback"]))
                    self.assertTrue(harness.is_rooted(sample))

    def check_no_garbage(self, mode):
        """Whole, or marked; never with a caller that is none."""
        for run in self.run_mode(mode):
            for names, sample in self.stacks(run):
                if not harness.truncation(sample):
                    self.assertEqual((names[:2], names[3:]),
                                     (self.CALLERS, ["callback"]))
                self.assertLessEqual(
                    {name for name in names if name[0] not in "[0"},
                    {*self.CALLERS, "jit thunk(int)", "callback"})

    def test_not_registered(self):
        self.check_no_garbage("none")

    def test_named_only(self):
        self.check_no_garbage("named")

    def test_registered_and_unregistered_while_it_runs(self):
        self.check_no_garbage("churn")


class JT02NodeTest(harness.Case):
    """node, with either of its flags: a function that V8 compiled is named, is
    where the time goes, and has callers."""

    def check(self, flag):
        script = os.path.join(self.dir, "fibonacci.js")
        with open(script, "w") as file:
            file.write(FIBONACCI)
        path = os.path.join(self.dir, "node.pb.gz")
        run = subprocess.run(
            [harness.UNSPOOL, "record", "-F", str(harness.FREQUENCY), "-o", path,
             "--", shutil.which("node"), flag, script], cwd=self.dir,
            capture_output=True, text=True, timeout=harness.RUN_TIMEOUT_SECONDS)
        self.assertEqual((run.returncode, run.stdout), (0, "26139708\n"),
                         run.stderr)
        self.assertNotIn("names are missing", run.stderr)
        profile = pprof_decode.load(path)
        by_name = harness.flat_by_name(profile)
        ours = sum(time for name, time in by_name.items()
                   if "fibonacci" in name and "fibonacci.js" in name)
        self.assertGreater(ours, 0.3 * sum(by_name.values()), by_name)
        stacks = [sample for sample in profile.samples
                  if not harness.is_pseudo(sample)]
        rooted = sum(map(harness.is_rooted, stacks))
        self.assertGreater(rooted, 0.85 * len(stacks))
        written = f"/tmp/perf-{profile.samples[0].labels['pid']}.map"
        if os.path.exists(written):
            os.remove(written)

    def test_perf_basic_prof(self):
        self.check("--perf-basic-prof")

    def test_perf_prof(self):
        self.check("--perf-prof")
