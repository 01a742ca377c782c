"""A recorded program: what it sees, how it ends, what is left."""

import os
import resource
import subprocess
import unittest

import cli


class Ends(cli.Case):

    ROWS = [
        # name, what the program does after its work, status
        ("success", [], 0),
        ("its own status", ["exit", "7"], 7),
        ("its own 127", ["exit", "127"], 127),
        ("SIGTERM", ["raise", "15"], 143),
        ("SIGKILL", ["raise", "9"], 137),
        ("SIGSEGV", ["raise", "11"], 139),
        ("SIGABRT", ["raise", "6"], 134),
    ]

    def check(self, prefix):
        for name, actions, status in self.ROWS:
            with self.subTest(name, prefix=prefix):
                run = self.record(cli.ACT, "spin", "300", *actions,
                                  flags=["-o", "a.pb.gz"], prefix=prefix)
                self.assert_one_line(run, status, "samples, ", "a.pb.gz",
                                     "unspool report a.pb.gz")
                self.assertAlmostEqual(self.cpu_seconds("Spin", "a.pb.gz"),
                                       0.3, delta=0.1)
                os.unlink(self.dir / "a.pb.gz")

    def test_however_it_ends_the_profile_is_whole(self):
        self.check(prefix=[])

    def test_the_same_for_an_ordinary_user(self):
        self.check(prefix=cli.as_nobody())


class Follows(cli.Case):

    def test_exec_in_the_same_process_is_followed(self):
        rows = [
            ("sh -c exec", ["sh", "-c", f"exec {cli.ACT} spin 300"]),
            ("exec twice", [cli.ACT, "spin", "10", "exec", cli.ACT, "exec",
                            cli.ACT, "spin", "300"]),
        ]
        for name, command in rows:
            with self.subTest(name):
                run = self.record(*command)
                self.assert_one_line(run, 0, "samples, ")
                self.assertAlmostEqual(self.cpu_seconds("Spin"), 0.3,
                                       delta=0.1)

    def test_a_program_that_loses_the_agent_is_said_to_be_unprofiled(self):
        run = self.record("env", "-i", cli.ACT, "spin", "200")
        # env itself starts under the agent; what it becomes does not.
        self.assert_one_line(run, 0, "CPU time not profiled")


class Untouched(cli.Case):
    """The program finds what it would find without us."""

    def both(self, *command, **options):
        plain = subprocess.run(command, cwd=self.dir, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, text=True,
                               timeout=cli.TIMEOUT_SECONDS, **options)
        return plain, self.record(*command, **options)

    def test_output_status_and_descriptors(self):
        rows = [
            [cli.ACT, "say", "hello", "fds", "exit", "3"],
            [cli.ACT, "signals"],
        ]
        for command in rows:
            with self.subTest(command):
                plain, run = self.both(*command)
                self.assertEqual((run.returncode, run.stdout),
                                 (plain.returncode, plain.stdout), run.stderr)

    def test_closed_standard_descriptors_stay_closed(self):
        plain, run = self.both("sh", "-c", f"exec {cli.ACT} fds <&-")
        self.assertEqual(run.stdout, plain.stdout)
        shell = (f"exec {cli.UNSPOOL} record -- {cli.ACT} spin 50 fds "
                 "<&- 2>&-")
        run = subprocess.run(["sh", "-c", shell], cwd=self.dir,
                             stdout=subprocess.PIPE, text=True,
                             timeout=cli.TIMEOUT_SECONDS)
        self.assertEqual((run.returncode, run.stdout), (0, "1 \n"))
        self.load()

    def test_ignored_signals_stay_ignored(self):
        shell = "trap '' HUP CHLD USR1; exec "
        plain = subprocess.run(["sh", "-c", f"{shell} {cli.ACT} signals"],
                               stdout=subprocess.PIPE, text=True, check=True)
        run = subprocess.run(
            ["sh", "-c",
             f"{shell} {cli.UNSPOOL} record -- {cli.ACT} signals exit 4"],
            cwd=self.dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, timeout=cli.TIMEOUT_SECONDS)
        self.assertEqual((run.returncode, run.stdout), (4, plain.stdout),
                         run.stderr)

    def test_the_program_finds_its_own_preloads_behind_ours(self):
        env = {"LD_PRELOAD": "libm.so.6"}
        run = self.record(cli.ACT, "env", "LD_PRELOAD", env=env)
        self.assertEqual(run.stdout,
                         os.path.realpath(cli.AGENT) + ":libm.so.6\n")


