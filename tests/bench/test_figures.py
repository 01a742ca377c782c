"""Intervals, verdicts and plots of bench/, from given figures."""

import math
import os
import sys
import unittest
import xml.etree.ElementTree

ROOT = os.path.join(os.path.dirname(__file__), "../..")
sys.path[:0] = [os.path.join(ROOT, "bench"), os.path.join(ROOT, "bench/growth")]
import goals  # noqa: E402
import paired  # noqa: E402
import plot  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


class Interval(unittest.TestCase):

    def test_is_students_of_95_percent(self):
        # Mean 3, s = sqrt(2.5), t(4) = 2.78: ± 2.78 * sqrt(2.5 / 5).
        mean, low, high = paired.interval([1, 2, 3, 4, 5])
        self.assertEqual(mean, 3)
        self.assertAlmostEqual(low, 3 - 1.96575, places=4)
        self.assertAlmostEqual(high, 3 + 1.96575, places=4)

    def test_uses_the_wider_t_between_the_tables_rows(self):
        self.assertEqual(paired.t95(10), paired.t95(9))
        self.assertEqual(paired.t95(1000), paired.t95(29))

    def test_of_ratios_is_geometric(self):
        ratio, low, high = paired.ratio_of([(2, 1), (1, 2), (2, 1), (1, 2)])
        self.assertAlmostEqual(ratio, 1)
        self.assertAlmostEqual(low * high, 1)
        self.assertGreater(high, 1)


class Verdict(unittest.TestCase):

    def test_is_met_at_the_limit_and_missed_beyond(self):
        for value, at_least, verdict in ((1.0, False, "met"),
                                         (1.01, False, "missed"),
                                         (1.0, True, "met"),
                                         (0.99, True, "missed")):
            goal = goals.Goal("x", "", 1.0, at_least=at_least, value=value)
            self.assertEqual(goal.verdict(), verdict, value)

    def test_is_open_where_the_interval_holds_the_limit(self):
        def verdict(*ends):
            return goals.Goal("x", "", 1.0, value=sum(ends) / 2,
                              interval=ends).verdict()
        self.assertEqual(verdict(0.9, 1.2), "open: 0.9 .. 1.2")
        self.assertEqual(verdict(0.8, 0.9), "met")
        self.assertEqual(verdict(1.1, 1.2), "missed")

    def test_names_the_command_that_would_measure(self):
        self.assertEqual(goals.Goal("x", "", 1, command="do this").verdict(),
                         "not measured: do this")

    def test_a_wrong_walker_gives_no_ratio(self):
        self.assertIsNone(goals.ratio({"unspool": 1.0, "libgcc": "wrong"},
                                      "libgcc"))
        self.assertEqual(goals.ratio({"unspool": 1.0, "libgcc": 4.0}, "libgcc"),
                         0.25)

    def test_every_goal_can_do_without_results(self):
        found = [goal for make in (goals.walk_goals, goals.cold_goals,
                                   goals.program_goals, goals.start_stop_goals,
                                   goals.harm_goals, goals.name_goals)
                 for goal in make(None)]
        self.assertGreater(len(found), 20)
        for goal in found:
            self.assertIn("scripts/bench ", goal.verdict(), goal.what)


class Plot(unittest.TestCase):

    def draw(self, series, title="title"):
        return xml.etree.ElementTree.fromstring(
            plot.svg(title, "threads", "ns", series))

    def test_has_a_dot_for_each_figure_higher_up_for_more(self):
        dots = list(self.draw({"a": [(1, 10), (10, 40), (100, 20)]})
                    .iter(SVG + "circle"))
        places = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in dots]
        self.assertEqual(len(places), 3)
        self.assertLess(places[0][0], places[1][0])
        self.assertAlmostEqual(places[1][0] - places[0][0],
                               places[2][0] - places[1][0], places=0)
        self.assertLess(places[1][1], places[2][1])
        self.assertLess(places[2][1], places[0][1])

    def test_escapes_what_it_is_given(self):
        root = self.draw({"a<b&c": [(1, 1)]}, "x < y")
        texts = [text.text for text in root.iter(SVG + "text")]
        self.assertIn("a<b&c", texts)
        self.assertIn("ns: x < y", texts)

    def test_steps_are_round_and_not_too_many(self):
        for highest in (0.013, 0.9, 1, 7, 80, 999, 1001, 5e6):
            step = plot.nice_step(highest)
            self.assertIn(f"{step:e}"[0], "125", highest)
            self.assertLessEqual(math.ceil(highest / step), 8, highest)
            self.assertGreater(highest / step, 3, highest)


if __name__ == "__main__":
    unittest.main()
