"""By the wall clock: every thread's weights are its lifetime, waits have their
stacks, and nobody is disturbed for it."""

import os
import subprocess
import time

import harness

HZ = 100
PERIOD_NS = 10**9 // HZ
# A busy machine delays looks; at its beginning and end a thread's time is
# known to a period or two.
SLACK_NS = 20 * PERIOD_NS


def state_ns(profile, samples, state):
    """Nanoseconds of the samples with this state."""
    return sum(harness.weight(profile, s) for s in samples
               if s.labels.get("state") == state)


def by_function(profile, name):
    return [s for s in profile.samples if name in s.names]


class WallRuns:
    """What every case here does. Mixed into one case each."""

    def record_wall(self, argv, frequency=HZ, name="wall.pb.gz"):
        return self.record(argv, frequency, name=name, clock="wall")

    def check_labels(self, profile):
        """What runs and what waits is told apart in every sample."""
        for sample in profile.samples:
            if sample.names[0].startswith(("[lost", "[unsampled")):
                self.assertNotIn("state", sample.labels)
            else:
                self.assertIn(sample.labels.get("state"),
                              ("running", "waiting"), sample.names)


class SI01WaitsTest(harness.Case, WallRuns):
    """Blocking calls of ten kinds in ten threads; the kernel restarts none of
    the first five after a signal. 1 kHz, no EINTR, and right sums."""

    STACKS = {
        "poll": "wait_in_poll", "epoll": "wait_in_epoll",
        "nanosleep": "wait_in_nanosleep", "semaphore": "wait_in_semaphore",
        "recv": "wait_in_recv", "read": "wait_in_read",
        "accept": "wait_in_accept", "holder": "hold_mutex",
        "mutex": "wait_for_mutex", "mixed": "run_and_wait"}

    def check_thread(self, profile, name, tid, lifetime_ns, cpu_ns):
        samples = [s for s in profile.samples if s.labels.get("tid") == tid]
        total = sum(harness.weight(profile, s) for s in samples)
        self.assertAlmostEqual(total, lifetime_ns, delta=SLACK_NS, msg=name)
        self.assertAlmostEqual(state_ns(profile, samples, "running"), cpu_ns,
                               delta=SLACK_NS, msg=name)
        under = [s for s in samples if self.STACKS[name] in s.names]
        for sample in under:
            self.assertTrue(harness.is_rooted(sample), sample.names)
            self.assertEqual(sample.labels["thread"], name)
        # But for what passed where no stack is: without a CPU, and before and
        # after.
        elsewhere = total - sum(harness.weight(profile, s) for s in under)
        stackless = sum(harness.weight(profile, s) for s in samples
                        if harness.is_pseudo(s))
        self.assertLess(elsewhere - stackless, SLACK_NS, name)

    def test_each_thread_has_its_lifetime_where_it_waited(self):
        for frequency in (HZ, 1000):
            with self.subTest(frequency=frequency):
                run = self.record_wall([harness.program("wall_waits"), "40"],
                                       frequency, f"{frequency}.pb.gz")
                self.assertEqual(run.status, 0, run.stderr)
                self.check_labels(run.profile)
                lines = run.stdout.decode().split("\n")[:-1]
                self.assertEqual(sorted(line.split()[0] for line in lines),
                                 sorted(self.STACKS))
                for line in lines:
                    name, tid, lifetime_ns, cpu_ns, interrupted = line.split()
                    self.assertEqual(interrupted, "0", name)
                    self.check_thread(run.profile, name, int(tid),
                                      int(lifetime_ns), int(cpu_ns))

    def test_a_mutex_is_waited_for_under_its_caller(self):
        run = self.record_wall([harness.program("wall_waits"), "20"])
        waits = by_function(run.profile, "wait_for_mutex")
        self.assertGreater(state_ns(run.profile, waits, "waiting"), 0)
        self.assert_all(
            waits, lambda s: any("mutex_lock" in name or "barrier" in name
                                 for name in s.names), "a lock's wait")

    def test_preloaded_it_is_the_same(self):
        run = self.preload([harness.program("wall_waits"), "20"], HZ,
                           clock="wall")
        self.assertEqual(run.status, 0, run.stderr)
        for line in run.stdout.decode().split("\n")[:-1]:
            name, tid, lifetime_ns, cpu_ns, interrupted = line.split()
            self.assertEqual(interrupted, "0", name)
            self.check_thread(run.profile, name, int(tid), int(lifetime_ns),
                              int(cpu_ns))


class SI09IdleThreadsTest(harness.Case, WallRuns):
    """200 threads wait and one runs: the idle ones weigh as much as the busy
    one, and cost next to nothing: each is looked at every 16th period."""

    THREADS = 200

    def test_idle_threads_are_weighed_and_left_alone(self):
        run = self.record_wall([harness.program("wall_idle"),
                                str(self.THREADS), "1500"])
        self.assertEqual(run.stdout, b"other descriptors 0\n")
        profile = run.profile
        idle = {}
        for name in ("idle_in_epoll", "idle_in_condition"):
            for sample in by_function(profile, name):
                self.assertTrue(harness.is_rooted(sample), sample.names)
                weight, looks = idle.get(sample.labels["tid"], (0, 0))
                idle[sample.labels["tid"]] = (
                    weight + harness.weight(profile, sample),
                    looks + harness.count(profile, sample))
        self.assertEqual(len(idle), self.THREADS)
        for weight, looks in idle.values():
            self.assertAlmostEqual(weight, profile.duration_nanos,
                                   delta=3 * SLACK_NS)
            # 1, 2, 4, 8, then every 16th period; twice as many where the
            # thread was still busy with its beginning.
            self.assertLessEqual(looks, 10 + 2 * weight / PERIOD_NS / 16)


