"""libunspool.so preloaded into programs.

What the profile says about code is tests/end_to_end's; here it is what the agent
does to its process: nothing when off, one profile per process, the program's
output, status, files and children as they were.
"""

import os
import re
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "../../end_to_end"))
import pprof_decode  # noqa: E402
from harness import spools  # noqa: E402

BUILD = os.path.realpath(os.environ.get("UNSPOOL_BUILD_DIR") or
                         os.path.join(HERE, "../../../build/release"))
AGENT = os.path.join(BUILD, "lib/libunspool.so")
UNSPOOL = os.path.join(BUILD, "bin/unspool")
PERIOD_NS = 10_000_000
# The kernel looks at CPU clocks this often, at the latest.
TICK_NS = 10_000_000


def program(name):
    return os.path.join(BUILD, "bin/agent_" + name)


def take_spool(test, pid):
    """Removes the one recording that the process left."""
    left = spools(pid)
    test.assertEqual(len(left), 1)
    os.unlink(left[0])


def cpu(profile, predicate=lambda sample: True):
    """CPU ns of the samples that fit."""
    index = profile.value_index("cpu")
    return sum(sample.values[index] for sample in profile.samples
               if predicate(sample))


def comment(profile, key):
    prefix = f"unspool.{key}="
    return [text[len(prefix):] for text in profile.comments
            if text.startswith(prefix)]


class AgentCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="unspool-agent-")
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name
        self.output = os.path.join(self.dir, "p.pb.gz")

    def run_with(self, argv, preload=True, limits=None, **variables):
        """Runs argv; variables without UNSPOOL_ in front. The result has the
        process's pid, too."""
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("UNSPOOL_", "LD_PRELOAD"))}
        if preload:
            environment["LD_PRELOAD"] = AGENT
        environment.update({"UNSPOOL_" + key: value
                            for key, value in variables.items()})
        with subprocess.Popen(argv, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True,
                              env=environment, cwd=self.dir,
                              preexec_fn=limits) as process:
            try:
                stdout, stderr = process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        run = subprocess.CompletedProcess(argv, process.returncode, stdout,
                                          stderr)
        run.pid = process.pid
        return run

    def profiled(self, argv, **variables):
        variables.setdefault("OUTPUT", self.output)
        return self.run_with(argv, **variables)

    def files(self):
        return sorted(os.listdir(self.dir))

    def assert_total(self, profile, cpu_ns, threads=1):
        self.assertAlmostEqual(cpu(profile), cpu_ns, delta=(
            cpu_ns * 0.01 + threads * (PERIOD_NS + TICK_NS)))


class TotalsTest(AgentCase):
    def test_sum_of_weights_is_the_cpu_time(self):
        run = self.profiled([program("spinner"), "1500"])
        self.assertEqual((run.returncode, run.stderr), (7, ""))
        profile = pprof_decode.load(self.output)
        self.assert_total(profile, int(run.stdout.split("=")[1]))
        self.assertEqual(self.files(), ["p.pb.gz"])
        self.assertEqual(profile.period, PERIOD_NS)

    def test_weights_stay_exact_above_the_kernels_rate(self):
        run = self.profiled([program("spinner"), "1000"], FREQUENCY="10000", ENGINE="timer")
        profile = pprof_decode.load(self.output)
        self.assert_total(profile, int(run.stdout.split("=")[1]))
        self.assertEqual(profile.period, 100_000)
        # Said once, with the rate that there is.
        self.assertRegex(run.stderr, r"\Aunspool: asked for 10000 samples per "
                         r"second and thread, the kernel gives \d+ .*\n\Z")

    def test_depth_is_kept_to_what_is_asked_for(self):
        self.profiled([program("spinner"), "300"], MAX_DEPTH="2")
        profile = pprof_decode.load(self.output)
        stacks = [sample for sample in profile.samples if sample.values[0] > 0]
        self.assertGreater(len(stacks), 0)
        for sample in stacks:
            self.assertEqual(len(sample.frames), 3)  # and the pseudo-frame
            self.assertEqual(sample.names[-1], "[truncated: depth]")

    def test_a_profile_that_is_there_is_replaced(self):
        with open(self.output, "w", encoding="ascii") as file:
            file.write("old")
        os.chmod(self.output, 0o640)
        run = self.profiled(["/bin/true"])
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(pprof_decode.load(self.output).period, PERIOD_NS)
        self.assertEqual(os.stat(self.output).st_mode & 0o777, 0o640)
        self.assertEqual(self.files(), ["p.pb.gz"])

    def test_plain_ending_is_not_compressed(self):
        path = os.path.join(self.dir, "p.pb")
        self.profiled([program("spinner"), "100"], OUTPUT=path)
        with open(path, "rb") as file:
            self.assertNotEqual(file.read(2), b"\x1f\x8b")
        self.assertGreater(cpu(pprof_decode.load(path)), 0)


