"""Every way in which a program can end: its status is its own, and the profile
is there; or, where the agent has no say in it, the recording."""

import os
import resource
import signal
import subprocess
import unittest

from test_agent import (BUILD, AgentCase, comment, cpu, pprof_decode, program,
                        spools, take_spool)

UNSPOOL = os.path.join(BUILD, "bin/unspool")
BY_ITSELF = ("return", "exit", "_exit", "_Exit", "quick_exit", "handled",
             "exit_in_malloc", "exit_on_small_stack", "_exit_on_small_stack")
BY_EXEC = ("execl", "execle", "execlp", "execv", "execve", "execvp",
           "execvpe", "fexecve", "execveat")
BY_SIGNAL = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGSEGV,
             signal.SIGABRT)


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class EndsCase(AgentCase):
    def assert_profile(self, path, cpu_ns):
        profile = pprof_decode.load(path)
        self.assert_total(profile, cpu_ns)
        return profile

    def assert_profile_of_killed(self, path, cpu_ns):
        """Of what it used since the last tick of a processor that others share
        nobody knows."""
        ns = cpu(pprof_decode.load(path))
        self.assertLess(ns, cpu_ns + 30e6)
        self.assertGreater(ns, cpu_ns - 150e6)


class PreloadedEndTest(EndsCase):
    def test_the_profile_is_written_where_the_program_ends_itself(self):
        for how in BY_ITSELF:
            with self.subTest(how):
                run = self.profiled([program("ends"), how])
                self.assertEqual((run.returncode, run.stderr), (7, ""))
                self.assert_profile(self.output, 300e6)
                os.unlink(self.output)
                self.assertEqual(spools(run.pid), [])

    def test_exec_goes_on_in_the_same_profile(self):
        for how in BY_EXEC:
            with self.subTest(how):
                run = self.profiled([program("ends"), how])
                self.assertEqual((run.returncode, run.stderr), (7, ""))
                profile = self.assert_profile(self.output, 600e6)
                self.assertEqual(comment(profile, "images"), ["2"])
                self.assertEqual(self.files(), ["p.pb.gz"])
                os.unlink(self.output)
                self.assertEqual(spools(run.pid), [])

    def test_a_killed_program_leaves_a_recording_that_converts(self):
        for number in BY_SIGNAL:
            with self.subTest(number):
                how = (["abort"] if number == signal.SIGABRT
                       else ["signal", str(int(number))])
                run = self.profiled([program("ends"), *how], limits=no_core)
                self.assertEqual((run.returncode, run.stderr),
                                 (-int(number), ""))
                self.assertEqual(self.files(), [])
                subprocess.run([UNSPOOL, "export", spools(run.pid)[0], "-o",
                                self.output], check=True, timeout=60)
                take_spool(self, run.pid)
                self.assert_profile_of_killed(self.output, 300e6)
                os.unlink(self.output)


class RecordedEndTest(EndsCase):
    def record(self, *how):
        return subprocess.run(
            [UNSPOOL, "record", "-o", self.output, "--", program("ends"),
             *how], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=60, preexec_fn=no_core)

    def test_the_profile_is_complete(self):
        rows = [([how], 7, 300e6, self.assert_profile) for how in BY_ITSELF]
        rows += [([how], 7, 600e6, self.assert_profile) for how in BY_EXEC]
        rows += [(["signal", str(int(number))], 128 + int(number), 300e6,
                  self.assert_profile_of_killed) for number in BY_SIGNAL]
        for how, status, cpu_ns, assert_profile in rows:
            with self.subTest(how):
                run = self.record(*how)
                self.assertEqual(run.returncode, status, run.stderr)
                self.assertRegex(run.stderr, r"\Aunspool: \d+ samples, 0 lost.*"
                                 r"\n\Z")
                assert_profile(self.output, cpu_ns)
                os.unlink(self.output)


if __name__ == "__main__":
    unittest.main()
