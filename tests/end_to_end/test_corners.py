"""Allocators beside us, memory that was there a moment ago, stacks with little
room: nothing may crash, hang or be told wrongly."""

import os
import re

import harness

LIBRARIES = "/usr/lib/x86_64-linux-gnu"


def samples_in(run, function):
    return [sample for sample in run.profile.samples
            if function in sample.names]


class DL02OtherAllocatorsTest(harness.Case):
    """tcmalloc and jemalloc with their own heap sampling, which unwinds and asks
    the loader inside malloc; before us and after us."""

    def check(self, allocator, setting):
        other = os.path.join(LIBRARIES, allocator)
        for order in (f"{harness.AGENT}:{other}", f"{other}:{harness.AGENT}"):
            with self.subTest(order):
                run = self.preload(
                    ["env", f"{setting}", harness.program("exception_storm"),
                     "0.7"], frequency=4000, agent=order)
                self.assertEqual(run.status, 0, run.stderr)
                counts = re.match(rb"thrown (\d+) caught (\d+)", run.stdout)
                self.assertEqual(counts[1], counts[2])
                inside = [sample for sample in run.profile.samples
                          if any(frame.module.startswith(allocator)
                                 for frame in sample.frames)]
                self.assertTrue(inside, "the allocator was not in use")

    def test_tcmalloc(self):
        self.check("libtcmalloc.so.4", f"HEAPPROFILE={self.dir}/heap")

    def test_jemalloc(self):
        self.check("libjemalloc.so.2",
                   "MALLOC_CONF=prof:true,prof_active:true,lg_prof_sample:12")


class DL04AllocatorBootstrapTest(harness.Case):
    """An allocator whose first call comes before anything is set up, and asks
    the loader and throws."""

    def test_main_is_reached_in_either_order(self):
        other = harness.program("liballocator_bootstrap.so")
        for order in (f"{harness.AGENT}:{other}", f"{other}:{harness.AGENT}"):
            with self.subTest(order):
                run = self.preload([harness.program("exception_storm"), "0.3"],
                                   agent=order)
                self.assertEqual(run.status, 0, run.stderr)
                self.assertIn(b"thrown ", run.stdout)


class CR03NestedUnwinderTest(harness.Case):
    """The program takes backtraces of its own all the time."""

    def test_both_are_right(self):
        run = self.record([harness.program("backtraces"), "1"], frequency=4000)
        match = re.fullmatch(rb"taken (\d+) wrong 0\n", run.stdout)
        self.assertTrue(match and int(match[1]) > 1000, run.stdout)
        inside = [sample for sample in run.profile.samples
                  if "take" in sample.names]
        self.assert_all(inside, harness.is_rooted, "rooted")
        # 21 activations of the recursion below each.
        self.assert_all(inside, lambda sample:
                        sample.names.count("descend") == 21, "whole")


class CR04StaleMemoryTest(harness.Case):
    """CFI that leads into a stack that is gone."""

    def test_no_fault_and_the_stacks_say_so(self):
        for record in (self.record, self.preload):
            run = record([harness.program("stale_stacks")], frequency=4000)
            self.assertEqual((run.status, run.stdout), (0, b"done\n"),
                             run.stderr)
            for leaf in ("spin_cfa_in_rbx", "spin_rbp_from_rbx"):
                self.assert_sampled(run.profile, samples_in(run, leaf), leaf)


class CR05GuardPageTest(harness.Case):
    """A frame pointer into the guard page above a thread's stack."""

    def test_guard_page_is_no_frame(self):
        run = self.record([harness.program("stale_stacks")], frequency=4000)
        inside = [sample for sample in run.profile.samples
                  if sample.names[0] == "spin_without_cfi"]
        self.assertTrue(inside)
        self.assert_all(inside, lambda sample: sample.names[:2] == [
            "spin_without_cfi", "spin_below_guard"] and
            sample.labels.get("unwind") == "guessed", "found by its code")
        self.assert_all(inside, harness.is_rooted, "rooted")


class CR08LittleRoomTest(harness.Case):
    def test_every_stack_is_sampled(self):
        run = self.record([harness.program("small_threads")], frequency=4000)
        self.assertEqual((run.status, run.stdout), (0, b"done\n"), run.stderr)
        for function in ("in_smallest_thread", "in_fiber", "in_fault_handler"):
            self.assert_sampled(run.profile, samples_in(run, function),
                                function)
        # Where the alternate stack has no room for us the time is told.
        beside = sum(harness.weight(run.profile, sample)
                     for sample in run.profile.samples
                     if "beside_small_alternate" in sample.names or
                     sample.names[0].startswith("[lost: no-stack"))
        self.assertGreater(beside, 0.15 * run.cpu_ns)
        self.assertAlmostEqual(run.profile.total("cpu") / run.cpu_ns, 1,
                               delta=0.03)


class CR09DynamicTlsTest(harness.Case):
    """The agent is loaded late; threads with thread-local constructors come by
    the thousand."""

    def test_no_thread_needs_what_it_has_not(self):
        path = os.path.join(self.dir, "late.pb.gz")
        run = self.run_plain(["env", f"UNSPOOL_OUTPUT={path}",
                              "UNSPOOL_FREQUENCY=4000", "UNSPOOL_START=off",
                              harness.program("thread_churn"), "3",
                              harness.AGENT])
        self.assertEqual(run.status, 0, run.stderr)
        started = int(re.match(rb"started (\d+) interrupted 0\n",
                               run.stdout)[1])
        self.assertGreater(started, 1000)
        profile = self.load(path, run)
        self.assert_sampled(profile, profile.samples)
