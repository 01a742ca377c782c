"""What people meet: no privilege, no hardware counter, programs that die, time
in the kernel, ends of stacks, and an agent that was not asked."""

import os
import re
import signal
import subprocess

import harness
import pprof_decode


class US01RefusedEventsTest(harness.Case):
    """perf_event_open() refused, no descriptors, no locked memory: another
    engine, at most one line about it, the same functions on top."""

    SHELL = {"few descriptors": "ulimit -n 64; exec \"$@\"",
             "no locked memory": "ulimit -l 0; exec \"$@\""}

    def check(self, run):
        self.assertEqual(run.status, 7, run.stderr)
        self.assertIn(run.profile.facts("engine")[0],
                      ("timer", "perf", "trap"))
        self.assertAlmostEqual(run.profile.total("cpu") / run.cpu_ns, 1,
                               delta=0.03)
        about = [line for line in run.stderr.splitlines()
                 if re.search("perf|trap|timer", line) and "samples," not in
                 line]
        self.assertLessEqual(len(about), 1, run.stderr)
        flat = harness.flat_by_name(run.profile)
        self.assertEqual(max(flat, key=flat.get), "burn_until")

    def test_refused_by_a_filter(self):
        # The agent comes into what runs under the filter only.
        path = os.path.join(self.dir, "filtered.pb.gz")
        run = self.run_plain([
            harness.program("seccomp_filter"), "perf_event_open", "errno",
            "exec", "/usr/bin/env", f"LD_PRELOAD={harness.AGENT}",
            f"UNSPOOL_OUTPUT={path}", "UNSPOOL_FREQUENCY=1000",
            harness.program("totals"), "threads", "2"])
        named = os.path.join(self.dir, "named.pb.gz")
        self.unspool("export", path, "-o", named)
        run.profile = self.load(named, run)
        self.check(run)
        self.assertEqual(run.profile.facts("engine"), ["timer"])

    def test_limits(self):
        for name, script in self.SHELL.items():
            with self.subTest(name):
                self.check(self.record(
                    ["bash", "-c", script, "bash", harness.program("totals"),
                     "threads", "2"], frequency=1000))


class US02NoHardwareCounterTest(harness.Case):
    def test_the_profile_names_what_was_counted(self):
        run = self.record([harness.program("dies")])
        self.assertEqual(run.profile.period_type, ("cpu", "nanoseconds"))
        self.assertEqual(run.profile.period, 10**9 // harness.FREQUENCY)
        self.assertIn(run.profile.facts("engine")[0],
                      ("timer", "perf", "trap"))


class US03DeathTest(harness.Case):
    """However a program ends, what was recorded until then is there, and its
    status is its own."""

    WAYS = [("exit", 7), ("_exit", 7), ("_Exit", 7), ("quick_exit", 7),
            ("abort", -signal.SIGABRT), *(
                (str(int(number)), -number)
                for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL,
                               signal.SIGSEGV))]

    def check_profile(self, profile):
        spent = sum(harness.weight(profile, sample)
                    for sample in profile.samples if "spin" in sample.names)
        self.assert_spent(spent, 0.5)

    def test_under_record(self):
        for how, status in self.WAYS:
            with self.subTest(how):
                run = self.record([harness.program("dies"), how])
                self.assertEqual(run.status,
                                 status if status >= 0 else 128 - status)
                self.check_profile(run.profile)

    def test_preloaded(self):
        for how, status in self.WAYS:
            with self.subTest(how):
                self.check_preloaded(how, status)

    def check_preloaded(self, how, status):
        path = os.path.join(self.dir, f"{how}.pb.gz")
        process = subprocess.Popen(
            [harness.program("dies"), how], stderr=subprocess.PIPE,
            cwd=self.dir, env={**os.environ, "LD_PRELOAD": harness.AGENT,
                               "UNSPOOL_OUTPUT": path})
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, status)
        spools = harness.spools(process.pid)
        # The profile, or the recording that it can be made from.
        self.assertEqual(len(spools), 0 if os.path.exists(path) else 1)
        if spools:
            path = spools[0]
            self.addCleanup(os.unlink, path)
        if how == "exit":
            self.assertEqual(spools, [])
        named = os.path.join(self.dir, f"named-{how}.pb.gz")
        self.unspool("export", path, "-o", named)
        self.check_profile(pprof_decode.load(named))


class US04NothingIsSilentTest(harness.Case):
    """64 threads at 10 kHz: what is lost or cut is counted, and the counts are
    those of the stacks."""

    def test_comments_and_stacks_agree(self):
        run = self.record([harness.program("totals"), "threads", "2"],
                          frequency=10000)
        lost = sum(harness.weight(run.profile, sample)
                   for sample in run.profile.samples
                   if sample.names[0].startswith("[lost"))
        cut = sum(harness.count(run.profile, sample)
                  for sample in run.profile.samples
                  if harness.truncation(sample))
        summary = re.search(r"unspool: (\d+) samples?, (\d+) lost.*, ([0-9.]+) "
                            r"% truncated", run.stderr)
        self.assertTrue(summary, run.stderr)
        taken = run.profile.total("samples")
        self.assertEqual(int(summary[1]), taken)
        self.assertEqual(summary[2] == "0", lost == 0)
        self.assertAlmostEqual(float(summary[3]), 100 * cut / taken, delta=0.01)
        self.assertAlmostEqual(run.profile.total("cpu") / run.cpu_ns, 1,
                               delta=0.03)


