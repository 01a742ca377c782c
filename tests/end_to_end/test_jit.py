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
                    [*self.inside, harness.program("jit"), kind, "6000"])
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
        for mode in ("frames", "debug_frame", "libgcc"):
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

    def test_frame_pointer_only(self):
        for run in self.run_mode("frame_pointer"):
            for names, sample in self.stacks(run):
                self.assertEqual((names[:2], names[2][0], names[3:]),
                                 (self.CALLERS, "[", ["callback"]))
                self.assertTrue(harness.is_rooted(sample))
                self.assertEqual(sample.labels["unwind"], "guessed")

    def test_registered_and_unregistered_while_it_runs(self):
        self.check_no_garbage("churn")


class JT01DebuggerInterfaceTest(harness.Case):
    """Images in memory of which debuggers are told: code N is called for
    callback N alone."""

    def hot(self, mode, object_name="jit_function.o"):
        """Samples of the callbacks, from the run of each way."""
        argv = [harness.program("jit_objects"), harness.program(object_name),
                mode, "0.7"]
        plain = self.run_plain(argv)
        for run_it in (self.record, self.preload):
            run = run_it(argv)
            self.assert_unchanged(run, plain)
            yield self.of_callbacks(run)

    @staticmethod
    def of_callbacks(run):
        return [sample for sample in run.profile.samples
                if any(name.startswith("callback_") for name in sample.names)]

    def is_named(self, sample):
        names = [name for name in sample.names[::-1] if name != "burn"]
        number = names[-1][-1]
        return (harness.is_rooted(sample) and
                names[names.index("main"):] ==
                ["main", "enter_jit", f"jit_outer_{number}",
                 f"jit_inner_{number}", f"callback_{number}"])

    def is_known(self, sample):
        return self.is_named(sample) and "unwind" not in sample.labels

    def test_relocatable_with_eh_frame_in_memory(self):
        for samples in self.hot("eh_frame"):
            self.assert_all(samples, self.is_known, "known")
            self.assertEqual({sample.frames[sample.names.index("jit_outer_1")]
                              .module for sample in samples}, {"[jit]"})

    def test_descriptor_that_is_not_exported(self):
        for kind in ("local", "static", "static-pie"):
            with self.subTest(kind):
                run = self.record([
                    harness.program(f"jit_objects_{kind}"),
                    harness.program("jit_function.o"), "eh_frame", "0.7"])
                samples = self.of_callbacks(run)
                self.assert_sampled(run.profile, samples)
                self.assert_all(samples, self.is_known, "known")

    def test_linked_with_debug_frame_in_the_image(self):
        for samples in self.hot("debug_frame", "jit_function_debug_frame.o"):
            self.assert_all(samples, self.is_known, "known")

    def test_never_named_by_what_was_there_before(self):
        for samples in self.hot("churn"):
            self.assert_all(samples, self.is_known, "known")
            self.assertEqual({name for sample in samples
                              for name in sample.names
                              if name.startswith("jit_outer")},
                             {"jit_outer_1", "jit_outer_2"})

    def test_long_lists_are_gone_through_bit_by_bit(self):
        for samples in self.hot("many"):
            named = sum(map(self.is_named, samples))
            self.assertGreater(named, 0.7 * len(samples))

    def test_not_registered(self):
        for samples in self.hot("none"):
            for sample in samples:
                self.assertFalse({name for name in sample.names
                                  if name.startswith("jit_")})
                self.assertTrue(harness.truncation(sample) or
                                "unwind" in sample.labels)


class JT03LlvmTest(harness.Case):
    """LLVM's two compilers at run time, as Debian has them."""

    PROGRAM = """
        #include <stdio.h>
        #include <stdlib.h>
        static int compare(const void* a, const void* b) {
          volatile int spin = 0;
          while (spin < 100) ++spin;
          return *(const int*)a - *(const int*)b;
        }
        static void __attribute__((noinline)) sort_often(void) {
          int values[500];
          for (int k = 0; k < 400; ++k) {
            for (int i = 0; i < 500; ++i) values[i] = i * 37 % 101;
            qsort(values, 500, sizeof(int), compare);
          }
        }
        int main(void) { sort_often(); return printf("done\\n") - 5; }
        """

    def test_its_functions_are_named_and_their_callers_known(self):
        source = os.path.join(self.dir, "program.c")
        with open(source, "w") as file:
            file.write(self.PROGRAM)
        code = os.path.join(self.dir, "program.ll")
        subprocess.run(["clang-14", "-O1", "-S", "-emit-llvm", source, "-o",
                        code], check=True, timeout=60)
        for kind in ("mcjit", "orc"):
            with self.subTest(kind):
                path = os.path.join(self.dir, kind + ".pb.gz")
                subprocess.run(
                    [harness.UNSPOOL, "record", "-F", str(harness.FREQUENCY),
                     "-o", path, "--", "lli-14", f"--jit-kind={kind}", code],
                    check=True, timeout=harness.RUN_TIMEOUT_SECONDS,
                    capture_output=True)
                hot = [sample for sample in pprof_decode.load(path).samples
                       if sample.names[0] == "compare"]
                self.assert_all(hot, self.is_whole, "whole")

    def is_whole(self, sample):
        names = [name for name in sample.names[::-1]
                 if name in ("main", "sort_often", "compare")]
        return (harness.is_rooted(sample) and "unwind" not in sample.labels and
                names == ["main", "main", "sort_often", "compare"])


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
