"""Programs under a seccomp filter: what it forbids is never called by us, is
said in one line, and the rest of the profile is there."""

import os
import re

import harness

# System call -> how the line about it begins.
LINES = {
    "process_vm_readv": "process_vm_readv",
    "perf_event_open": "perf_event_open",
    "timer_create": "what sampling new threads takes",
    "timer_delete": "what sampling new threads takes",
    "openat": "files",
    "getdents64": "files",
    "prctl": "prctl",
}


class SeccompRuns:
    """Runs of programs/seccomp_filter.c."""

    PROGRAM = harness.program("seccomp_filter")

    def check(self, run, argv, line):
        self.assert_unchanged(run, self.run_plain(argv))
        self.assertEqual(run.stderr.count("seccomp filter"), 1 if line else 0,
                         run.stderr)
        if line:
            self.assertIn("seccomp filter forbids " + line, run.stderr)
        in_program = [sample for sample in run.profile.samples
                      if sample.names[0] in ("left", "right")]
        # Nearly all that the first thread does is done there.
        self.assertGreater(sum(harness.weight(run.profile, sample)
                               for sample in in_program), 0.7 * run.cpu_ns)
        self.assert_all(in_program, harness.is_rooted, "rooted")


class FilterWhileSampledTest(harness.Case, SeccompRuns):
    """The program restricts itself after sampling began."""

    def check_each(self, action, how, calls):
        for call in calls:
            with self.subTest(call=call, action=action, how=how):
                argv = [self.PROGRAM, call, action, how]
                self.check(self.record(argv), argv, LINES[call])

    def test_killed_for_it_by_prctl(self):
        self.check_each("kill", "prctl", LINES)

    def test_killed_for_it_by_seccomp(self):
        self.check_each("kill", "seccomp", LINES)

    def test_the_recording_does_without_growing(self):
        # No threads: their end is a call of libc's that would be fatal.
        for action in ("kill", "errno"):
            argv = [self.PROGRAM, "madvise", action, "seccomp", "0"]
            self.check(self.record(argv), argv, "madvise")

    def test_refused_or_trapped(self):
        self.check_each("errno", "seccomp", ["process_vm_readv", "timer_create"])
        self.check_each("trap", "prctl", ["process_vm_readv", "openat"])

    def test_ticks_of_events_do_without_what_timers_do_not_need(self):
        argv = [self.PROGRAM, "gettid", "kill", "seccomp"]
        # Its threads' CPU time, its copies, its events: all take it.
        self.check(self.record(argv, frequency=4000), argv,
                   LINES["process_vm_readv"])

    def test_several_at_once(self):
        argv = [self.PROGRAM, "prctl,openat,timer_create,process_vm_readv",
                "kill", "seccomp"]
        self.check(self.record(argv), argv, LINES["process_vm_readv"])

    def test_threads_that_could_not_be_sampled_are_said_to_be_missing(self):
        run = self.record([self.PROGRAM, "timer_create", "kill", "seccomp"])
        self.assertIn("CPU time not profiled", run.stderr)


class FilterAtTheEndTest(harness.Case, SeccompRuns):
    """Preload alone: where files are forbidden, there can be no profile."""

    def test_the_recording_is_kept_and_named(self):
        path = os.path.join(self.dir, "none.pb.gz")
        argv = [self.PROGRAM, "openat", "kill", "seccomp"]
        run = self._run(argv, {"LD_PRELOAD": harness.AGENT,
                               "UNSPOOL_OUTPUT": path,
                               "UNSPOOL_FREQUENCY": str(harness.FREQUENCY)})
        self.assert_unchanged(run, self.run_plain(argv))
        self.assertFalse(os.path.exists(path))
        spool = re.search(r"unspool export (/\S+\.spool) ", run.stderr)
        self.assertTrue(spool, run.stderr)
        self.addCleanup(os.unlink, spool[1])
        named = os.path.join(self.dir, "named.pb.gz")
        self.unspool("export", spool[1], "-o", named)
        run.profile = self.load(named, run)
        self.assertGreater(run.profile.total("cpu"), 0.7 * run.cpu_ns)


class FilterBeforeStartTest(harness.Case, SeccompRuns):
    """The filter was there first, as in a container."""

    def check_each(self, action, calls):
        # getppid: nothing more than what is forbidden already.
        inner = [self.PROGRAM, "getppid", "errno", "seccomp"]
        for call in calls:
            with self.subTest(call=call, action=action):
                argv = [self.PROGRAM, call, action, "exec", *inner]
                self.check(self.record(argv), argv, LINES[call])

    def test_killed_for_it(self):
        self.check_each("kill", ["process_vm_readv", "perf_event_open",
                                 "getdents64"])

    def test_refused(self):
        self.check_each("errno", ["process_vm_readv", "prctl"])

    def test_without_timers_profiling_is_off_and_the_program_runs(self):
        argv = [self.PROGRAM, "timer_create", "kill", "exec", self.PROGRAM,
                "getppid", "errno", "seccomp"]
        run = self._run([harness.UNSPOOL, "record", "-o",
                         os.path.join(self.dir, "x.pb.gz"), "--", *argv], {})
        self.assert_unchanged(run, self.run_plain(argv))
        self.assertEqual(run.stderr.count("profiling is off"), 1, run.stderr)


class HarmlessFilterTest(harness.Case, SeccompRuns):
    """A filter that forbids nothing of ours."""

    def test_nothing_is_said(self):
        argv = [self.PROGRAM, "getppid", "kill", "prctl"]
        run = self.preload(argv)
        self.check(run, argv, "")
        self.assertEqual(run.stderr, "")
