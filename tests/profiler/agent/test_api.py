"""The C and C++ interfaces, from programs that are linked with the agent in
each of its forms, or load it."""

import os
import unittest

from test_agent import (AGENT, PERIOD_NS, UNSPOOL, AgentCase, cpu,
                        pprof_decode, program, spools)


class ApiTest(AgentCase):
    def call(self, form, mode):
        run = self.run_with([program(f"api_{form}"), mode, self.output],
                            preload=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""), mode)
        self.assertEqual(spools(run.pid), [])
        return run

    def both(self):
        for form in ("shared", "static"):
            with self.subTest(form=form):
                yield form

    def test_regions(self):
        for form in self.both():
            self.call(form, "region")
            profile = pprof_decode.load(self.output)
            self.assertAlmostEqual(cpu(profile), 200e6, delta=3 * PERIOD_NS)

    def test_starts_and_stops_leave_nothing(self):
        for form in self.both():
            self.call(form, "loop")

    def test_stop_waits_for_threads_that_are_in_the_handler(self):
        for form in self.both():
            self.call(form, "busy")

    def test_loaded_and_unloaded_at_run_time(self):
        run = self.run_with([program("dlopened"), AGENT, self.output],
                            preload=False)
        self.assertEqual((run.returncode, run.stderr), (7, ""))
        profile = pprof_decode.load(self.output)
        self.assertAlmostEqual(cpu(profile), 600e6, delta=60e6)
        self.check_late_thread(profile)

    def check_late_thread(self, profile):
        index = profile.value_index(profile.default_sample_type)
        late = [sample for sample in profile.samples
                if sample.labels.get("thread") == "late" and
                sample.labels.get("state") != "waiting"]
        self.assertAlmostEqual(sum(sample.values[index] for sample in late),
                               300e6, delta=3 * PERIOD_NS)
        # What it used before it was found has no stack.
        self.assertGreater(sum(sample.values[index] for sample in late
                               if len(sample.frames) > 1), 150e6)

    def test_threads_that_begin_while_main_waits(self):
        for mode in ("late", "late-wall", "late-left"):
            for form in self.both():
                self.call(form, mode)
                self.check_late_thread(pprof_decode.load(self.output))

    def test_refusals(self):
        for form in self.both():
            self.call(form, "errors")

    def test_calls_in_a_program_that_is_sampled_from_its_start(self):
        second = os.path.join(self.dir, "second.pb.gz")
        for form in self.both():
            run = self.run_with([program(f"api_{form}"), "sampled", "unused"],
                                preload=False, OUTPUT=self.output)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            run = self.run_with([UNSPOOL, "record", "-o", second, "--",
                                 program(f"api_{form}"), "sampled", "unused"],
                                preload=False)
            self.assertEqual(run.returncode, 0, run.stderr)
            for path in (self.output, second):
                profile = pprof_decode.load(path)
                self.assertAlmostEqual(cpu(profile), 400e6, delta=3 * PERIOD_NS)

    def test_flush_writes_and_goes_on(self):
        for form in self.both():
            self.call(form, "flush")
            profile = pprof_decode.load(self.output)
            self.assertAlmostEqual(cpu(profile), 400e6, delta=3 * PERIOD_NS)

    def test_child_after_fork_may_start_for_itself(self):
        for form in self.both():
            self.call(form, "fork")
            child = pprof_decode.load(self.output + ".child")
            self.assertAlmostEqual(cpu(child), 300e6, delta=3 * PERIOD_NS)
            parent = pprof_decode.load(self.output)
            self.assertAlmostEqual(cpu(parent), 200e6, delta=3 * PERIOD_NS)

    def test_threads_that_were_there_before(self):
        for form in self.both():
            self.call(form, "threads")
            profile = pprof_decode.load(self.output)
            early = lambda sample: sample.labels["thread"] == "early"
            # Less what it used until it was found, on a busy machine.
            self.assertLess(cpu(profile, early), 300e6 + 3 * PERIOD_NS)
            self.assertGreater(cpu(profile, early), 150e6)

    def test_waits_by_the_wall_clock(self):
        for form in self.both():
            self.call(form, "waits")
            profile = pprof_decode.load(self.output)
            self.assertEqual(profile.default_sample_type, "wall")
            self.assertAlmostEqual(profile.total("wall"), 300e6, delta=60e6)

    def test_the_wall_clock_does_not_keep_a_program_from_its_end(self):
        for form in self.both():
            for mode in ("last", "last-cpu"):
                self.assertEqual(self.call(form, mode).stdout, "the last word")
            pprof_decode.load(self.output)

    def test_cpp_class(self):
        for form in self.both():
            run = self.run_with([program(f"scope_{form}"), self.output],
                                preload=False)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
            profile = pprof_decode.load(self.output)
            self.assertAlmostEqual(cpu(profile), 300e6, delta=3 * PERIOD_NS)


if __name__ == "__main__":
    unittest.main()
