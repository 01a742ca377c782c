"""The flame graph in a browser: what mouse and keys do."""

import flame_page
from browser import SHIFT
from flame_page import MARKUP, STACKS
from pprof_encode import Stack


class FlameMouseTest(flame_page.Case):

    def test_click_zooms_and_back_and_reset_lead_out(self):
        self.open(STACKS)
        self.assertEqual(self.drawn()[:5],
                         ["all", "main", "sort", "compare", "swap"])
        self.browser.click(*self.point(0.3, 2))
        self.assertEqual(self.focused(), "sort")
        self.assertNotIn("read", self.drawn())
        # Now as wide as the window: compare is 5/7 of it.
        self.browser.click(*self.point(0.9, 3))
        self.assertEqual(self.focused(), "swap")
        self.browser.click_on("#back")
        self.wait_for_focus("sort")
        self.browser.evaluate("history.back()")
        self.wait_for_focus("all")
        self.assertIn("read", self.drawn())
        self.browser.click(*self.point(0.6, 3))
        self.assertEqual(self.focused(), "swap")
        self.browser.click_on("#reset")
        self.assertEqual(self.focused(), "all")

    def test_a_click_on_the_zoomed_frame_leads_out_again(self):
        self.open(STACKS)
        self.browser.click(*self.point(0.3, 2))
        self.assertNotIn("read", self.drawn())
        self.browser.click(*self.point(0.3, 2))
        self.assertIn("read", self.drawn())

    def test_double_click_shows_the_callers(self):
        self.open(STACKS)
        self.browser.click(*self.point(0.3, 3), count=2)
        self.assertEqual(self.text("#inverted"), "Callers of compare")
        self.assertEqual(self.drawn(), ["compare", "sort", "main"])

    def test_tooltip_has_times_shares_place_and_module(self):
        self.open(STACKS)
        self.browser.move(*self.point(0.3, 3))
        self.assertEqual(
            self.text("#tooltip"),
            "compare total 500 ms (50.0 %) self 500 ms (50.0 %) "
            "of its caller 71.4 % at compare.c:7 module app")

    def test_names_are_text_whatever_they_hold(self):
        self.open(STACKS)
        self.browser.click(*self.point(0.97, 2))
        self.assertEqual(
            self.browser.evaluate(
                "document.querySelector('#details strong').textContent"), MARKUP)
        self.assertNotEqual(self.browser.evaluate("document.title"), "hit")
        self.assertEqual(self.browser.evaluate("document.images.length"), 0)

    def test_functions_are_listed_and_lead_to_their_callers(self):
        self.open(STACKS[:3])
        self.browser.click_on("#functions")
        self.assertEqual(
            self.text("#table"),
            "Function Self Total compare 52.6 % 52.6 % read 26.3 % 26.3 % "
            "swap 21.1 % 21.1 % main 0.00 % 100.0 % sort 0.00 % 73.7 %")
        self.browser.click_on("#table tr:nth-child(3) td button")
        self.assertEqual(self.text("#inverted"), "Callers of swap")

    def test_frames_too_small_to_draw_are_one_with_the_exact_sum(self):
        self.open([Stack(("main", "big"), 900_000)] +
                  [Stack(("main", f"tiny{i}"), 500) for i in range(4000)])
        self.browser.move(*self.point(0.6, 2))
        self.assertIn("4,000 frames too small to draw together 2000 s (69.0 %)",
                      self.text("#tooltip"))
        self.assertEqual(self.drawn(), ["all", "main", "big"])


