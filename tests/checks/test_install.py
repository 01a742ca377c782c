"""What `cmake --install` puts in place works from there, and a user's project
finds it. UNSPOOL_BUILD_DIR names the build directory."""

import os
import pathlib
import subprocess
import tempfile
import unittest

BUILD = os.environ["UNSPOOL_BUILD_DIR"]
CONSUMER = pathlib.Path(__file__).resolve().parent / "consumer"


class Install(unittest.TestCase):

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = pathlib.Path(directory.name)
        self.prefix = self.root / "prefix"
        self.run_ok("cmake", "--install", BUILD, "--prefix", self.prefix)

    def run_ok(self, *command):
        run = subprocess.run(command, cwd=self.root, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, timeout=100)
        self.assertEqual(run.returncode, 0, run.stdout)
        return run.stdout

    def test_the_installed_tool_records_and_reports(self):
        unspool = self.prefix / "bin/unspool"
        self.run_ok(unspool, "record", "--", "sh", "-c",
                    "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done")
        self.assertIn("libc", self.run_ok(unspool, "export", "profile.pb.gz",
                                          "--format", "folded"))

    def test_a_users_project_finds_the_agent(self):
        self.run_ok("cmake", "-S", CONSUMER, "-B", "build",
                    f"-DCMAKE_PREFIX_PATH={self.prefix}")
        self.run_ok("cmake", "--build", "build")
        for name in ("dynamic_app", "static_app"):
            with self.subTest(name):
                profile = f"{name}.pb.gz"
                self.assertEqual(self.run_ok(f"build/{name}", profile), "0 0\n")
                report = self.run_ok(self.prefix / "bin/unspool", "report",
                                     profile)
                self.assertIn("Region", report)


if __name__ == "__main__":
    unittest.main()
