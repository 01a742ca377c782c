"""merge, diff and symbolize: profiles in, a profile or a table out."""

import re
import subprocess
import unittest

import cli


def cpu_by_stack(profile):
    """CPU time by stack of names, thread and process labels left out."""
    index = profile.value_index("cpu")
    sums = {}
    for sample in profile.samples:
        stack = tuple(sample.names)
        sums[stack] = sums.get(stack, 0) + sample.values[index]
    return sums


class Merge(cli.Case):

    def test_the_sum_is_what_pprof_adds_up(self):
        for name in ("a.pb.gz", "b.pb.gz", "c.pb.gz"):
            run = self.record(cli.ACT, "spin", "200", flags=["-o", name])
            self.assertEqual(run.returncode, 0, run.stderr)
        run = self.run_tool("merge", "a.pb.gz", "b.pb.gz", "c.pb.gz", "-o",
                            "sum.pb.gz")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        expected = {}
        for name in ("a.pb.gz", "b.pb.gz", "c.pb.gz"):
            for stack, value in cpu_by_stack(self.load(name)).items():
                expected[stack] = expected.get(stack, 0) + value
        total = self.load("sum.pb.gz")
        self.assertEqual(cpu_by_stack(total), expected)
        binaries = [m for m in total.mappings.values() if m.filename == cli.ACT]
        self.assertEqual(len(binaries), 1)

        top = ["go", "tool", "pprof", "-top", "-nodefraction=0",
               "-edgefraction=0"]
        ours, theirs = (
            subprocess.run(top + names, cwd=self.dir, check=True, text=True,
                           stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL).stdout
            for names in (["sum.pb.gz"], ["a.pb.gz", "b.pb.gz", "c.pb.gz"]))
        rows = [text[text.index("      flat"):] for text in (ours, theirs)]
        self.assertEqual(*rows)

    def test_other_units_are_refused_and_nothing_is_written(self):
        self.record_spin()
        run = self.record(cli.ACT, "spin", "50",
                          flags=["--clock", "wall", "-o", "wall.pb.gz"])
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assert_one_line(
            self.run_tool("merge", "profile.pb.gz", "wall.pb.gz", "-o",
                          "sum.pb.gz"),
            1, "'wall.pb.gz': sample types differ: samples/count, "
            "wall/nanoseconds and samples/count, cpu/nanoseconds in "
            "'profile.pb.gz'")
        self.assertFalse((self.dir / "sum.pb.gz").exists())
        self.assert_one_line(self.run_tool("diff", "profile.pb.gz",
                                           "wall.pb.gz"),
                             1, "'wall.pb.gz'", "sample types differ")


class Diff(cli.Case):

    def test_a_profile_less_itself_is_nothing_and_pprof_agrees(self):
        self.record_spin()
        run = self.run_tool("diff", "profile.pb.gz", "profile.pb.gz", "-o",
                            "diff.pb.gz")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        diff = self.load("diff.pb.gz")
        index = diff.value_index("cpu")
        self.assertEqual(sum(s.values[index] for s in diff.samples), 0)
        self.assertTrue(any(s.values[index] < 0 for s in diff.samples))

    def test_the_table_is_pprofs_of_the_same_two(self):
        for name, command in (("a.pb.gz", [cli.ACT, "spin", "300"]),
                              ("b.pb.gz", ["sh", "-c", "seq 300000 | sort"])):
            run = self.record(*command, flags=["-o", name],
                              stdout=subprocess.DEVNULL)
            self.assertEqual(run.returncode, 0, run.stderr)
        run = self.run_tool("diff", "a.pb.gz", "b.pb.gz", "-o", "d.pb.gz")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        flags = ["go", "tool", "pprof", "-top", "-nodefraction=0",
                 "-edgefraction=0", "-nodecount=10000"]
        ours, theirs = (
            subprocess.run(flags + more, cwd=self.dir, check=True, text=True,
                           stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL).stdout
            for more in (["d.pb.gz"],
                         ["-normalize", "-diff_base=a.pb.gz", "b.pb.gz"]))
        self.assertRegex(ours, r"-\d+[mn]s")
        rows = [text[text.index("      flat"):] for text in (ours, theirs)]
        self.assertEqual(*rows)


class Symbolize(cli.Case):

    def test_a_raw_profile_gets_its_names(self):
        run = subprocess.run(
            [cli.ACT, "spin", "300"], cwd=self.dir, timeout=60,
            env={"LD_PRELOAD": cli.AGENT, "UNSPOOL_OUTPUT": "raw.pb.gz"})
        self.assertEqual(run.returncode, 0)
        self.assertEqual(self.cpu_seconds("main", "raw.pb.gz"), 0)
        run = self.run_tool("symbolize", "raw.pb.gz", "-o", "named.pb.gz")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertGreater(self.cpu_seconds("main", "named.pb.gz"), 0.1)

    def test_files_that_names_miss_are_told_once(self):
        (self.dir / "spin.c").write_text(
            "int main() { for (volatile long i = 0; i < 300000000; ++i); }")
        subprocess.run("gcc -g -gsplit-dwarf -c spin.c && gcc spin.o -o spin"
                       " && rm spin.dwo", shell=True, cwd=self.dir, check=True)
        run = self.record("./spin", flags=("-d", "0.3"))
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = run.stderr.splitlines()
        self.assertEqual(len(lines), 2, run.stderr)
        self.assertRegex(lines[0], "names are missing: .*/spin: .dwo files "
                         "that are missing: 1, the first is spin.dwo$")
        run = self.run_tool("report", "profile.pb.gz")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn(" main", run.stdout)

    def test_what_gperftools_writes_has_pprofs_functions(self):
        subprocess.run(
            [cli.ACT, "spin", "500"], cwd=self.dir, timeout=60, check=True,
            stderr=subprocess.DEVNULL,
            env={"LD_PRELOAD": "libprofiler.so.0", "CPUPROFILE": "gp.prof"})
        run = self.run_tool("symbolize", "gp.prof", "-o", "named.pb.gz")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        ours, theirs = (
            subprocess.run(["go", "tool", "pprof", "-top", name],
                           cwd=self.dir, check=True, text=True,
                           stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL).stdout
            for name in ("named.pb.gz", "gp.prof"))
        totals = [re.search(r"of (\S+) total", text)[1]
                  for text in (ours, theirs)]
        self.assertEqual(*totals)
        self.assertRegex(ours, r"\bmain\n")

    def test_a_go_programs_profile_is_kept_as_it_is(self):
        (self.dir / "main.go").write_text(GO_PROGRAM)
        subprocess.run(
            ["go", "run", "main.go"], cwd=self.dir, timeout=120, check=True,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.dir),
                 "GOFLAGS": "-mod=mod", "GO111MODULE": "off"})
        run = self.run_tool("symbolize", "go.pb.gz", "-o", "named.pb.gz")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        ours, theirs = (
            cpu_by_stack(cli.pprof_decode.load_foreign(self.dir / name))
            for name in ("named.pb.gz", "go.pb.gz"))
        self.assertEqual(ours, theirs)
        self.assertGreater(sum(ns for names, ns in ours.items()
                               if "main.burn" in names), 0.1e9)


GO_PROGRAM = """package main

import (
\t"os"
\t"runtime/pprof"
\t"time"
)

//go:noinline
func burn() int {
\tsum := 0
\tfor end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
\t\tsum++
\t}
\treturn sum
}

func main() {
\tout, _ := os.Create("go.pb.gz")
\tpprof.StartCPUProfile(out)
\tburn()
\tpprof.StopCPUProfile()
\tout.Close()
}
"""


if __name__ == "__main__":
    unittest.main()
