"""Code that a JIT compiler made has the names that the compiler wrote down."""

import os
import shutil
import subprocess

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


class JT02NodeTest(harness.Case):
    """node, with either of its flags: a function that V8 compiled is named, and
    is where the time goes."""

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
        written = f"/tmp/perf-{profile.samples[0].labels['pid']}.map"
        if os.path.exists(written):
            os.remove(written)

    def test_perf_basic_prof(self):
        self.check("--perf-basic-prof")

    def test_perf_prof(self):
        self.check("--perf-prof")