class FlameKeysTest(flame_page.Case):

    def test_arrows_enter_and_escape(self):
        self.open(STACKS)
        for key, expected in [
                ("ArrowDown", "main"), ("ArrowDown", "sort"),
                ("ArrowRight", "read"), ("ArrowLeft", "sort"),
                ("ArrowDown", "compare"), ("ArrowRight", "swap"),
                ("ArrowUp", "sort"), ("Enter", "sort"), ("Home", "all"),
                ("End", "compare"), ("Escape", "all")]:
            self.browser.key(key)
            self.wait_for_focus(expected)
        self.browser.key("i")  # a flame: what is called stands above
        self.browser.key("ArrowUp")
        self.assertEqual(self.focused(), "main")

    def test_callers_of_the_focused_function(self):
        self.open([Stack(("main", "a", "f", "f"), 300),
                   Stack(("main", "b", "f"), 100), Stack(("main", "b"), 600)])
        self.browser.key("/")
        self.browser.type("f")
        self.browser.key("Enter")
        self.assertEqual(self.focused(), "f")
        self.browser.key("Escape")
        self.browser.key("Tab")
        self.browser.evaluate("document.getElementById('graph').focus()")
        self.browser.key("c")
        # A stack in which it calls itself counts once.
        self.assertIn("through here 400 ms (40.0 %)", self.text("#details"))
        self.browser.key("ArrowDown")
        self.assertEqual(self.focused(), "a")
        self.assertIn("300 ms", self.text("#details"))
        self.browser.key("ArrowRight")
        self.assertEqual(self.focused(), "b")
        self.assertIn("100 ms", self.text("#details"))
        self.browser.key("Escape")
        self.browser.wait("document.getElementById('inverted').hidden")

    def test_search_counts_a_stack_once_and_goes_from_match_to_match(self):
        self.open([Stack(("main", "find", "find_in"), 300),
                   Stack(("main",), 700)])
        self.browser.key("/")
        self.browser.type("FIND")
        self.assertEqual(self.text("#matched"), "30.0 % matched")
        for modifiers, expected in [(0, "find"), (0, "find_in"),
                                    (SHIFT, "find")]:
            self.browser.key("Enter", modifiers)
            self.assertEqual(self.focused(), expected)
        self.browser.key("Escape")
        self.assertEqual(self.text("#matched"), "")
        for query, answer in [("/^find_/", "30.0 % matched"),
                              ("nothing", "0.00 % matched"),
                              ("/(/", "not a regular expression")]:
            self.browser.type(query)
            self.assertEqual(self.text("#matched"), answer)
            self.browser.key("Escape")

    def test_matches_have_a_colour_of_their_own(self):
        self.open(STACKS)
        before = [self.colour(x, 2) for x in (0.3, 0.8)]
        self.browser.key("/")
        self.browser.type("sort")
        match, other = [self.colour(x, 2) for x in (0.3, 0.8)]
        self.assertNotEqual(match, before[0])
        self.browser.key("Escape")
        self.assertEqual([self.colour(x, 2) for x in (0.3, 0.8)], before)
        # Pink, and the others paler than they were.
        self.assertGreater(match[0] - match[1], 60)
        self.assertGreater(sum(other), sum(before[1]))

    def test_help_functions_and_reset_have_keys(self):
        self.open(STACKS)
        self.browser.key("?")
        self.assertTrue(self.browser.evaluate(
            "document.getElementById('keys').open"))
        self.browser.key("Escape")
        self.assertFalse(self.browser.evaluate(
            "document.getElementById('keys').open"))
        self.browser.key("f")
        self.assertIn("compare", self.text("#table"))
        self.browser.key("f")
        self.assertTrue(self.browser.evaluate(
            "document.getElementById('table').hidden"))
        self.browser.key("End")
        self.browser.key("Enter")
        self.assertNotIn("read", self.drawn())
        self.browser.key("0")
        self.assertIn("read", self.drawn())

    def test_all_controls_are_reached_by_tab(self):
        self.open(STACKS)
        reached = []
        for _ in range(12):
            self.browser.key("Tab")
            reached.append(
                self.browser.evaluate("document.activeElement.id"))
        for control in ("search", "reset", "flame", "icicle", "thread",
                        "callers", "functions", "theme", "help", "graph"):
            self.assertIn(control, reached)