class Samples(cli.Case):

    def test_duration_ends_sampling_and_the_program_runs_on(self):
        run = self.record(cli.ACT, "spin", "2500", "say", "done",
                          flags=["-d", "1"])
        self.assertEqual((run.returncode, run.stdout), (0, "done\n"),
                         run.stderr)
        self.assertGreater(self.cpu_seconds("Spin"), 0)
        self.assertLess(self.cpu_seconds("Spin"), 1.5)

    def test_a_program_without_cpu_time_leaves_a_valid_profile(self):
        # A first tick comes at random within a period.
        run = self.record("sleep", "0.1", flags=["-F", "1"])
        self.assert_one_line(run, 0, "0 samples", "hardly any CPU time")
        self.assertEqual(self.load().total("samples"), 0)

    def test_frequency_by_flag_and_by_variable(self):
        rows = [
            (["-F", "200"], {}),
            ([], {"UNSPOOL_FREQUENCY": "200"}),
            (["-F", "200"], {"UNSPOOL_FREQUENCY": "20"}),
        ]
        for flags, env in rows:
            with self.subTest(flags=flags, env=env):
                run = self.record(cli.ACT, "spin", "500", flags=flags, env=env)
                self.assert_one_line(run, 0, "timer at 200 Hz")
                self.assertEqual(self.load().period, 5_000_000)

    def test_stacks_keep_to_the_depth_asked_for(self):
        self.record(cli.ACT, "spin", "300", flags=["--max-depth", "1"])
        stacks = {tuple(sample.names) for sample in self.load().samples
                  if "Spin" in sample.names}
        self.assertEqual(stacks, {("Spin", "[truncated: depth]")})


