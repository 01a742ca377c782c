"""What is particular to the engines; that they all keep what is promised of
totals, threads and signals is asserted where those are."""

import os
import unittest.mock

import harness

ENGINES = ("timer", "perf", "trap")


class FE02ExecFunctionsTest(harness.Case):
    """No tick comes to the program that a thread executes, whichever function
    it calls, whether it fails or not and whatever it blocks."""

    EXECS = 36

    def test_the_last_program_reaches_its_end(self):
        for engine in ENGINES:
            with self.subTest(engine):
                with unittest.mock.patch.dict(os.environ, EXEC_MARK="kept"):
                    run = self.record(
                        ["env", f"UNSPOOL_ENGINE={engine}",
                         harness.program("exec_functions"), str(self.EXECS),
                         "a b"], frequency=4000, name=f"{engine}.pb.gz")
                self.assertEqual((run.status, run.stdout), (0, b"done\n"),
                                 run.stderr)
                self.assert_sampled(run.profile, [
                    sample for sample in run.profile.samples
                    if "main" in sample.names])
