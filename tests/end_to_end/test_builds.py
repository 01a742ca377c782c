"""Recordings of process after process, as of make: the memory of those that
ended serves others, and nothing of what they recorded is lost."""

import os
import signal
import subprocess
import time

import harness

CPU_SECONDS = 0.2  # of each process
FRAMES = 800


def spool_bytes(pid):
    """Memory of the recording that `unspool record` keeps."""
    for fd in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{fd}"
        try:
            if os.readlink(path).startswith("/memfd:unspool"):
                return os.stat(path).st_blocks * 512
        except FileNotFoundError:  # closed meanwhile
            continue
    return 0


class ManyProcessesTest(harness.Case):
    """At any rate of ticks: until the recording was seen to become smaller."""

    GIVEN_BACK = 1 << 20

    def start(self):
        self.stop = os.path.join(self.dir, "stop")
        self.usage = os.path.join(self.dir, "usage")
        self.path = os.path.join(self.dir, "record.pb.gz")
        environment = {**os.environ, "E2E_RUSAGE": self.usage}
        tool = subprocess.Popen(
            [harness.UNSPOOL, "record", "-o", self.path, "-F", "1000", "--",
             harness.program("many_stacks"), str(CPU_SECONDS), self.stop],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=environment)
        self.addCleanup(tool.communicate)
        self.addCleanup(self.end)
        return tool

    def end(self):
        open(self.stop, "w").close()

    def await_condensing(self, tool):
        """The largest size until it became smaller."""
        largest = 0
        end = time.monotonic() + 60
        while time.monotonic() < end:
            size = spool_bytes(tool.pid)
            if size < largest - self.GIVEN_BACK:
                return largest
            largest = max(largest, size)
            time.sleep(0.02)
        self.fail(f"the recording only grows: {largest} bytes")

    def check(self, tool):
        out, err = tool.communicate(timeout=harness.RUN_TIMEOUT_SECONDS)
        with open(self.usage) as file:
            run = harness.Run(tool.returncode, out, err, int(file.read()))
        self.load(self.path, run)
        # The program itself knows no names.
        named = os.path.join(self.dir, "named.pb.gz")
        self.unspool("export", self.path, "-o", named)
        profile = self.load(named, run)
        children = int(out)
        self.assertIn("unspool.lost=0", profile.comments)
        works = [sample for sample in profile.samples
                 if "work" in sample.names]
        self.assert_all(works, harness.is_rooted, "rooted")
        self.assert_all(
            [sample for sample in works if sample.names[0] == "leaf"],
            lambda sample: sum(name in ("left", "right")
                               for name in sample.names) == FRAMES,
            f"{FRAMES} frames of left or right")
        by_pid = {}
        for sample in works:
            self.assertEqual(sample.labels["comm"], "many_stacks")
            pid = sample.labels["pid"]
            by_pid[pid] = by_pid.get(pid, 0) + harness.weight(profile, sample)
        self.assertEqual(len(by_pid), children)
        for ns in by_pid.values():
            self.assert_spent(ns, CPU_SECONDS)
        # Each process may have used a period that nobody was there to see.
        self.assertAlmostEqual(profile.total("cpu"), run.cpu_ns,
                               delta=0.02 * run.cpu_ns + children * 10e6)
        return err

    def test_the_recording_stays_small(self):
        tool = self.start()
        largest = self.await_condensing(tool)
        # What three more have recorded, in the pages of those before.
        sizes = []
        for _ in range(30):
            sizes.append(spool_bytes(tool.pid))
            time.sleep(3 * CPU_SECONDS / 30)
        self.end()
        self.assertLess(max(sizes), largest + self.GIVEN_BACK)
        self.assertRegex(self.check(tool), r"\Aunspool: \d+ samples, 0 lost")

    def test_nothing_is_lost_with_the_tool(self):
        tool = self.start()
        self.await_condensing(tool)
        tool.send_signal(signal.SIGKILL)
        self.end()
        self.assertIn("the program itself wrote its profile", self.check(tool))
