"""Commands that become more than one process: one profile, and whose time."""

import os
import signal
import subprocess
import unittest

import cli


class Tree(cli.Case):

    def labels(self, name):
        """CPU seconds by the value of a label."""
        profile = self.load()
        index = profile.value_index("cpu")
        seconds = {}
        for sample in profile.samples:
            value = sample.labels[name]
            seconds[value] = seconds.get(value, 0) + sample.values[index] / 1e9
        return seconds

    def test_processes_are_told_apart_by_number_and_name(self):
        run = self.record(cli.ACT, "spin", "300", "run", cli.ACT, "name",
                          "renamed", "spin", "400")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertNotIn("not profiled", run.stderr)
        self.assertEqual(len(self.labels("pid")), 2)
        comms = self.labels("comm")
        self.assertEqual(sorted(comms), ["act", "renamed"])
        self.assertAlmostEqual(comms["act"], 0.3, delta=0.03)
        self.assertAlmostEqual(comms["renamed"], 0.4, delta=0.03)

    def test_a_name_changes_with_exec(self):
        os.symlink(cli.ACT, self.dir / "other")
        run = self.record(cli.ACT, "spin", "300", "exec", "./other", "spin",
                          "300")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(len(self.labels("pid")), 1)
        self.assertEqual(sorted(self.labels("comm")), ["act", "other"])

    def test_what_the_command_leaves_behind_is_waited_for(self):
        run = self.record(cli.ACT, "spin", "300", "leave", "sleep", "600",
                          "spin", "300")
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = run.stderr.splitlines()
        self.assertEqual(len(lines), 2, run.stderr)
        self.assertRegex(
            lines[0], r"\Aunspool: the command has ended; waiting for act "
            r"\(pid \d+\): Ctrl-C ends that and writes the profile\Z")
        self.assertNotIn("not profiled", lines[1])
        self.assertEqual(len(self.labels("pid")), 2)
        self.assertAlmostEqual(sum(self.labels("pid").values()), 0.6,
                               delta=0.05)

    def test_children_can_be_left_out(self):
        command = (cli.ACT, "spin", "300", "run", cli.ACT, "spin", "300")
        for options in ({"flags": ["--no-children"]},
                        {"env": {"UNSPOOL_CHILDREN": "off"}}):
            with self.subTest(options):
                run = self.record(*command, **options)
                self.assertEqual(run.returncode, 0, run.stderr)
                self.assertEqual(len(self.labels("pid")), 1)
                self.assertIn("not profiled (child processes, or", run.stderr)

    def test_a_child_without_the_agent_is_said(self):
        static = str(cli.PROGRAMS / "act_static")
        run = self.record(cli.ACT, "run", static, "spin", "400")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(run.stderr, r"0\.[34]\d s of 0\.[45]\d s CPU time not "
                         r"profiled \(programs without the agent, or")

    def test_with_a_duration_nothing_is_waited_for_afterwards(self):
        with open(self.dir / "out", "w") as out, \
                open(self.dir / "err", "w") as err:
            tool = subprocess.Popen(
                [cli.UNSPOOL, "record", "-d", "3", "--", cli.ACT, "spin",
                 "300", "leave", "sleep", "60000"], cwd=self.dir, stdout=out,
                stderr=err)
            self.assertEqual(tool.wait(timeout=cli.TIMEOUT_SECONDS), 0)
        os.kill(int(self.contents("out").split()[1]), signal.SIGKILL)
        self.assertIn(b"unspool report", self.contents("err"))
        self.assertAlmostEqual(self.cpu_seconds("Spin"), 0.3, delta=0.03)

    def test_control_c_ends_the_wait_and_not_the_process(self):
        tool = subprocess.Popen(
            [cli.UNSPOOL, "record", "--", cli.ACT, "spin", "300", "leave",
             "sleep", "60000"], cwd=self.dir, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        left = int(tool.stdout.readline().split()[1])
        self.addCleanup(os.kill, left, signal.SIGKILL)
        self.assertIn("waiting for", tool.stderr.readline())
        tool.send_signal(signal.SIGUSR1)  # meant for a program that is gone
        tool.send_signal(signal.SIGINT)
        self.assertIn("unspool report", tool.stderr.readline())
        self.assertEqual(tool.wait(timeout=cli.TIMEOUT_SECONDS), 0)
        tool.stdout.close()
        tool.stderr.close()
        self.assertAlmostEqual(self.cpu_seconds("Spin"), 0.3, delta=0.03)
        os.kill(left, 0)


if __name__ == "__main__":
    unittest.main()
