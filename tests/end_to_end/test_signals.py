"""Signals: the program's own, those that it blocks, and stacks that go through
its handlers."""

import os
import re

import harness
import pprof_decode


class SI01InterruptedCallsTest(harness.Case):
    """Calls that a signal would end with EINTR, beside threads that burn."""

    def test_no_call_is_interrupted(self):
        for record in (self.record, self.preload):
            run = record([harness.program("blocked_calls"), "1.5"],
                         frequency=4000)
            self.assertEqual((run.status, run.stdout), (0, b"interrupted 0\n"))
            self.assert_sampled(run.profile, run.profile.samples)


class SI03SignalOwnerTest(harness.Case):
    """The program has a use for SIGPROF: it gets its own signals and none of
    ours, and what could not be sampled is told."""

    def check_own(self, run):
        self.assertEqual((run.status, run.stdout), (0, b"got 20 strange 0\n"),
                         run.stderr)

    def test_handler_from_before_the_start(self):
        path = os.path.join(self.dir, "late.pb.gz")
        run = self.run_plain(["env", f"UNSPOOL_OUTPUT={path}",
                              "UNSPOOL_FREQUENCY=250", "UNSPOOL_START=off",
                              harness.program("signal_owner"), "before",
                              harness.AGENT])
        self.check_own(run)
        # Raw, without names.
        profile = self.load(path, run)
        self.assert_sampled(profile, profile.samples)

    def test_handler_from_after_the_start(self):
        self.check_own(self.record([harness.program("signal_owner")]))

    def test_waited_for(self):
        for mode in ("sigwait", "sigwaitinfo", "sigtimedwait", "signalfd"):
            with self.subTest(mode):
                self.check_blocked([harness.program("signal_owner"), mode])

    # The signal is blocked everywhere: with an engine that needs it nothing can
    # be sampled, which is told.
    def check_blocked(self, argv):
        run, total = self.record_total(argv)
        self.assertEqual(run.status, 0, run.stderr)
        if argv[1] == "signalfd":
            # What it reads has ticks, too: tests/end_to_end/README.md.
            self.assertRegex(run.stdout, rb"\Agot 20 strange \d+\n\Z")
        else:
            self.check_own(run)
        self.assertAlmostEqual(total / run.cpu_ns, 1, delta=0.05)

    def record_total(self, argv):
        """The run, and the CPU time that its profile tells of, lost or not."""
        path = os.path.join(self.dir, "profile.pb.gz")
        run = self.run_plain([harness.UNSPOOL, "record", "-F", "250", "-o",
                              path, "--", *argv])
        return run, pprof_decode.load(path).total("cpu")

    def test_program_that_profiles_itself(self):
        # -pg: libc's own profil() takes the signal, without sigaction().
        run, total = self.record_total(
            [harness.program("self_profiled"), "threads", "2"])
        self.assertEqual(run.status, 7, run.stderr)
        self.assertTrue(os.path.getsize(os.path.join(self.dir, "gmon.out")))
        self.assertAlmostEqual(total / run.cpu_ns, 1, delta=0.05)


class SI03IgnoredSignalTest(harness.Case):
    """What the program ignores stays ignored in what it executes."""

    # By two: a program that is sampled itself, then one that is not.
    SCRIPT = ("trap '' PROF TRAP; exec env -u LD_PRELOAD -u UNSPOOL_OUTPUT "
              "sh -c 'grep SigIgn /proc/self/status; echo > $E2E_RUSAGE 1'")

    def test_by_each_engine(self):
        argv = ["sh", "-c", self.SCRIPT]
        plain = self.run_plain(argv)
        self.assertRegex(plain.stdout, rb"SigIgn:\t0000000004000010")
        for engine in ("timer", "auto"):
            run = self._run([harness.UNSPOOL, "record", "--engine", engine,
                             "-F", "4000", "-o",
                             os.path.join(self.dir, "p.pb.gz"), "--", *argv],
                            {})
            self.assert_unchanged(run, plain)


