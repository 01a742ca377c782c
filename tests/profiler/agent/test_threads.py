"""The agent and the program's threads."""

import unittest

from test_agent import PERIOD_NS, AgentCase, cpu, pprof_decode, program


class ThreadsTest(AgentCase):
    NAMES = ["default", "own stack", "16 KiB", "exits", "detached"]

    def test_every_thread_is_there_under_its_name(self):
        run = self.profiled([program("thread_kinds"), "400"])
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        profile = pprof_decode.load(self.output)
        for name in self.NAMES:
            of_thread = lambda sample: sample.labels["thread"] == name
            self.assertAlmostEqual(cpu(profile, of_thread), 400e6,
                                   delta=3 * PERIOD_NS, msg=name)
            self.assertEqual(
                len({sample.labels["tid"] for sample in profile.samples
                     if of_thread(sample)}), 1)

    def test_threads_that_begin_otherwise_while_main_waits(self):
        for kind in ("c11", "clone"):
            with self.subTest(kind):
                run = self.profiled([program("late_threads"), kind])
                self.assertEqual((run.returncode, run.stderr), (7, ""))
                profile = pprof_decode.load(self.output)
                late = lambda sample: sample.labels["tid"] != run.pid
                self.assertAlmostEqual(cpu(profile, late), 300e6,
                                       delta=3 * PERIOD_NS)
                found = lambda sample: late(sample) and len(sample.frames) > 1
                self.assertGreater(cpu(profile, found), 250e6)

    def test_threads_that_are_cancelled_at_any_instruction(self):
        for engine in ("perf", "trap", "timer"):
            with self.subTest(engine):
                run = self.profiled([program("cancelled")], FREQUENCY="4000",
                                    ENGINE=engine)
                self.assertEqual((run.returncode, run.stdout),
                                 (7, "cancelled 500\n"), run.stderr)

    def test_our_frames_are_on_no_stack(self):
        self.profiled([program("thread_kinds"), "200"])
        profile = pprof_decode.load(self.output)
        own = 0
        for sample in profile.samples:
            modules = [frame.module for frame in sample.frames]
            self.assertNotIn("libunspool.so", modules)
            if sample.labels["thread"] in self.NAMES:
                # clone3, start_thread, then the program's own routine.
                own += modules[-3:] == ["agent_thread_kinds", "libc.so.6",
                                        "libc.so.6"]
        self.assertGreater(own, 0)


if __name__ == "__main__":
    unittest.main()
