"""report and export: formats, bad files, outputs that cannot be written."""

import gzip
import os
import signal
import subprocess
import unittest

import cli


class Views(cli.Case):

    def setUp(self):
        super().setUp()
        self.record_spin()

    def test_report_names_the_costliest_function(self):
        run = self.run_tool("report", "profile.pb.gz")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("Spin", run.stdout)
        counts = self.run_tool("report", "profile.pb.gz", "--value", "samples")
        self.assertEqual(counts.returncode, 0, counts.stderr)
        self.assertNotEqual(counts.stdout, run.stdout)

    def test_the_format_follows_flag_ending_or_default(self):
        report = self.run_tool("report", "profile.pb.gz").stdout
        folded = self.run_tool("export", "profile.pb.gz", "--format",
                               "folded").stdout
        self.assertRegex(folded, r"(?m)^_start;.*;main;.*Spin \d+$")
        rows = [
            # arguments, file or None for stdout, its contents
            ([], None, report),
            (["-o", "-"], None, report),
            (["-o", "a.txt"], "a.txt", report),
            (["-o", "a.folded"], "a.folded", folded),
            (["-o", "other", "--format", "folded"], "other", folded),
        ]
        for arguments, file, expected in rows:
            with self.subTest(arguments):
                run = self.run_tool("export", "profile.pb.gz", *arguments)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                got = run.stdout
                if file is not None:
                    self.assertEqual(got, "")
                    got = self.contents(file).decode()
                self.assertEqual(got, expected)

    def test_pprof_comes_out_as_it_went_in(self):
        before = self.load()
        for name in ("a.pb.gz", "a.pb"):
            with self.subTest(name):
                run = self.run_tool("export", "profile.pb.gz", "-o", name)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                after = self.load(name)
                self.assertEqual(after.samples, before.samples)
                self.assertEqual(self.contents(name)[:2] == b"\x1f\x8b",
                                 name == "a.pb.gz")

    def test_an_unknown_value_is_status_2(self):
        for command in ("report", "export"):
            with self.subTest(command):
                run = self.run_tool(command, "profile.pb.gz", "--value", "heap")
                self.assert_one_line(run, 2, "'heap'", "samples, cpu")


class BadFiles(cli.Case):

    def setUp(self):
        super().setUp()
        self.record_spin()

    def check(self, name, *words):
        for command in ("report", "export"):
            run = self.run_tool(command, name)
            self.assert_one_line(run, 1, name, *words)
            self.assertEqual(run.stdout, "")

    def test_what_is_no_profile_is_status_1_and_one_line(self):
        whole = self.contents("profile.pb.gz")
        plain = gzip.decompress(whole)
        os.mkdir(self.dir / "directory")
        rows = {
            "empty": b"",
            "text": b"#include <stdio.h>\n" * 100,
            "cut-gzip": whole[:len(whole) // 2],
            "cut-plain": plain[:len(plain) // 2],
            "flipped-gzip": whole[:-5] + bytes([whole[-5] ^ 1]) + whole[-4:],
            "gzip-of-text": gzip.compress(b"hello"),
            "binary": open(cli.ACT, "rb").read(),
        }
        for name, data in rows.items():
            with self.subTest(name):
                (self.dir / name).write_bytes(data)
                self.check(name)
        self.check("missing", "No such file")
        self.check("directory")

    def test_spools_of_another_version_cut_or_corrupt(self):
        os.mkdir(self.dir / "gone", 0o777)
        run = self.record("sh", "-c", f"rmdir gone; exec {cli.ACT} spin 200",
                          flags=["-o", "gone/a.pb.gz"])
        spool = run.stderr.split("unspool export ")[1].split()[0]
        self.addCleanup(os.unlink, spool)
        with open(spool, "rb") as file:
            data = file.read(1 << 20)
        rows = {
            "other-version": data[:8] + b"\x09\0\0\0" + data[12:],
            "header-only": data[:4096],
            "half-header": data[:12],
            "no-image": data[:8192] + b"\0" * 8192,
            "garbage": data[:8192] + b"\xff" * 65536,
        }
        for name, content in rows.items():
            with self.subTest(name):
                (self.dir / name).write_bytes(content)
                self.check(name)


class BadOutputs(cli.Case):

    def setUp(self):
        super().setUp()
        self.record_spin()

    def test_a_file_that_cannot_be_written_is_status_1(self):
        rows = [("missing/a.pb.gz", "No such file"), (".", "")]
        for output, words in rows:
            with self.subTest(output):
                run = self.run_tool("export", "profile.pb.gz", "--format",
                                    "pprof", "-o", output)
                self.assert_one_line(run, 1, output, words)

    def test_a_full_or_closed_stdout_is_status_1(self):
        with open("/dev/full", "w") as full:
            run = self.run_tool("report", "profile.pb.gz", stdout=full)
        self.assert_one_line(run, 1, "stdout", "No space left")
        run = subprocess.run(
            ["sh", "-c", f"{cli.UNSPOOL} report profile.pb.gz >&-"],
            cwd=self.dir, stderr=subprocess.PIPE, text=True,
            timeout=cli.TIMEOUT_SECONDS)
        self.assert_one_line(run, 1, "stdout")

    def test_a_reader_that_leaves_early_is_no_error_message(self):
        reader, writer = os.pipe()
        os.close(reader)
        run = self.run_tool(
            "report", "profile.pb.gz", stdout=writer,
            preexec_fn=lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL))
        os.close(writer)
        self.assertEqual((run.returncode, run.stderr), (-signal.SIGPIPE, ""))


if __name__ == "__main__":
    unittest.main()
