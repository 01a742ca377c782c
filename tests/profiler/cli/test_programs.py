"""Programs that cannot run, or run but cannot be profiled."""

import os
import shutil
import unittest

import cli


class Unrunnable(cli.Case):

    def make(self, name, content=b"", mode=0o755):
        path = self.dir / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode)
        return path

    def test_each_has_its_status_and_one_line(self):
        self.make("plain", b"x", 0o644)
        self.make("bad-interpreter", b"#!/nowhere/sh\n")
        self.make("weak-interpreter", b"#!plain\n")
        # Says that it is for x86-64, and ends there.
        self.make("bad-elf", b"\x7fELF\2\1\1" + b"\0" * 9 + b"\2\0\x3e\0")
        self.make("loop", b"#!" + bytes(self.dir / "loop") + b"\n")
        self.make("dir-in-path/hidden", b"x", 0o644)
        os.mkdir(self.dir / "directory")
        os.mkfifo(self.dir / "fifo", 0o777)
        rows = [
            # command, status, words
            ("no-such-program", 127, ["no-such-program", "PATH"]),
            ("./no-such-program", 127, ["No such file"]),
            ("plain/no-such-program", 127, ["Not a directory"]),
            ("./plain", 126, ["Permission denied"]),
            ("./directory", 126, ["Is a directory"]),
            ("./fifo", 126, ["Permission denied"]),
            ("./bad-interpreter", 126, ["/nowhere/sh", "does not exist"]),
            ("./weak-interpreter", 126, ["plain", "Permission denied"]),
            ("./bad-elf", 126, ["bad-elf"]),
            ("./loop", 126, ["loop"]),
            ("hidden", 126, ["dir-in-path/hidden", "Permission denied"]),
        ]
        env = {"PATH": f"{self.dir}/dir-in-path:{self.dir}/directory"}
        for command, status, words in rows:
            with self.subTest(command):
                run = self.record(command, env=env, prefix=cli.as_nobody())
                self.assert_one_line(run, status, *words)
                self.assertFalse((self.dir / "profile.pb.gz").exists())


class PathSearch(cli.Case):

    def test_a_program_is_found_as_execvp_would(self):
        os.mkdir(self.dir / "first")
        os.mkdir(self.dir / "first" / "tool")
        os.mkdir(self.dir / "second")
        shutil.copy(cli.ACT, self.dir / "second" / "tool")
        shutil.copy(cli.ACT, self.dir / "here")
        rows = [
            # PATH, command
            ("first:second", "tool"),  # passes over the directory
            ("/nowhere:second", "tool"),
            ("second:", "here"),  # an empty entry is the current directory
            (":second", "here"),
        ]
        for path, command in rows:
            with self.subTest(path=path, command=command):
                run = self.record(command, "say", "ran", env={"PATH": path})
                self.assertEqual((run.returncode, run.stdout), (0, "ran\n"),
                                 run.stderr)

    def test_a_text_without_an_interpreter_is_run_by_the_shell(self):
        script = self.dir / "script"
        script.write_text('echo "$0 $1"; exit 5\n')
        script.chmod(0o755)
        run = self.record("./script", "argument")
        self.assertEqual((run.returncode, run.stdout),
                         (5, "./script argument\n"), run.stderr)


class Unprofilable(cli.Case):

    def check(self, command, words, prefix=()):
        """The line names the alternative; the program's own status counts."""
        run = self.record(*command, "exit", "0", prefix=prefix)
        self.assert_one_line(run, 1, "unprofiled", *words)
        self.assertFalse((self.dir / "profile.pb.gz").exists())
        run = self.record(*command, "say", "ran", "exit", "7", prefix=prefix)
        self.assertEqual((run.returncode, run.stdout), (7, "ran\n"), run.stderr)

    def test_static_and_musl_programs_run_unprofiled(self):
        rows = [
            ("act_static", ["libunspool.a", "unspool_start()"]),
            ("act_static_pie", ["libunspool.a", "unspool_start()"]),
            ("act_musl", ["musl", "glibc"]),
        ]
        for name, words in rows:
            with self.subTest(name):
                self.check([str(cli.PROGRAMS / name)], words)

    def test_a_32_bit_program_runs_unprofiled(self):
        run = self.record(cli.PROGRAMS / "spin32")
        self.assert_one_line(run, 1, "spin32", "unprofiled", "64-bit")

    def test_a_set_user_id_program_runs_unprofiled(self):
        # As an ordinary user: su is set-user-ID root on every Debian.
        su = shutil.which("su")
        run = self.run_tool("record", "--", su, "--version",
                            prefix=cli.as_nobody())
        self.assert_one_line(run, 1, "su", "unprofiled", "privilege")
        self.assertIn("su ", run.stdout)

    def test_a_script_is_judged_by_its_interpreter(self):
        script = self.dir / "script"
        script.write_text(f"#!{cli.PROGRAMS / 'act_static'} say\n")
        script.chmod(0o755)
        run = self.record("./script")
        self.assert_one_line(run, 1, "act_static", "unprofiled")


if __name__ == "__main__":
    unittest.main()