class NothingArmedTest(AgentCase):
    def check_off(self, **variables):
        argv = [program("nothing_armed")]
        plain = self.run_with(argv, preload=False)
        self.assertIn("timers=0 uncaught=1 threads=1", plain.stdout)
        run = self.run_with(argv, **variables)
        self.assertEqual(run.stdout, plain.stdout)
        self.assertEqual(self.files(), [])
        return run.stderr

    def test_without_output(self):
        self.assertEqual(self.check_off(), "")
        self.assertEqual(self.check_off(OUTPUT="", FREQUENCY="100"), "")

    def test_start_off(self):
        self.assertEqual(self.check_off(OUTPUT=self.output, START="off"), "")

    def test_linked_and_not_started(self):
        run = self.run_with([program("api_shared"), "none", self.output],
                            preload=False)
        self.assertEqual((run.returncode, run.stderr), (2, ""))
        self.assertEqual(self.files(), [])

    def test_the_probe_sees_what_is_armed(self):
        run = self.profiled([program("nothing_armed")])
        self.assertIn("timers=1 uncaught=0 threads=1", run.stdout)
        # One mapping: the part that is in use, and the rest.
        self.assertIn("next_fd=3 spools=2", run.stdout)

    def test_bad_values_are_told_and_the_program_runs(self):
        for name, value in (("FREQUENCY", "0"), ("FREQUENCY", "1e3"),
                            ("MAX_DEPTH", "-1"), ("SAMPLE_SIGNAL", "KILL"),
                            ("ENGINE", "best"), ("CLOCK", "moon"),
                            ("CHILDREN", "1"), ("START", "maybe"),
                            ("OUTPUT", "flame.svg")):
            with self.subTest(name=name, value=value):
                stderr = self.check_off(**{"OUTPUT": self.output, name: value})
                self.assertRegex(stderr, rf"\Aunspool: UNSPOOL_{name}={value} "
                                 r"is not .*; profiling is off\n\Z")

    def test_output_that_cannot_be_written(self):
        for path in ("/nowhere/p.pb.gz", "/", "x%q.pb.gz"):
            with self.subTest(path=path):
                stderr = self.check_off(OUTPUT=path)
                self.assertRegex(stderr, r"\Aunspool: .*; profiling is off\n\Z")
                self.assertIn(path, stderr)


class NamesTest(AgentCase):
    def test_every_process_has_its_own_file(self):
        script = f"{program('spinner')} 50; {program('spinner')} 50; true"
        # Not sh: Debian's ends by _exit().
        self.profiled(["bash", "-c", script], OUTPUT="p.pb.gz")
        self.assertEqual(len(self.files()), 3)
        self.assertIn("p.pb.gz", self.files())
        for name in self.files():
            self.assertRegex(name, r"\Ap(\.\d+)?\.pb\.gz\Z")
            profile = pprof_decode.load(os.path.join(self.dir, name))
            is_shell = "bash -c" in comment(profile, "command")[0]
            self.assertEqual(is_shell, name == "p.pb.gz")

    def test_patterns(self):
        self.profiled([program("spinner"), "50"], OUTPUT="%n-%p.pb.gz")
        self.assertRegex(self.files()[0], r"\Aagent_spinner-\d+\.pb\.gz\Z")

    def test_relative_name_is_where_the_program_began(self):
        self.profiled([program("spinner"), "50", "chdir"], OUTPUT="p.pb.gz")
        self.assertEqual(self.files(), ["p.pb.gz"])

    def test_exec_goes_on_in_the_same_profile(self):
        run = self.profiled(["sh", "-c", f"exec {program('spinner')} 300"])
        self.assertEqual(run.returncode, 7)
        self.assertEqual(self.files(), ["p.pb.gz"])
        profile = pprof_decode.load(self.output)
        self.assertEqual(comment(profile, "images"), ["2"])
        self.assertGreater(cpu(profile), 250e6)
        self.assertEqual(spools(run.pid), [])

    def test_link_and_special_file_stay_what_they_are(self):
        target = os.path.join(self.dir, "real.pb.gz")
        open(target, "w").close()
        os.symlink("real.pb.gz", self.output)
        self.profiled([program("spinner"), "50"])
        self.assertTrue(os.path.islink(self.output))
        self.assertGreater(os.path.getsize(target), 0)
        os.unlink(target)  # a link to nothing names what will be there
        self.profiled([program("spinner"), "50"])
        self.assertTrue(os.path.islink(self.output))
        self.assertGreater(os.path.getsize(target), 0)
        run = self.profiled([program("spinner"), "50"], OUTPUT="/dev/null")
        self.assertEqual((run.returncode, run.stderr), (7, ""))
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    def test_pipe_behind_a_descriptor(self):
        command = (f"LD_PRELOAD={AGENT} UNSPOOL_OUTPUT=/dev/fd/3 "
                   f"{program('spinner')} 50 3>&1 >&- | cat > {self.output}")
        run = self.run_with(["sh", "-c", command], preload=False)
        self.assertEqual(run.stderr, "")
        self.assertGreater(cpu(pprof_decode.load(self.output)), 0)


