"""Processes that fork, exec and spawn, with libunspool.so preloaded: one
profile each, nothing counted twice, nothing left behind."""

import glob
import os
import re
import time
import unittest

from test_agent import AgentCase, comment, pprof_decode, program, take_spool


class ChildrenCase(AgentCase):
    def tree(self, how, **variables):
        run = self.profiled([program("tree"), how], **variables)
        self.assertEqual((run.returncode, run.stderr), (7, ""))
        return run

    def profiles(self):
        """Profiles by file name."""
        return {name: pprof_decode.load(os.path.join(self.dir, name))
                for name in self.files()}

    def parent_and_child(self):
        profiles = self.profiles()
        self.assertEqual(len(profiles), 2, list(profiles))
        parent = profiles.pop("p.pb.gz")
        name, child = profiles.popitem()
        self.assertRegex(name, r"\Ap\.\d+\.pb\.gz\Z")
        return parent, child


class ForkedChildTest(ChildrenCase):
    def test_each_process_has_its_own_time(self):
        for how in ("fork", "closeall", "failed_exec", "thread"):
            with self.subTest(how):
                self.tree(how)
                parent, child = self.parent_and_child()
                parent_ns = 300e6 if how == "thread" else 600e6
                self.assert_total(parent, parent_ns, threads=2)
                self.assert_total(child, 300e6)
                for name in self.files():
                    os.unlink(os.path.join(self.dir, name))

    def test_switched_off(self):
        for how in ("fork", "spawn"):
            self.tree(how, CHILDREN="off")
            self.assertEqual(self.files(), ["p.pb.gz"])

    def test_child_that_is_not_sampled_leaves_nothing(self):
        run = self.profiled(
            ["bash", "-c", "for i in 1 2 3 4 5; do (true); /bin/true; done"],
            FREQUENCY="1")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertLessEqual(len(self.files()), 2)
        self.assertIn("p.pb.gz", self.files())

    def test_daemon_is_profiled(self):
        run = self.profiled([program("tree"), "daemon"])
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        deadline = time.monotonic() + 30
        while len([f for f in self.files() if f.endswith(".gz")]) < 2:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)
        parent, daemon = self.parent_and_child()
        self.assert_total(parent, 300e6)
        self.assert_total(daemon, 300e6)

    def test_killed_child_leaves_its_spool(self):
        run = self.tree("kill_child")
        self.assertEqual(self.files(), ["p.pb.gz"])
        take_spool(self, int(run.stdout))


class ExecedChildTest(ChildrenCase):
    def test_child_that_becomes_another_program(self):
        for how in ("exec", "exec_thread", "spawn"):
            with self.subTest(how):
                self.tree(how)
                parent, child = self.parent_and_child()
                self.assert_total(
                    parent, 300e6 if how == "spawn" else 600e6)
                self.assert_total(child, 300e6, threads=2)
                # Unless a tick came to it before.
                if comment(child, "images") == ["1"]:
                    self.assertIn("execed", comment(child, "command")[0])
                for name in self.files():
                    os.unlink(os.path.join(self.dir, name))


class ForkStormTest(ChildrenCase):
    def test_forks_of_threads_that_tick_come_to_an_end(self):
        for engine in ("timer", "perf"):
            with self.subTest(engine):
                tag = f"{os.getpid() & 0xffffff:06x}"
                run = self.profiled(
                    [program("fork_storm"), "1"], FREQUENCY="4000",
                    ENGINE=engine, SPOOL_TAG=tag)
                self.assertEqual(run.returncode, 7, run.stderr)
                self.assertEqual(
                    glob.glob(f"/dev/shm/unspool-*-{tag}.spool"), [])
                self.assertIn("p.pb.gz", self.files())

    def test_large_process_forks(self):
        run = self.profiled([program("large_fork"), "1024"], FREQUENCY="1000")
        self.assertEqual(run.returncode, 7, run.stderr)


@unittest.skipIf(os.geteuid() != 0, "root changes its user")
class DroppedPrivilegesTest(ChildrenCase):
    def test_child_that_may_not_write_its_profile_names_its_recording(self):
        run = self.profiled([program("tree"), "setuid"])
        self.assertEqual(run.returncode, 7)
        self.assertEqual(self.files(), ["p.pb.gz"])
        line = re.fullmatch(
            r"unspool: cannot write the profile \S+/p\.\d+\.pb\.gz: Permission "
            r"denied; the recording is kept, for: unspool export (\S+) -o "
            r"profile\.pb\.gz\n", run.stderr)
        self.assertTrue(line, run.stderr)
        os.unlink(line[1])


if __name__ == "__main__":
    unittest.main()
