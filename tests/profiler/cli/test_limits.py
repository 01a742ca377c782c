"""Resource limits and missing parts of the system: the program's own result is
unchanged, one line says what is missing, and nothing that was recorded is lost."""

import os
import resource
import subprocess
import unittest

import cli
import pprof_decode

SPIN = (cli.ACT, "spin", "300", "say", "done", "exit", "3")
NO_RECORDING = "the program runs unprofiled"


def limit(which, value):
    return lambda: resource.setrlimit(which, (value, value))


def assert_ran(test, run):
    test.assertEqual((run.returncode, run.stdout), (3, "done\n"), run.stderr)


def assert_whole(test, profile):
    """All of the program's CPU time is there, with or without names."""
    test.assertAlmostEqual(
        sum(sample.values[1] for sample in profile.samples), 300e6, delta=30e6)


def preloaded(test, *prefix, output="p.pb.gz", **options):
    """The program with the agent alone."""
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("UNSPOOL_")}
    return subprocess.run(
        [*prefix, "env", "LD_PRELOAD=" + cli.AGENT, "UNSPOOL_OUTPUT=" + output,
         *SPIN], cwd=test.dir, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=cli.TIMEOUT_SECONDS,
        **options)


class Limits(cli.Case):

    def test_limits_under_which_the_profile_is_whole(self):
        rows = (("NOFILE 4", resource.RLIMIT_NOFILE, 4),
                ("MEMLOCK 0", resource.RLIMIT_MEMLOCK, 0),
                ("FSIZE 64 KiB", resource.RLIMIT_FSIZE, 65536),
                ("AS 48 MiB", resource.RLIMIT_AS, 48 << 20),
                ("AS 64 MiB", resource.RLIMIT_AS, 64 << 20),
                ("AS 72 MiB", resource.RLIMIT_AS, 72 << 20),
                ("AS 200 MiB", resource.RLIMIT_AS, 200 << 20))
        for name, which, value in rows:
            with self.subTest(name):
                run = self.record(*SPIN, preexec_fn=limit(which, value))
                assert_ran(self, run)
                self.assert_one_line(run, 3, " 0 lost", "unspool report")
                assert_whole(self, self.load())

    def test_limits_under_which_all_is_named(self):
        assert_ran(self, preloaded(self))
        ordinary_user = {"user": cli.NOBODY, "group": cli.NOBODY,
                         "extra_groups": []} if os.geteuid() == 0 else {}
        rows = (("no thread", resource.RLIMIT_NPROC, 0, ordinary_user),
                ("AS 72 MiB", resource.RLIMIT_AS, 72 << 20, {}),
                ("STACK 64 KiB", resource.RLIMIT_STACK, 65536, {}),
                ("STACK 1 TiB", resource.RLIMIT_STACK, 1 << 40, {}))
        for name, which, value, user in rows:
            with self.subTest(name):
                run = self.run_tool("symbolize", "p.pb.gz", "-o", name + ".pb",
                                    preexec_fn=limit(which, value), **user)
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                self.assertGreater(self.cpu_seconds("main", name + ".pb"), 0.2)

    def test_limits_that_leave_no_recording(self):
        for size in (0, 8192):
            with self.subTest(size):
                run = self.record(*SPIN, preexec_fn=limit(
                    resource.RLIMIT_FSIZE, size))
                assert_ran(self, run)
                self.assert_one_line(run, 3, "ulimit -f", NO_RECORDING)
                run = preloaded(self, preexec_fn=limit(
                    resource.RLIMIT_FSIZE, size))
                assert_ran(self, run)
                self.assert_one_line(run, 3, "ulimit -f", "profiling is off")

    def test_a_program_that_would_succeed_and_has_no_profile_is_status_1(self):
        run = self.record("true", preexec_fn=limit(resource.RLIMIT_FSIZE, 0))
        self.assert_one_line(run, 1, NO_RECORDING)

    def test_no_timers_to_be_had(self):
        for run in (self.record(*SPIN, preexec_fn=limit(
                        resource.RLIMIT_SIGPENDING, 0)),
                    preloaded(self, preexec_fn=limit(
                        resource.RLIMIT_SIGPENDING, 0))):
            assert_ran(self, run)
            self.assertIn("ulimit -i", run.stderr.splitlines()[0])

    def test_a_device_that_takes_nothing(self):
        run = self.record(*SPIN, flags=["-o", "/dev/full"])
        assert_ran(self, run)
        self.assert_one_line(
            run, 3, "unspool: cannot write '/dev/full': No space left on "
            "device; the recording is kept: unspool export ./unspool-")
        kept = run.stderr.split("unspool export ")[1].split()[0]
        self.run_tool("export", kept, "-o", "profile.pb.gz", check=True)
        assert_whole(self, self.load())

    def test_names_of_outputs_are_blamed_on_nobody_in_particular(self):
        run = self.record(*SPIN, flags=["-o", "x%q"])
        self.assert_one_line(run, 2, "unspool: the output x%q is not a file "
                             "name with %p")


@unittest.skipUnless(os.geteuid() == 0, "only root makes mount namespaces")
class Mounts(cli.Case):

    def where(self, mount):
        """Prefix of a command that sees the system after that."""
        return ["unshare", "-m", "sh", "-c", mount + ' && exec "$@"', "sh"]

    def record_in(self, mount):
        return self.record(*SPIN, prefix=self.where(mount))

    def preloaded_in(self, mount, **options):
        return preloaded(self, *self.where(mount), **options)

    def test_no_proc(self):
        mount = "mount -t tmpfs none /proc"
        run = self.record_in(mount)
        assert_ran(self, run)
        self.assert_one_line(run, 3, "mount /proc", NO_RECORDING)
        run = self.preloaded_in(mount)
        assert_ran(self, run)
        self.assertEqual(run.stderr, "")
        # Against pprof_check's rule nobody says what the program is called.
        profile = pprof_decode.load_foreign(str(self.dir / "p.pb.gz"))
        self.assertEqual(profile.mappings[1].filename, "[unknown]")
        assert_whole(self, profile)

    def test_tmpfs_that_is_full_or_not_there(self):
        for mount in ("mount -t tmpfs -o size=4k none /dev/shm",
                      "mount --bind /sys/kernel /dev/shm"):
            with self.subTest(mount):
                run = self.preloaded_in(mount)
                assert_ran(self, run)
                self.assert_one_line(run, 3, "no tmpfs for the recording")
                assert_whole(self, self.load("p.pb.gz"))

    def test_tmpfs_that_becomes_full(self):
        run = self.preloaded_in("mount -t tmpfs -o size=20k none /dev/shm")
        assert_ran(self, run)
        assert_whole(self, self.load("p.pb.gz"))

    def test_folder_that_cannot_be_written(self):
        run = self.preloaded_in("mount -t tmpfs -o ro none /mnt",
                                output="/mnt/p.pb.gz")
        assert_ran(self, run)
        self.assert_one_line(run, 3, "Read-only file system",
                             "profiling is off")


if __name__ == "__main__":
    unittest.main()