class WallProgramEndsTest(harness.Case, WallRuns):
    def test_the_last_thread_is_the_programs_own(self):
        argv = [harness.program("wall_exits"), "pthread_exit"]
        plain = self.run_plain(argv)
        run = self.record_wall(argv)
        self.assert_unchanged(run, plain)
        self.assertEqual(run.stdout, b"the last word")
        waits = by_function(run.profile, "sleep_after_main")
        self.assertAlmostEqual(state_ns(run.profile, waits, "waiting"), 300e6,
                               delta=SLACK_NS)

    def test_a_child_and_who_waits_for_it(self):
        argv = [harness.program("wall_exits"), "fork"]
        plain = self.run_plain(argv)
        run = self.record_wall(argv)
        self.assert_unchanged(run, plain)
        self.assertEqual(run.stdout, b"child 5\n")
        pids = set()
        for function in ("wait_for_child", "sleep_in_child"):
            waits = by_function(run.profile, function)
            self.assertAlmostEqual(state_ns(run.profile, waits, "waiting"),
                                   300e6, delta=SLACK_NS, msg=function)
            pids.update(s.labels["pid"] for s in waits)
        self.assertEqual(len(pids), 2)


class WallSandboxTest(harness.Case, WallRuns):
    def test_a_filter_ends_waiting_time_and_that_is_said(self):
        argv = [harness.program("seccomp_filter"), "openat", "kill", "seccomp"]
        plain = self.run_plain(argv)
        run = self.record_wall(argv)
        self.assert_unchanged(run, plain)
        self.assertIn("from here on waiting time is not recorded", run.stderr)


class WallRightsTest(harness.Case, WallRuns):
    """A program that may no longer read its own /proc sleeps on."""

    def test_waits_go_on_without_rights(self):
        run = self.record_wall([harness.program("wall_exits"), "daemon"])
        self.assertEqual(run.stdout, b"", run.stderr)
        naps = by_function(run.profile, "sleep_without_rights")
        self.assertAlmostEqual(state_ns(run.profile, naps, "waiting"), 300e6,
                               delta=SLACK_NS)


class WallViewsTest(harness.Case, WallRuns):
    """The same numbers in all that shows a profile."""

    def test_all_views_count_wall_nanoseconds(self):
        run = self.record_wall([harness.program("wall_waits"), "20"])
        total = run.profile.total("wall")
        self.assertIn("wall clock", run.stderr)
        report = self.unspool("report", run.path)
        self.assertIn("Type: wall", report)
        folded = self.unspool("export", run.path, "--format", "folded")
        self.assertEqual(sum(int(line.rpartition(" ")[2])
                             for line in folded.splitlines()), total)
        counted = self.unspool("export", run.path, "--format", "folded",
                               "--value", "samples")
        self.assertEqual(sum(int(line.rpartition(" ")[2])
                             for line in counted.splitlines()),
                         run.profile.total("samples"))
        table, complaints = harness.pprof_table(run.path)
        self.assertEqual(complaints.replace("Main binary filename not available"
                                            ".\n", ""), "")
        mine = sum(harness.weight(run.profile, s)
                   for s in by_function(run.profile, "wait_in_poll"))
        self.assertAlmostEqual(table["wait_in_poll"][1], mine, delta=20)
        tags, _ = harness.pprof_tool("-tags", run.path)
        self.assertRegex(tags, r"state: Total .*\n(.*\n)*.*: waiting\n")
        waiting, _ = harness.pprof_tool("-top", "-tagfocus=state=running",
                                        run.path)
        self.assertIn("run_a_round", waiting)
        self.assertNotIn("wait_in_poll", waiting)


class WallRealProgramsTest(harness.Case, WallRuns):
    def test_python_sleeping(self):
        code = ("import threading, time\n"
                "t = threading.Thread(target=time.sleep, args=(0.6,))\n"
                "t.start(); t.join(); import os\n"
                "open(os.environ['E2E_RUSAGE'], 'w').write('0')\n")
        run = self.record_wall(["/usr/bin/python3", "-c", code])
        sleeps = [s for s in run.profile.samples
                  if any("nanosleep" in name for name in s.names)]
        self.assert_all(sleeps, harness.is_rooted, "a sleep has a root")
        self.assertAlmostEqual(state_ns(run.profile, sleeps, "waiting"), 600e6,
                               delta=SLACK_NS)

    def test_redis_idle_and_under_load(self):
        path = os.path.join(self.dir, "redis.pb.gz")
        socket = os.path.join(self.dir, "socket")
        server = subprocess.Popen(
            [harness.UNSPOOL, "record", "--clock", "wall", "-o", path, "--",
             "/usr/bin/redis-server", "--port", "0", "--unixsocket", socket,
             "--save", "", "--daemonize", "no"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=self.dir)
        self.addCleanup(server.stderr.close)
        while not os.path.exists(socket):
            self.assertIsNone(server.poll())
            time.sleep(0.01)
        time.sleep(0.5)  # idle
        subprocess.run(["redis-benchmark", "-s", socket, "-n", "20000", "-q",
                        "-t", "set"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"],
                       check=True)
        server.wait(harness.RUN_TIMEOUT_SECONDS)
        profile = self.load(path, harness.Run(0, b"", "", 0), "wall")
        self.check_labels(profile)
        polls = [s for s in profile.samples if "epoll_wait" in s.names]
        self.assert_all(polls, harness.is_rooted, "idle under aeMain")
        self.assertGreater(state_ns(profile, polls, "waiting"), 500e6)
        self.assertGreater(state_ns(profile, profile.samples, "running"), 0)
