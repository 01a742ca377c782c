"""Our profiles as pprof's own tools see them: with the program's files at hand
and on a copy without them."""

import os
import shutil
import subprocess
import unittest

import cli

# Of pprof; those that show functions, and the rest.
VIEWS = (["-raw"], ["-top"], ["-traces"], ["-tree"], ["-peek", "Spin"],
         ["-list", "Spin"], ["-dot"], ["-svg"], ["-callgrind"])
NAMELESS_VIEWS = (["-comments"], ["-tags"])


class Pprof(cli.Case):

    def setUp(self):
        super().setUp()
        self.program = str(self.dir / "program")
        shutil.copy(cli.ACT, self.program)
        run = self.record(self.program, "spin", "300")
        self.assertEqual(run.returncode, 0, run.stderr)

    def pprof(self, *flags):
        """What it prints; a word on stderr fails the test."""
        run = subprocess.run(
            ["go", "tool", "pprof", *flags, "profile.pb.gz"], cwd=self.dir,
            text=True, capture_output=True, timeout=cli.TIMEOUT_SECONDS,
            env={"PATH": os.environ["PATH"], "HOME": str(self.dir),
                 "PPROF_TMPDIR": str(self.dir)})
        self.assertEqual((run.returncode, run.stderr), (0, ""), flags)
        return run.stdout

    def test_every_view_is_the_same_without_the_binaries(self):
        here = {tuple(view): self.pprof(*view)
                for view in VIEWS + NAMELESS_VIEWS}
        for view in VIEWS:
            self.assertIn("Spin", here[tuple(view)], view)
        os.remove(self.program)
        for view, text in here.items():
            self.assertEqual(self.pprof(*view), text, view)

    def test_disassembly_is_found_by_our_addresses(self):
        # Go's tool does not relocate symbols, and finds none in a PIE.
        run = self.record(str(cli.PROGRAMS / "act_no_pie"), "spin", "300")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertRegex(self.pprof("-disasm", "Spin"),
                         r"ROUTINE =+ Spin\n +\d+ms +\d+ms")

    def test_ids_are_sequential_and_mappings_hold_their_addresses(self):
        profile = self.load()
        for table in (profile.mappings, profile.locations):
            self.assertEqual(sorted(table), list(range(1, len(table) + 1)))
        self.assertEqual(profile.mappings[1].filename, self.program)
        for mapping in profile.mappings.values():
            self.assertLess(mapping.start, mapping.limit)

    def test_units_and_totals_are_those_of_the_run(self):
        profile = self.load()
        self.assertEqual(profile.default_sample_type, "cpu")
        index = profile.value_index("cpu")
        total = sum(sample.values[index] for sample in profile.samples)
        self.assertAlmostEqual(total / 1e9, 0.3, delta=0.1)
        self.assertGreater(profile.duration_nanos, 0)


class AnIdleProgram(cli.Case):

    def test_its_profile_is_valid(self):
        run = self.record("/bin/true")
        self.assertEqual(run.returncode, 0, run.stderr)
        run = self.run_tool("report", "profile.pb.gz")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("flat%", run.stdout)


if __name__ == "__main__":
    unittest.main()
