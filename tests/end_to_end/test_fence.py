"""The signal fence by doing: what the handler must not call, wait for or use up,
and reads that fail under it. (tests/checks looks at the code; what happens at a
read that fails, tests/unwind/memory_fault_test.cc says read by read.)"""

import os
import re
import subprocess

import harness

# Of the stack that the handler is called on, below the kernel's frame. The rest
# is on a stack of ours, whose use is bounded in tests/checks.
HANDLER_STACK_BYTES = 512
GUARD = os.path.join(harness.PROGRAMS, "handler_guard.so")


class FenceCallsTest(harness.Case):
    """A library in front of ours aborts when the handler allocates, locks or
    asks the loader."""

    STORMS = (["exception_storm", "1"], ["iconv_churn", "1"],
              ["painted_stacks", "65536", "0.6"],
              ["churn/churn", harness.program("churn"), "1"])

    def test_the_handler_calls_nothing_that_it_must_not(self):
        for storm in self.STORMS:
            with self.subTest(storm[0]):
                report = os.path.join(self.dir, "report")
                run = self.preload(
                    ["env", f"GUARD_REPORT={report}",
                     harness.program(storm[0]), *storm[1:]],
                    frequency=4000, agent=f"{GUARD}:{harness.AGENT}")
                self.assertEqual(run.status, 0, run.stderr)
                with open(report) as file:
                    runs = int(file.read().removeprefix("handler runs "))
                self.assertGreaterEqual(runs, harness.ENOUGH_SAMPLES)

    def test_the_guard_sees_what_it_is_for(self):
        environment = {**os.environ, "LD_PRELOAD": GUARD}
        for name in ("malloc", "calloc", "realloc", "free",
                     "pthread_mutex_lock", "dl_iterate_phdr", "strdup"):
            with self.subTest(name):
                trial = subprocess.run([harness.program("guard_trial"), name],
                                       env=environment, capture_output=True,
                                       text=True, timeout=30)
                self.assertEqual(trial.returncode, -6, trial.stdout)
                self.assertIn("in our signal handler: ", trial.stderr)
        trial = subprocess.run([harness.program("guard_trial")], text=True,
                               env=environment, capture_output=True, timeout=30)
        self.assertEqual((trial.returncode, trial.stdout), (0, "returned\n"))


class FenceHeldLocksTest(harness.Case):
    """Another thread holds the loader's locks and stdio's all the time."""

    def test_no_tick_waits_for_them(self):
        argv = [harness.program("held_locks/held_locks"),
                harness.program("held_locks"), "1"]
        for record in (self.record, self.preload):
            run = record(argv)
            self.assertEqual((run.status, run.stdout), (0, b"done\n"))
            for name in ("later_burn", "sort"):
                samples = [sample for sample in run.profile.samples
                           if name in sample.names]
                self.assert_sampled(run.profile, samples, name)
                self.assert_all(samples, harness.is_rooted, "rooted")


class PaintedStacks:
    """Runs every hard walk on painted alternate stacks."""

    ACTIVITIES = ["deep", "throw", "handler", "later", "untold"]

    def run_on(self, room_bytes):
        run = self.preload([harness.program("painted_stacks"),
                            str(room_bytes), "1"], frequency=4000)
        self.assertEqual(run.status, 0, run.stderr)
        used = dict(re.findall(r"(\w+) used (\d+)\n", run.stdout.decode()))
        self.assertEqual(list(used), self.ACTIVITIES)
        return run, {name: int(text) for name, text in used.items()}


class FenceStackUseTest(harness.Case, PaintedStacks):
    """What the handler really used, below the kernel's frame."""

    def test_it_stays_within_the_documented_bytes(self):
        run, used = self.run_on(65536)
        print(f"bytes of stack used by the handler: {used}")
        for name, size in used.items():
            self.assertLessEqual(size, HANDLER_STACK_BYTES, name)
            self.assertGreater(size, 0, f"{name}: no tick came there")
        # The walks were those that the program is about.
        depths = [len(sample.frames) for sample in run.profile.samples
                  if not harness.is_pseudo(sample)]
        self.assertGreater(max(depths), 1000)


class FenceMinimalStackTest(harness.Case, PaintedStacks):
    """Alternate stacks that hardly hold more than the kernel's frame."""

    def weights(self, room_bytes):
        """{pseudo-frame or "stack": CPU ns}."""
        run, used = self.run_on(room_bytes)
        for name, size in used.items():
            self.assertGreater(size, 0, f"{name}: no tick came there")
            self.assertLessEqual(size, room_bytes, name)
        weights = {}
        for sample in run.profile.samples:
            name = sample.names[0] if harness.is_pseudo(sample) else "stack"
            weights[name] = (weights.get(name, 0) +
                             harness.weight(run.profile, sample))
        # One second of CPU time each; the brief threads that "untold" makes are
        # not all found.
        self.assertGreater(sum(weights.values()),
                           0.97e9 * len(self.ACTIVITIES))
        return weights

    def test_no_tick_is_lost_where_there_is_room(self):
        weights = self.weights(HANDLER_STACK_BYTES)
        self.assertEqual([name for name in weights if "lost" in name], [])
        self.assertGreater(weights["stack"], 0)

    def test_where_there_is_none_nothing_below_changes(self):
        for room_bytes in (256, 4096):
            with self.subTest(room_bytes):
                self.weights(room_bytes)


class FenceFailingReadsTest(harness.Case):
    """process_vm_readv, by which the handler reads what may be gone, fails
    again and again: a frame less, never a wrong one."""

    # strace(1), "when=": from the first call on, each second or third, or all.
    WHEN = ("1+2", "2+3", "1+")

    def test_failing_reads_end_stacks_and_are_no_frames(self):
        for when in self.WHEN:
            with self.subTest(when):
                run = self.preload(
                    ["strace", "-D", "-f", "--seccomp-bpf", "-o", "/dev/null", "-e",
                     f"inject=process_vm_readv:error=EFAULT:when={when}",
                     harness.program("churn/churn"), harness.program("churn"),
                     "1"])
                self.assertEqual((run.status, run.stdout), (0, b"visits 1\n"))
                self.check(run, when)

    def check(self, run, when):
        ends = {True: 0, False: 0}
        for sample in run.profile.samples:
            if harness.is_pseudo(sample):
                continue
            ends[bool(harness.truncation(sample))] += 1
            self.assertTrue(harness.truncation(sample) or
                            harness.is_rooted(sample), sample.names)
            self.check_caller(sample)
        # Where some reads succeed, the code may lead to what the unwind data
        # would have.
        if when == "1+":
            self.assertGreater(ends[True], 0)
        self.assertGreater(ends[False], 0)

    # Library N is called by call_N of the program and by nobody else.
    def check_caller(self, sample):
        for inner, outer in zip(sample.frames, sample.frames[1:]):
            library = re.fullmatch(r"lib(\d\d)\.so", inner.module)
            caller = re.fullmatch(r"call_(\d\d)", outer.name)
            if library and caller:
                self.assertEqual(library[1], caller[1], sample.names)
