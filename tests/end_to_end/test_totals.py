"""Weights are CPU time: their sums are what getrusage() says."""

import shutil

import harness


def tolerance_ns(run, frequency, threads):
    """1 % and one period per thread, which is what is promised; for many
    threads less, as what was over or under in one is made up for in the next.
    """
    return run.cpu_ns * 0.01 + min(threads, 8) * 1e9 / frequency


class FE04EqualSharesTest(harness.Case):
    """Eight threads, one CPU second each: eight equal shares."""

    THREADS = 8

    def test_each_function_has_its_share(self):
        run = self.record([harness.program("equal_shares"), "1"])
        shares = {}
        for sample in run.profile.samples:
            for name in sample.names:
                if name.startswith("share_"):
                    shares[name] = (shares.get(name, 0) +
                                    harness.weight(run.profile, sample))
        self.assertEqual(sorted(shares),
                         [f"share_{n}" for n in range(self.THREADS)])
        equal = sum(shares.values()) / self.THREADS
        for name, share in shares.items():
            self.assertAlmostEqual(share / equal, 1, delta=0.05, msg=name)
        self.assertAlmostEqual(run.profile.total("cpu") / run.cpu_ns, 1,
                               delta=0.03)


class HonestTotals:
    """For each user and rate: the sum of weights is the CPU time, and the
    program's output and exit status are its own. Mixed into one case each."""

    def check(self, run, plain, frequency, threads):
        self.assert_unchanged(run, plain)
        self.assertEqual(run.status, 7)
        self.assertAlmostEqual(
            run.profile.total("cpu"), run.cpu_ns,
            delta=tolerance_ns(run, frequency, threads), msg=run.stderr)
        self.assertEqual(run.profile.period, 10**9 // frequency)

    def check_all(self, mode, threads=1):
        unspool, agent = harness.copy_product(self.dir)
        argv = [shutil.copy(harness.program("totals"), self.dir), mode, "2"]
        plain = self.run_plain(argv)
        for user, prefix in harness.identities():
            for frequency in (100, 250):
                with self.subTest(user=user, frequency=frequency):
                    run = self.record(argv, frequency, prefix, unspool,
                                      f"{user}-{frequency}.pb.gz")
                    self.check(run, plain, frequency, threads)
            with self.subTest(user=user, preloaded=True):
                run = self.preload(argv, 250, prefix, agent,
                                   f"{user}-preload.pb.gz")
                self.check(run, plain, 250, threads)


class TotalsOneThreadTest(harness.Case, HonestTotals):
    def test_sum_of_weights(self):
        self.check_all("single")


class TotalsManyThreadsTest(harness.Case, HonestTotals):
    def test_sum_of_weights(self):
        # And main, which only waits.
        self.check_all("threads", threads=65)


class TotalsSystemCallsTest(harness.Case, HonestTotals):
    def test_sum_of_weights(self):
        self.check_all("syscalls")