class WriteFailureTest(AgentCase):
    def test_recording_fits_under_a_file_size_limit(self):
        def limits():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        run = self.profiled([program("spinner"), "100"], limits=limits)
        self.assertEqual((run.returncode, run.stderr), (7, ""))
        self.assertEqual(self.files(), ["p.pb.gz"])

    def test_no_room_under_the_file_size_limit(self):
        def limits():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        run = self.profiled([program("spinner"), "100"], limits=limits)
        self.assertEqual(run.returncode, 7)
        self.assertRegex(run.stderr,
                         r"\Aunspool: no room .*; profiling is off\n\Z")

    def test_stderr_that_the_program_replaced_gets_nothing(self):
        other = os.path.join(self.dir, "other")
        place = os.path.join(self.dir, "gone")
        os.mkdir(place)
        process = subprocess.Popen(
            [program("spinner"), "1000", "stderr", other],
            env={**os.environ, "LD_PRELOAD": AGENT,
                 "UNSPOOL_OUTPUT": f"{place}/p.pb.gz"},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while not os.path.exists(other):
            pass
        os.rmdir(place)
        self.assertEqual(process.communicate(timeout=60)[1], b"")
        self.assertEqual(process.returncode, 7)
        self.assertEqual(os.path.getsize(other), 0)
        take_spool(self, process.pid)

    def test_a_killed_program_ran_until_it_recorded_last(self):
        process = subprocess.Popen(
            [sys.executable, "-c", "import os, time\n"
             "for _ in range(10):\n"
             "    end = time.process_time() + 0.05\n"
             "    while time.process_time() < end: pass\n"
             "    time.sleep(0.2)\n"
             "os.kill(os.getpid(), 9)\n"],
            env={**os.environ, "LD_PRELOAD": AGENT,
                 "UNSPOOL_OUTPUT": self.output})
        self.assertEqual(process.wait(timeout=60), -9)
        [left] = spools(process.pid)
        self.addCleanup(os.unlink, left)
        subprocess.run([UNSPOOL, "export", left, "-o", self.output], check=True,
                       stderr=subprocess.DEVNULL, timeout=60)
        profile = pprof_decode.load(self.output)
        self.assertGreater(profile.duration_nanos, 1.9e9)
        self.assertGreater(profile.duration_nanos, 2 * cpu(profile))

    def test_profile_that_cannot_be_written_keeps_the_recording(self):
        place = os.path.join(self.dir, "gone")
        os.mkdir(place)
        process = subprocess.Popen(
            [program("spinner"), "1000"],
            env={**os.environ, "LD_PRELOAD": AGENT,
                 "UNSPOOL_OUTPUT": f"{place}/p.pb.gz"},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while not spools(process.pid):
            pass
        os.rmdir(place)
        stderr = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 7)
        match = re.fullmatch(
            r"unspool: cannot write the profile .*; the recording is kept, "
            r"for: unspool export (\S+) -o profile.pb.gz\n", stderr)
        self.assertTrue(match, stderr)
        self.assertEqual([match[1]], spools(process.pid))
        take_spool(self, process.pid)


class ForkTest(AgentCase):
    def test_child_that_is_not_followed_is_left_alone(self):
        run = self.profiled([program("fork_child")], CHILDREN="off")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(self.files(), ["p.pb.gz"])
        profile = pprof_decode.load(self.output)
        self.assert_total(profile, int(run.stdout.split("=")[1]))

    def test_child_that_is_followed_keeps_its_own_timer(self):
        run = self.profiled([program("fork_child")])
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        profile = pprof_decode.load(self.output)
        self.assert_total(profile, int(run.stdout.split("=")[1]))


class OwnSignalTest(AgentCase):
    """The program has its own use for SIGPROF."""

    def test_program_and_profiler_each_get_their_signals(self):
        argv = [program("own_handler"), "300"]
        plain = self.run_with(argv, preload=False)
        self.assertEqual(plain.returncode, -signal.SIGPROF)
        run = self.profiled(argv)
        self.assertEqual((run.returncode, run.stderr), (-signal.SIGPROF, ""))
        take_spool(self, run.pid)

        run = self.profiled(argv + ["return"])
        self.assertEqual((run.returncode, run.stderr), (7, ""))
        self.assertIn("ticked=1 strange=0 simple=1\n", run.stdout)
        self.assert_total(pprof_decode.load(self.output),
                          int(run.stdout.split("cpu_ns=")[1]))

    def test_program_that_ends_on_every_signal(self):
        # sort sets a handler for SIGPROF that removes its files and ends it.
        numbers = "".join(f"{n * 7919 % 1000003}\n" for n in range(300000))
        place = os.path.join(self.dir, "numbers")
        with open(place, "w") as file:
            file.write(numbers)
        run = self.profiled(["sort", "-n", place], FREQUENCY="1000")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout.split(),
                         sorted(numbers.split(), key=int))
        self.assertGreater(cpu(pprof_decode.load(self.output)), 0)


class SmallStacksTest(AgentCase):
    def test_no_byte_below_the_stack_changes(self):
        for _ in range(3):
            run = self.profiled([program("small_stacks"), "400"],
                                FREQUENCY="1000")
            self.assertEqual((run.returncode, run.stdout),
                             (0, "alternate=1 fiber=1\n"))
        profile = pprof_decode.load(self.output)
        self.assertGreater(cpu(profile), 1000e6)


if __name__ == "__main__":
    unittest.main()
