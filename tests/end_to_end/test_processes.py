"""Processes that fork, execute and multiply."""

import glob
import os
import re
import subprocess

import harness
import pprof_decode


def cpu_in(profile, function, pid=None):
    """CPU ns of stacks with that function, of one process or all."""
    return sum(harness.weight(profile, sample) for sample in profile.samples
               if function in sample.names and
               pid in (None, sample.labels.get("pid")))


def pids_of(profile, function):
    return {sample.labels.get("pid") for sample in profile.samples
            if function in sample.names}


class FE01ForkedChildTest(harness.Case):
    """What the child does is the child's, and nothing counts twice."""

    def test_under_record_both_are_in_one_profile(self):
        run = self.record([harness.program("forks"), "1"])
        self.assertEqual((run.status, run.stdout), (0, b"done\n"))
        parent, child = (pids_of(run.profile, name)
                         for name in ("parent_work", "child_work"))
        self.assertEqual((len(parent), len(child)), (1, 1))
        self.assertNotEqual(parent, child)
        for name in ("parent_work", "child_work"):
            self.assert_spent(cpu_in(run.profile, name), 1)
        # Samples from before the fork are the parent's alone.
        self.assertEqual(pids_of(run.profile, "before_fork"), parent)

    def test_preloaded_each_has_a_file(self):
        run = self.preload([harness.program("forks"), "1"])
        files = glob.glob(os.path.join(self.dir, "preload.*.pb.gz"))
        self.assertEqual(len(files), 1)
        self.assertRegex(files[0], r"preload\.\d+\.pb\.gz$")
        named = os.path.join(self.dir, "child.pb.gz")
        self.unspool("export", files[0], "-o", named)
        child = pprof_decode.load(named)
        self.assert_spent(cpu_in(child, "child_work"), 1)
        self.assertEqual(cpu_in(child, "before_fork"), 0)
        self.assertEqual(cpu_in(run.profile, "child_work"), 0)

    def test_switched_off(self):
        run = self.preload(["env", "UNSPOOL_CHILDREN=off",
                            harness.program("forks"), "0.5"])
        self.assertEqual((run.status, run.stdout), (0, b"done\n"))
        self.assertEqual(glob.glob(os.path.join(self.dir, "preload.*.pb.gz")),
                         [])

    def test_child_that_locks_itself_in(self):
        if os.geteuid() != 0:
            self.fail("chroot() needs root, as continuous integration has")
        run = self.record([harness.program("forks"), "chroot"])
        self.assertEqual((run.status, run.stdout), (0, b"done\n"))
        self.assert_spent(cpu_in(run.profile, "child_work"), 1)


class FE02ExecutedProgramTest(harness.Case):
    """No timer, event or signal of ours follows into the next program."""

    def test_it_runs_to_its_end(self):
        for engine in ("auto", "timer"):
            run = self.record(["env", f"UNSPOOL_ENGINE={engine}",
                               harness.program("forks"), "exec"],
                              frequency=4000)
            self.check(run)

    def test_it_runs_to_its_end_preloaded(self):
        process = subprocess.Popen(
            [harness.program("forks"), "exec"], stdout=subprocess.PIPE,
            env={**os.environ, "LD_PRELOAD": harness.AGENT,
                 "UNSPOOL_FREQUENCY": "4000",
                 "UNSPOOL_OUTPUT": os.path.join(self.dir, "p.pb.gz")})
        stdout, _ = process.communicate(timeout=60)
        self.assertEqual((process.returncode, stdout), (0, b"shell done\n"))
        # Without an agent at the end the recording is left as it is.
        spools = harness.spools(process.pid)
        self.assertEqual(len(spools), 1)
        self.addCleanup(os.unlink, spools[0])
        named = os.path.join(self.dir, "named.pb.gz")
        self.unspool("export", spools[0], "-o", named)
        self.assertGreater(cpu_in(pprof_decode.load(named), "before_fork"), 0)

    def check(self, run):
        self.assertEqual((run.status, run.stdout), (0, b"shell done\n"),
                         run.stderr)
        self.assertGreater(cpu_in(run.profile, "before_fork"), 0)


class FE03ForkInLargeProcessTest(harness.Case):
    """fork() of much memory takes longer than a period."""

    def test_every_fork_returns(self):
        run = self.record([harness.program("forks"), "big"], frequency=4000)
        self.assertEqual((run.status, run.stdout), (0, b"done\n"), run.stderr)


class FE08ManyCommandsTest(harness.Case):
    """A script of 20 commands, each a process that writes a profile."""

    COMMANDS = 20

    def test_no_file_is_written_over(self):
        path = os.path.join(self.dir, "script.pb.gz")
        spin = f"{harness.program('dies')} exit; "
        subprocess.run(["bash", "-c", spin * self.COMMANDS + "true"],
                       env={**os.environ, "LD_PRELOAD": harness.AGENT,
                            "UNSPOOL_OUTPUT": path}, timeout=90,
                       cwd=self.dir, check=True)
        files = glob.glob(os.path.join(self.dir, "script*"))
        children = [name for name in files
                    if re.search(r"script\.\d+\.pb\.gz$", name)]
        self.assertEqual(len(children), self.COMMANDS)
        # The shell's own, if it had a sample; and nothing half written.
        self.assertLessEqual(set(files) - set(children), {path})
        for name in children:
            total = pprof_decode.load(name).total("cpu")
            self.assertAlmostEqual(total / 1e9, 0.5, delta=0.03)