class SI04BlockedThreadTest(harness.Case):
    """A thread that was made with all signals blocked."""

    def test_its_time_is_there_and_its_mask_stays(self):
        run = self.record([harness.program("blocked_thread"), "1"])
        self.assertEqual((run.status, run.stdout), (0, b"mask kept\n"))
        blocked = [sample for sample in run.profile.samples
                   if sample.labels.get("thread") == "blocked"]
        total = sum(harness.weight(run.profile, sample) for sample in blocked)
        self.assertAlmostEqual(total / 1e9, 1, delta=0.03)
        for sample in blocked:
            self.assertIn(sample.names[0], ("[lost: blocked]", "[unsampled]",
                                            "spin"))


class SI07HandlerStacksTest(harness.Case):
    """Ticks in the program's own handlers."""

    # leaf, then what is below it, up to main; "*" is the signal's trampoline.
    STACKS = (
        ["work_plain", "on_plain", "*", "...", "raise_plain", "main"],
        ["work_alternate", "on_alternate", "*", "...", "raise_alternate",
         "main"],
        ["work_nested", "on_inner", "*", "...", "on_outer", "*", "...",
         "raise_nested", "main"],
        ["work_from_leaf", "on_fault", "*", "leaf", "fault_in_leaf", "main"])

    def test_stacks_go_through_signal_frames(self):
        run = self.record([harness.program("nested_handlers")])
        for wanted in self.STACKS:
            pattern = re.compile(" ".join(
                {"*": r"(?:__restore_rt|libc\.so\.6\+0x\w+)", "...": r"(?:\S+ ){0,4}?\S+"}.get(
                    name, name) for name in wanted) + r"(?: |$)")
            samples = [sample for sample in run.profile.samples
                       if sample.names[0] == wanted[0]]
            self.assert_sampled(run.profile, samples, wanted[0])
            self.assert_all(samples, lambda sample: pattern.match(
                " ".join(sample.names)) and harness.is_rooted(sample),
                pattern.pattern)


class SI08FirstInstructionTest(harness.Case):
    """A sample at a function's first instruction is that function's."""

    def test_it_is_never_the_function_before(self):
        run = self.record([harness.program("first_instruction")])
        self.assertEqual((run.status, run.stdout), (0, b"counted 1\n"))
        inside = [sample for sample in run.profile.samples
                  if sample.names[0] == "first_slow"]
        self.assert_sampled(run.profile, inside)
        self.assert_all(inside, lambda sample: sample.names[1] == "main",
                        "called by main")
        for sample in run.profile.samples:
            self.assertNotIn("before_first", sample.names)


class SI10SanitizersTest(harness.Case):
    """Programs with a sanitizer's runtime, which intercepts signals, threads and
    what our handler calls."""

    def test_exceptions_and_loads_under_each(self):
        for compiler in ("gcc", "clang"):
            for sanitizer in ("address", "undefined"):
                with self.subTest(f"{compiler} {sanitizer}"):
                    self.check(f"sanitized_{compiler}_{sanitizer}")

    # GCC's AddressSanitizer wants to be the first library, and ends a program
    # into which anything is preloaded.
    def check(self, name):
        run = self.record(["env", "ASAN_OPTIONS=verify_asan_link_order=0",
                           harness.program(name), "0.5"], frequency=4000)
        self.assertEqual(run.status, 0, run.stderr)
        self.check_output(run)
        self.assertAlmostEqual(run.profile.total("cpu") / run.cpu_ns, 1,
                               delta=0.05)

    def check_output(self, run):
        counts = re.match(rb"thrown (\d+) caught (\d+)", run.stdout)
        self.assertEqual(counts[1], counts[2])

    def test_thread_sanitizer_is_left_alone_and_named(self):
        for compiler in ("gcc", "clang"):
            with self.subTest(compiler):
                path = os.path.join(self.dir, "none.pb.gz")
                run = self.run_plain([
                    "env", f"LD_PRELOAD={harness.AGENT}",
                    f"UNSPOOL_OUTPUT={path}", "UNSPOOL_FREQUENCY=4000",
                    harness.program(f"sanitized_{compiler}_thread"), "0.3"])
                self.assertEqual(run.status, 0, run.stderr)
                self.check_output(run)
                self.assertRegex(run.stderr, r"\Aunspool: ThreadSanitizer is .*; "
                                 r"profiling is off\n\Z")
                self.assertFalse(os.path.exists(path))
