"""What must never happen to the program: faults, changed registers."""

import harness


class CR01WrongCfiTest(harness.Case):
    """CFI that leads to wild addresses: no fault, and the stack says so."""

    LEAVES = ("spin_cfa_in_rbx", "spin_cfa_at_rbx", "spin_rbp_from_rbx")

    def check(self, record):
        argv = [harness.program("wrong_cfi"), "400e6"]
        run = record(argv)
        # Status 3 and a line on stdout if its SIGSEGV handler was called.
        self.assertEqual((run.status, run.stdout), (0, b"faults 0\n"),
                         run.stderr)
        for leaf in self.LEAVES:
            samples = [sample for sample in run.profile.samples
                       if sample.names[0] == leaf]
            self.assert_sampled(run.profile, samples, leaf)
            self.assert_all(samples, harness.truncation, "truncated, said so")
        through = [sample for sample in run.profile.samples
                   if sample.names[0] == "spin_rbp_from_rbx"]
        self.assert_all(through,
                        lambda sample: sample.names[1] == "chain_through_rbp",
                        "the part of the stack that is right is kept")

    def test_under_record(self):
        self.check(self.record)

    def test_preloaded(self):
        self.check(self.preload)


class SI02MachineStateTest(harness.Case):
    """errno, MXCSR, x87 control word, direction flag and red zone."""

    def test_nothing_changes_behind_the_program(self):
        run = self.record([harness.program("machine_state"), "4"])
        self.assertEqual(
            (run.status, run.stdout),
            (0, b"errno 0 mxcsr 0 x87 0 direction 0\n"), run.stderr)
        # Ticks came while each kind of state was set.
        leaves = harness.flat_by_name(run.profile)
        self.assertGreater(leaves["main"], 0)
        self.assertGreater(leaves["spin_backwards"], 0)
        self.assert_sampled(run.profile, run.profile.samples)


class VeryDeepStacksTest(harness.Case):
    """A tick that takes longer than its period leaves the program time: it was
    never done before, with 10,000 ticks a second on 60,000 frames."""

    def test_the_program_comes_to_its_end(self):
        for engine in ("timer", "perf", "trap"):
            with self.subTest(engine):
                run = self.record_deep(engine)
                self.assertEqual(run.status, 0, run.stderr)
                self.assertRegex(run.stdout, rb"\Arounds \d+ 1\n\Z")
                samples = [sample for sample in run.profile.samples
                           if "spin_at_bottom" in sample.names]
                self.assert_all(samples, harness.is_rooted, "rooted")
                self.assert_all(
                    samples,
                    lambda sample: sample.names.count("recurse") == 60000,
                    "all frames")
                self.assertAlmostEqual(run.profile.total("cpu") / run.cpu_ns,
                                       1, delta=0.02)

    def record_deep(self, engine):
        return self.record(
            ["sh", "-c", 'ulimit -s unlimited; exec "$@"', "sh", "env",
             f"UNSPOOL_ENGINE={engine}", harness.program("very_deep"), "60000",
             "1"], frequency=10000, flags=("--max-depth", "65536"),
            name=f"{engine}.pb.gz")