class US07KernelTimeTest(harness.Case):
    """Time in system calls is under the functions that made them, for an
    ordinary user too."""

    def test_callers_have_it(self):
        unspool, _ = harness.copy_product(self.dir)
        for user, prefix in harness.identities():
            with self.subTest(user):
                run = self.record([harness.program("system_time")],
                                  prefix=prefix, unspool=unspool,
                                  name=f"{user}.pb.gz")
                for function, callee in (("write_loop", "write"),
                                         ("getpid_loop", "syscall")):
                    inside = [sample for sample in run.profile.samples
                              if function in sample.names]
                    self.assert_all(inside, harness.is_rooted, "rooted")
                    in_call = sum(harness.weight(run.profile, sample)
                                  for sample in inside
                                  if callee in "".join(sample.names))
                    self.assertGreater(in_call, 0.1 * run.cpu_ns, function)


class ST06EndsTest(harness.Case):
    """An end that is none is marked; the real one is not."""

    ROWS = [("says_no_caller", "[truncated: no-cfi]"),
            ("says_below", "[truncated: loop]"),
            ("says_itself", "[truncated: loop]")]  # ST-08

    def test_only_roots_count_as_roots(self):
        run = self.record([harness.program("odd_ends")])
        self.assertEqual((run.status, run.stdout), (0, b"done\n"), run.stderr)
        spinning = [sample for sample in run.profile.samples
                    if sample.names[0] == "spin"]
        for function, end in self.ROWS:
            samples = [sample for sample in spinning
                       if function in sample.names]
            self.assert_all(samples, lambda sample, names=[
                "spin", function, end]: sample.names == names, end)
        self.assert_all([sample for sample in spinning
                         if sample.names[1] == "main"], harness.is_rooted,
                        "rooted")
        folded = self.unspool("export", run.path, "--format", "folded", "-o",
                              "-")
        for function, end in self.ROWS:
            self.assertRegex(folded, rf"(?m)^{re.escape(end)};{function};spin ")


class ST08StaticMuslTest(harness.Case):
    def test_it_runs_unprofiled_and_is_named(self):
        path = harness.program("musl_spin")
        run = subprocess.run([harness.UNSPOOL, "record", "-o",
                              os.path.join(self.dir, "p.pb.gz"), "--", path],
                             capture_output=True, text=True, timeout=60)
        self.assertEqual((run.returncode, run.stdout), (1, "ran\n"))
        lines = run.stderr.splitlines()
        self.assertEqual(len(lines), 1, run.stderr)
        self.assertIn("musl_spin", lines[0])
        preloaded = subprocess.run(
            [path], capture_output=True, text=True, timeout=60,
            env={**os.environ, "LD_PRELOAD": harness.AGENT,
                 "UNSPOOL_OUTPUT": os.path.join(self.dir, "q.pb.gz")})
        self.assertEqual((preloaded.returncode, preloaded.stdout), (0, "ran\n"))
        self.assertEqual(os.listdir(self.dir), [])


class ProgramWithItsOwnAgentTest(harness.Case):
    """libunspool.a is linked in, and libunspool.so asked for, too."""

    def check(self, run):
        self.assertEqual((run.status, run.stderr.count("profiling is off")),
                         (7, 0), run.stderr)
        self.assertAlmostEqual(run.profile.total("cpu") / run.cpu_ns, 1,
                               delta=0.02)
        self.assertFalse([sample.names for sample in run.profile.samples
                          if sample.names[0].startswith("[lost")])

    def test_one_of_the_two_samples(self):
        argv = [harness.program("totals_own_agent"), "single", "1"]
        self.check(self.record(argv))
        self.check(self.preload(argv))

    def test_a_static_program_is_recorded_by_its_own(self):
        argv = [harness.program("totals_static"), "single", "1"]
        self.check(self.record(argv))


class PF04ManyThreadsTest(harness.Case):
    """Samples are not lost for want of a lock, however many threads unwind."""

    def test_nothing_is_lost(self):
        for threads in (2, 8, 32):
            with self.subTest(threads):
                run = self.record([harness.program("totals"), "threads", "2",
                                   str(threads)], frequency=1000)
                self.assertEqual(run.status, 7, run.stderr)
                self.assertEqual([sample.names for sample in
                                  run.profile.samples
                                  if sample.names[0].startswith("[lost")], [])
                self.assertAlmostEqual(run.profile.total("cpu") / run.cpu_ns, 1,
                                       delta=0.05)


class PF05NotAskedTest(harness.Case):
    """Loaded and not started, the agent makes none of these system calls."""

    CALLS = ("timer_create,setitimer,perf_event_open,clone,clone3,fork,vfork,"
             "rt_sigaction,tgkill,memfd_create,signalfd4,ftruncate")

    def calls(self, agent):
        path = os.path.join(self.dir, "calls")
        # Not the loader's own: strace has no agent in it.
        subprocess.run(["strace", "-f", "-o", path, "-e",
                        f"trace={self.CALLS}", "-E", f"LD_PRELOAD={agent}",
                        harness.program("totals"), "single", "0.1"],
                       capture_output=True, timeout=60)
        with open(path) as file:
            return re.findall(r"^\d+ +(\w+)\(", file.read(), re.MULTILINE)

    def test_the_same_calls_as_without_it(self):
        self.assertEqual(self.calls(harness.AGENT), self.calls(""))