class Audits(cli.Case):

    def test_of_many_stacks_some_are_walked_twice_and_none_differs(self):
        run = self.record(cli.ACT, "spin", "1000", flags=["-F", "10000"])
        self.assertEqual(run.returncode, 0, run.stderr)
        profile = self.load()
        audited = int(profile.facts("audited")[0])
        # One in 1,024 on average, and after 1,597 others at the latest.
        self.assertGreaterEqual(audited,
                                self.summary_samples(run) // 1597)
        self.assertEqual(profile.facts("audit_differs"), ["0"])
        self.assertEqual(f"0 of {audited} audited stacks differ, " in run.stderr,
                         audited > 0, run.stderr)


class Output(cli.Case):

    def test_where_it_cannot_be_written_the_program_is_not_started(self):
        os.mkdir(self.dir / "closed", 0o555)
        os.mkdir(self.dir / "directory")
        (self.dir / "file").touch()
        rows = [
            # output, words
            ("closed/a.pb.gz", ["Permission denied"]),
            ("missing/a.pb.gz", ["No such file"]),
            ("file/a.pb.gz", ["Not a directory"]),
            ("directory", ["Is a directory"]),
        ]
        for output, words in rows:
            with self.subTest(output):
                run = self.record(cli.ACT, "touch", "started",
                                  flags=["-o", output], prefix=cli.as_nobody())
                self.assert_one_line(run, 1, output, "-o", *words)
                self.assertFalse((self.dir / "started").exists())

    def test_an_existing_profile_is_replaced_through_links(self):
        (self.dir / "old").write_text("old")
        (self.dir / "old").chmod(0o640)
        (self.dir / "link").symlink_to("old")
        run = self.record(cli.ACT, flags=["-o", "link"])
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue((self.dir / "link").is_symlink())
        self.load("old")
        self.assertEqual((self.dir / "old").stat().st_mode & 0o777, 0o640)
        self.assertEqual(sorted(os.listdir(self.dir)), ["link", "old"])

    def test_a_link_to_nothing_names_the_profile(self):
        os.mkdir(self.dir / "there", 0o777)
        (self.dir / "link").symlink_to("there/next")
        (self.dir / "there/next").symlink_to("new")
        run = self.record(cli.ACT, flags=["-o", "link"])
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue((self.dir / "there/next").is_symlink())
        self.load("there/new")

    def test_a_pipe_is_written_to_once_it_has_a_reader(self):
        os.mkfifo(self.dir / "pipe")
        tool = subprocess.Popen(
            [cli.UNSPOOL, "record", "-o", "pipe", "--", cli.ACT],
            cwd=self.dir, stderr=subprocess.PIPE, text=True)
        self.assertIn("waiting until somebody reads",
                      tool.stderr.readline())
        (self.dir / "read").write_bytes((self.dir / "pipe").read_bytes())
        self.assertEqual(tool.wait(cli.TIMEOUT_SECONDS), 0)
        tool.stderr.close()
        self.load("read")

    def test_a_pipe_that_nobody_reads_from_can_be_given_up(self):
        os.mkfifo(self.dir / "pipe")
        tool = subprocess.Popen(
            [cli.UNSPOOL, "record", "-o", "pipe", "--", cli.ACT],
            cwd=self.dir, stderr=subprocess.PIPE, text=True)
        tool.stderr.readline()
        tool.terminate()
        _, stderr = tool.communicate(timeout=cli.TIMEOUT_SECONDS)
        self.assertEqual(tool.returncode, 1)
        self.assertIn("nobody read from it; the recording is kept: unspool "
                      "export ./unspool-", stderr)

    def test_without_gzip_where_the_name_says_so(self):
        self.record(cli.ACT, flags=["-o", "a.pb"])
        self.assertNotEqual((self.dir / "a.pb").read_bytes()[:2], b"\x1f\x8b")
        self.record(cli.ACT, flags=["-o", "/dev/null"])

    def test_a_write_that_fails_at_the_end_keeps_the_recording(self):
        # The program removes the directory that was there at the start.
        os.mkdir(self.dir / "gone", 0o777)
        run = self.record("sh", "-c", f"rmdir gone; exec {cli.ACT} spin 300",
                          flags=["-o", "gone/a.pb.gz"])
        self.assert_one_line(run, 1, "gone/a.pb.gz", "unspool export ")
        spool = run.stderr.split("unspool export ")[1].split()[0]
        self.addCleanup(os.unlink, spool)
        run = self.run_tool("export", spool, "-o", "saved.pb.gz")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertAlmostEqual(self.cpu_seconds("Spin", "saved.pb.gz"), 0.3,
                               delta=0.1)

    def test_a_file_size_limit_is_an_error_not_a_crash(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))
        run = self.record(cli.ACT, "say", "ran", preexec_fn=limit)
        self.assert_one_line(run, 1, "ulimit -f", "runs unprofiled")
        self.assertEqual(run.stdout, "ran\n")


class Installed(cli.Case):
    """The tool finds its agent beside itself, or says what is wrong."""

    def install(self, name, with_agent=True):
        root = self.dir / name
        for folder, file in (("bin", cli.UNSPOOL), ("lib", cli.AGENT)):
            os.makedirs(root / folder)
            if folder == "bin" or with_agent:
                data = open(file, "rb").read()
                (root / folder / os.path.basename(file)).write_bytes(data)
        (root / "bin/unspool").chmod(0o755)
        return str(root / "bin/unspool")

    def test_anywhere(self):
        run = self.record(cli.ACT, "spin", "200",
                          unspool=self.install("here"))
        self.assert_one_line(run, 0, "samples, ")

    def test_what_cannot_be_preloaded_is_said_before_the_start(self):
        rows = [
            ("missing", False, ["lib/libunspool.so", "No such file"]),
            ("with space", True, ["LD_PRELOAD", "another directory"]),
            ("with:colon", True, ["LD_PRELOAD", "another directory"]),
        ]
        for name, with_agent, words in rows:
            with self.subTest(name):
                run = self.record(cli.ACT, "touch", "started",
                                  unspool=self.install(name, with_agent))
                self.assert_one_line(run, 1, *words)
                self.assertFalse((self.dir / "started").exists())


if __name__ == "__main__":
    unittest.main()
