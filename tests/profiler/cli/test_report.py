"""unspool report: pprof's figures, and manners on terminals and pipes."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import unittest

import cli

ROW = re.compile(r"^ *\S+ +\S+% +\S+% +\S+ +\S+%  ")


TEMPLATES = """
template <int N> __attribute__((noinline)) long spin(long rounds) {
  for (long i = 0; i < rounds; ++i) __asm__ volatile("" : "+r"(i));
  return rounds + N;
}
int main() { return spin<1>(200000000) + spin<2>(200000000) == 0; }
"""


class ShortTemplates(cli.Case):

    def test_functions_of_one_template_are_one_in_every_view(self):
        subprocess.run(["g++", "-O2", "-x", "c++", "-", "-o", "templates"],
                       cwd=self.dir, input=TEMPLATES, text=True, check=True)
        run = self.record("./templates", flags=["-F", "250"])
        self.assertEqual(run.returncode, 0, run.stderr)
        texts = {}
        for command in (["report", "profile.pb.gz", "--short-templates"],
                        ["report", "profile.pb.gz"],
                        ["export", "profile.pb.gz", "--format", "folded",
                         "--short-templates"],
                        ["export", "profile.pb.gz", "--format", "svg",
                         "--short-templates"]):
            run = self.run_tool(*command)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            texts[" ".join(command)] = run.stdout
        whole = texts.pop("report profile.pb.gz")
        self.assertIn("long spin<1>(long)", whole)
        self.assertIn("long spin<2>(long)", whole)
        for command, text in texts.items():
            with self.subTest(command):
                self.assertIn("long spin", text)
                self.assertNotRegex(text, r"spin(<|&lt;)[12]")

        for command in (["diff", "profile.pb.gz", "profile.pb.gz"],
                        ["export", "profile.pb.gz"]):
            run = self.run_tool(*command, "--short-templates", "-o",
                                "short.pb.gz")
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            functions = {(frame.name, frame.system_name)
                         for sample in self.load("short.pb.gz").samples
                         for frame in sample.frames if "spin" in frame.name}
            self.assertEqual(
                functions, {("long spin<..>(long)", "_Z4spinILi1EEll"),
                            ("long spin<..>(long)", "_Z4spinILi2EEll")})
        top = subprocess.run(["go", "tool", "pprof", "-top", "short.pb.gz"],
                             cwd=self.dir, check=True, capture_output=True,
                             text=True).stdout
        self.assertRegex(top, r"  long spin<\.\.>\(long\)\n")


class PprofJudges(cli.Case):

    def setUp(self):
        super().setUp()
        # The test's own interpreter is a program with many functions.
        code = "import json\nfor i in range(2000): json.loads(json.dumps(list(range(2000))))"
        run = self.record(sys.executable, "-c", code, flags=["-F", "1000"])
        self.assertEqual(run.returncode, 0, run.stderr)

    def pprof(self, *flags):
        return subprocess.run(
            ["go", "tool", "pprof", "-nodefraction=0", "-edgefraction=0",
             "-nodecount=100000", *flags, "profile.pb.gz"], cwd=self.dir,
            check=True, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL).stdout

    def report(self, *flags):
        run = self.run_tool("report", "profile.pb.gz", *flags)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def test_tables_are_pprofs(self):
        for ours, theirs in (
                ([], []),
                (["--lines"], ["-lines"]),
                (["--focus", "Py.*List"], ["-focus=Py.*List"]),
                (["--ignore", "json"], ["-ignore=json"]),
                (["--focus", "json", "--ignore", "List_Append"],
                 ["-focus=json", "-ignore=List_Append"])):
            with self.subTest(ours):
                rows = [[line for line in text.splitlines() if ROW.match(line)]
                        for text in (self.report(*ours),
                                     self.pprof("-top", *theirs))]
                self.assertGreater(len(rows[0]), 3)
                self.assertEqual(*rows)

    def test_json_and_tree_have_the_tables_sums(self):
        table = json.loads(self.report("--json"))
        tree = json.loads(self.report("--json", "--tree"))
        profile = self.load()
        index = profile.value_index("cpu")
        total = sum(sample.values[index] for sample in profile.samples)
        self.assertEqual(total, table["total"])
        self.assertEqual(total, sum(f["flat"] for f in table["functions"]))
        self.assertEqual(total, sum(n["cum"] for n in tree["nodes"]
                                    if n["parent"] == -1))
        flat = {}
        for node in tree["nodes"]:
            flat[node["name"]] = flat.get(node["name"], 0) + node["flat"]
        self.assertEqual({f["name"]: f["flat"] for f in table["functions"]},
                         flat)


class SourceLines(cli.Case):

    def test_values_of_lines_are_pprofs(self):
        self.record_spin()
        run = self.run_tool("report", "profile.pb.gz", "--list", "^Spin$")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        theirs = subprocess.run(
            ["go", "tool", "pprof", "-list", "^Spin$", "profile.pb.gz"],
            cwd=self.dir, check=True, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL).stdout

        def lines(text):
            found = re.findall(r"^ +(\S+) +(\S+) +(\d+): *(.*?) *$", text,
                               re.MULTILINE)
            return [row for row in found if row[:2] != (".", ".")]

        self.assertTrue(lines(theirs))
        self.assertEqual(lines(run.stdout), lines(theirs))


class Terminal(cli.Case):

    def on_terminal(self, *arguments, columns=80, env=None):
        """What the tool writes to a terminal of that width."""
        main, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ,
                    struct.pack("HHHH", 40, columns, 0, 0))
        tool = subprocess.Popen(
            [cli.UNSPOOL, *arguments], cwd=self.dir, stdout=side,
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env={"PATH": os.environ["PATH"], "TERM": "xterm", **(env or {})})
        os.close(side)
        out = b""
        try:
            while chunk := os.read(main, 65536):
                out += chunk
        except OSError:  # EIO: the other side is closed
            pass
        os.close(main)
        errors = tool.communicate(timeout=cli.TIMEOUT_SECONDS)[1]
        self.assertEqual((tool.returncode, errors), (0, b""))
        return out.decode()

    def setUp(self):
        super().setUp()
        self.record_spin()

    def test_every_view_fits_80_columns_and_is_coloured(self):
        for flags in ([], ["--tree"], ["--lines"], ["--callers", "main"],
                      ["--list", "Spin"]):
            with self.subTest(flags):
                text = self.on_terminal("report", "profile.pb.gz", *flags)
                self.assertIn("\x1b[", text)
                plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
                self.assertNotIn("\x1b", plain)
                self.assertLessEqual(max(map(len, plain.splitlines())), 80)

    def test_rows_are_as_many_as_asked_for(self):
        every = self.on_terminal("report", "profile.pb.gz", "--nodecount", "0")
        one = self.run_tool("report", "profile.pb.gz", "--nodecount", "1")
        head, rows = one.stdout.split("cum%\n")
        self.assertRegex(rows, r"\A.*\n\.\.\. and \d+ more, .*: --nodecount 0 "
                         r"shows all\n\Z")
        self.assertNotIn("more", every)
        self.assertIn("_start", every)

    def test_colours_end_where_nobody_wants_them(self):
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b", self.on_terminal(
                "report", "profile.pb.gz", env=env))
        self.assertNotIn("\x1b", self.run_tool("report",
                                               "profile.pb.gz").stdout)


class Failures(cli.Case):

    def setUp(self):
        super().setUp()
        self.record_spin()

    def test_nothing_that_matches_is_one_line(self):
        for flags, status, words in (
                (["--focus", "nowhere"], 1, ["no sample matches"]),
                (["--list", "nowhere"], 1, ["'nowhere'"]),
                (["--callers", "("], 2, ["regular expression"]),
                (["--list", "^_start$"], 1,
                 ["no lines are known of '^_start$'"]),
                (["--tagfocus", "waiting"], 2, ["KEY=PATTERN"]),
                (["--value", "wall"], 2, ["'wall'", "samples, cpu"])):
            with self.subTest(flags):
                self.assert_one_line(
                    self.run_tool("report", "profile.pb.gz", *flags), status,
                    *words)

    def test_a_full_disk_is_one_line(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            for arguments in (["report", "profile.pb.gz"],
                              ["merge", "profile.pb.gz", "-o", "-"]):
                self.assert_one_line(
                    self.run_tool(*arguments, stdout=full), 1,
                    "No space left on device")

    def test_a_closed_pipe_ends_it_quietly(self):
        reader, writer = os.pipe()
        os.close(reader)
        run = self.run_tool("report", "profile.pb.gz", stdout=writer)
        os.close(writer)
        self.assertEqual((run.returncode, run.stderr), (-signal.SIGPIPE, ""))

    def test_ctrl_c_ends_it_and_leaves_no_file(self):
        os.mkfifo(self.dir / "pipe")
        tool = subprocess.Popen(
            [cli.UNSPOOL, "merge", "profile.pb.gz", "pipe", "-o", "sum.pb.gz"],
            cwd=self.dir, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        with open(self.dir / "pipe", "wb"):  # it reads: the first is loaded
            tool.send_signal(signal.SIGINT)
            self.assertEqual(tool.wait(cli.TIMEOUT_SECONDS), -signal.SIGINT)
        self.assertEqual(tool.stderr.read(), b"")
        tool.stderr.close()
        self.assertEqual(sorted(os.listdir(self.dir)),
                         ["pipe", "profile.pb.gz"])


if __name__ == "__main__":
    unittest.main()
