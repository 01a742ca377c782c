"""Every thread is in the profile with its CPU time, however it came to be."""

import shutil

import harness

# A kernel tick and what the clocks of a test machine differ by.
SLACK_NS = 10e6


def by_thread(profile):
    """{tid: CPU nanoseconds}, what is not sampled included."""
    sums = {}
    for sample in profile.samples:
        tid = sample.labels["tid"]
        sums[tid] = sums.get(tid, 0) + harness.weight(profile, sample)
    return sums


class FE07EveryKindOfThreadTest(harness.Case):
    """pthread_create, thrd_create, SIGEV_THREAD of a timer and of aio, raw
    clone without TLS, and a second libc's threads in a namespace of its own;
    all but the first are found by looking. The timer's thread
    blocks all signals."""

    SECONDS = "1.2"

    def check(self, run, frequency):
        self.assertEqual(run.status, 0, run.stderr)
        sums = by_thread(run.profile)
        names = {}
        for sample in run.profile.samples:
            names.setdefault(sample.labels["tid"], set()).update(sample.names)
        for line in run.stdout.decode().splitlines():
            function, tid, cpu_ns = line.split()
            if function == "spin_timer":
                function = "[lost: blocked]"
            with self.subTest(function=function):
                self.assertIn(function, names[int(tid)])
                self.assertAlmostEqual(
                    sums[int(tid)], int(cpu_ns),
                    delta=int(cpu_ns) * 0.01 + 1e9 / frequency + SLACK_NS)

    def test_each_thread_has_its_own_clocks_time(self):
        unspool, agent = harness.copy_product(self.dir)
        argv = [shutil.copy(harness.program("thread_kinds"), self.dir),
                self.SECONDS]
        for user, prefix in harness.identities():
            for engine, frequency in (("timer", 250), ("auto", 1000)):
                with self.subTest(user=user, engine=engine):
                    how = [*prefix, "env", "UNSPOOL_ENGINE=" + engine]
                    run = self.record(argv, frequency, how, unspool,
                                      f"{user}-{engine}.pb.gz")
                    self.check(run, frequency)
