"""What the command line refuses, and that nothing was started then."""

import unittest

import cli


class Usage(cli.Case):

    ROWS = [
        # name, arguments, words of the line
        ("no command", [], ["no command", "record, report, export"]),
        ("unknown command", ["recrod"], ["unknown command 'recrod'", "--help"]),
        ("command of later", ["serve"], ["unknown command 'serve'"]),
        ("unknown flag", ["record", "--wall"], ["--wall", "record --help"]),
        ("flag of later", ["record", "--timeline"], ["--timeline"]),
        ("unknown flag before the command", ["--fast"], ["--fast", "--help"]),
        ("no program", ["record"], ["no program", "--"]),
        ("nothing after --", ["record", "--"], ["no program"]),
        ("program without --", ["record", cli.ACT], [cli.ACT, "--"]),
        ("flag without value", ["record", "-F"], ["--frequency"]),
        ("report without file", ["report"], ["FILE", "report --help"]),
        ("report with two files", ["report", "a", "b"], ["b"]),
        ("the first that is too much", ["report", "a", "-n", "5"],
         ["unexpected '-n': see 'unspool report --help'"]),
        ("no number of rows", ["report", "a", "--nodecount", "few"],
         ["--nodecount", "'few'"]),
        ("two views", ["report", "a", "--tree", "--list", "f"],
         ["--list", "--tree"]),
        ("a list as JSON", ["report", "a", "--list", "f", "--json"],
         ["--json", "--list"]),
        ("export without file", ["export"], ["FILE", "export --help"]),
        ("diff of one", ["diff", "a"], ["FILE", "diff --help"]),
        ("merge of none", ["merge", "-o", "a"], ["FILE", "merge --help"]),
        ("merge without output", ["merge", "a"], ["--output"]),
        ("symbolize to text", ["symbolize", "a", "-o", "a.txt"],
         ["'a.txt'", "unspool export"]),
        ("unknown format", ["export", "a", "--format", "xml"],
         ["'xml'", "--format", "pprof, folded, html, svg or text"]),
        ("format of later", ["export", "a", "-o", "a.json"],
         ["'a.json'", ".folded"]),
        ("control characters", ["re\ncord"], ["'re?cord'"]),
    ]

    def test_a_bad_command_line_is_status_2_and_one_line(self):
        for name, arguments, words in self.ROWS:
            with self.subTest(name):
                self.assert_one_line(self.run_tool(*arguments), 2, *words)


class RecordValues(cli.Case):

    ROWS = [
        # flag, variable, bad value, words of the line
        ("-F", "UNSPOOL_FREQUENCY", "0", ["1 to 10000"]),
        ("-F", "UNSPOOL_FREQUENCY", "10001", ["1 to 10000"]),
        ("-F", "UNSPOOL_FREQUENCY", "-5", ["1 to 10000"]),
        ("-F", "UNSPOOL_FREQUENCY", "1e3", ["1 to 10000"]),
        ("-F", "UNSPOOL_FREQUENCY", "99999999999999999999", ["1 to 10000"]),
        ("-F", "UNSPOOL_FREQUENCY", "fast", ["'fast'"]),
        ("--max-depth", "UNSPOOL_MAX_DEPTH", "0", ["whole number"]),
        ("--engine", "UNSPOOL_ENGINE", "ring", ["auto", "trap"]),
        ("--clock", "UNSPOOL_CLOCK", "sun", ["cpu", "wall"]),
        ("-o", "UNSPOOL_OUTPUT", "-", ["stdout"]),
        ("-o", "UNSPOOL_OUTPUT", "a.folded", ["unspool export"]),
        ("-d", None, "0", ["seconds"]),
        ("-d", None, "-1", ["seconds"]),
        ("-d", None, "nan", ["seconds"]),
        ("-d", None, "1e400", ["seconds"]),
        ("-d", None, "5m", ["seconds"]),
    ]

    def check(self, run, name, value, words):
        self.assert_one_line(run, 2, name, value, *words)
        self.assertFalse((self.dir / "started").exists())

    def test_a_bad_value_is_status_2_and_the_program_is_not_started(self):
        for flag, variable, value, words in self.ROWS:
            with self.subTest(flag=flag, value=value):
                self.check(self.record(cli.ACT, "touch", "started",
                                       flags=[flag, value]),
                           flag, value, words)
            if variable is None:
                continue
            with self.subTest(variable=variable, value=value):
                self.check(self.record(cli.ACT, "touch", "started",
                                       env={variable: value}),
                           variable, value, words)

    def test_a_good_flag_beats_a_bad_variable(self):
        run = self.record(cli.ACT, "touch", "started", flags=["-F", "50"],
                          env={"UNSPOOL_FREQUENCY": "fast"})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue((self.dir / "started").exists())


class Help(cli.Case):

    def test_help_names_every_flag_and_nothing_of_later(self):
        rows = [
            (["--help"], ["record", "report", "export", "--version"]),
            (["help"], ["record", "report", "export", "--version"]),
            (["help", "merge"], ["merge FILE... -o OUT", "-o"]),
            (["record", "--help"],
             ["record [OPTIONS] -- COMMAND", "-o", "-F", "-d", "--engine",
              "--clock", "--max-depth", "Exit status"]),
            (["report", "--help"],
             ["report [OPTIONS] FILE", "--value", "--tree", "--lines",
              "--callers", "--list", "--thread", "--focus", "--ignore",
              "--json", "--tagfocus", "--nodecount"]),
            (["merge", "--help"], ["merge FILE... -o OUT", "-o"]),
            (["diff", "--help"], ["diff [OPTIONS] BASE FILE", "-o"]),
            (["symbolize", "--help"], ["symbolize FILE -o OUT", "-o"]),
            (["cfi", "--help"], ["cfi [OPTIONS] FILE", "--pc", "--raw"]),
            (["export", "--help"], ["-o", "--format", "--value", ".folded"]),
        ]
        for arguments, words in rows:
            with self.subTest(arguments):
                run = self.run_tool(*arguments)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                for word in words:
                    self.assertIn(word, run.stdout)
                for later in ("timeline",):
                    self.assertNotIn(later, run.stdout)

    def test_version(self):
        run = self.run_tool("--version")
        self.assertEqual(run.returncode, 0)
        self.assertRegex(run.stdout, r"^unspool \d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
