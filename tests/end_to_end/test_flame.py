"""The flame graph in a browser: what it shows, and what mouse and keys do."""

import os

import flame_page
import pprof_encode
from browser import SHIFT
from pprof_encode import Frame, Stack

MARKUP = "</script><img src=x onerror=document.title='hit'>\u2028\"'"
STACKS = [
    Stack(("main", "sort", "compare"), 500, "one"),
    Stack(("main", "sort", "swap"), 200, "two"),
    Stack(("main", "read"), 250, "one"),
    Stack(("main", MARKUP), 50, "two"),
]


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
                ("ArrowUp", "main"), ("ArrowUp", "sort"),
                ("ArrowRight", "read"), ("ArrowLeft", "sort"),
                ("ArrowUp", "compare"), ("ArrowRight", "swap"),
                ("ArrowDown", "sort"), ("Enter", "sort"), ("Home", "all"),
                ("End", "compare"), ("Escape", "all")]:
            self.browser.key(key)
            self.wait_for_focus(expected)
        self.browser.key("i")  # an icicle: what is called lies below
        self.browser.key("ArrowDown")
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
        self.browser.key("ArrowUp")
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


class FlameViewsTest(flame_page.Case):

    def test_threads_one_by_one_and_apart(self):
        self.open(STACKS)
        self.choose_thread("two")
        self.assertIn("total 250 ms (25.0 %)", self.text("#details"))
        self.assertEqual(self.drawn()[:4], ["all", "main", "sort", "swap"])
        self.choose_thread("Each")
        self.assertEqual(self.drawn()[:3], ["all", "one", "main"])
        self.browser.key("ArrowUp")
        self.assertIn("total 750 ms (75.0 %)", self.text("#details"))
        self.browser.key("ArrowRight")
        self.assertEqual(self.focused(), "two")

    def test_it_is_a_tree_to_a_screen_reader(self):
        self.open(STACKS)
        self.browser.key("ArrowUp")
        self.browser.key("ArrowUp")
        items = self.browser.evaluate(
            "[...document.querySelectorAll('[role=treeitem]')]"
            ".map(i => i.textContent)")
        self.assertEqual([item.split(",")[0] for item in items[:5]],
                         ["all", "main", "sort", "compare", "swap"])
        self.assertIn("total 500 ms (50.0 %)", items[3])
        roles = [node["role"]["value"] for node in self.browser.accessibility()]
        self.assertIn("tree", roles)
        self.assertEqual(roles.count("treeitem"), len(items))
        self.assertEqual(
            self.browser.evaluate("document.querySelector('[aria-selected=true]').id"),
            self.browser.evaluate("document.getElementById('graph')"
                                  ".getAttribute('aria-activedescendant')"))

    def test_what_is_no_ordinary_code_has_a_sign_and_a_legend(self):
        self.open([
            Stack(("main", Frame("small", inlined=True)), 100),
            Stack(("main", Frame("do_syscall_64", "[kernel.kallsyms]")), 90),
            Stack(("main", "maybe"), 80, guessed=True),
            Stack(("[truncated: depth]", "deep"), 70),
            Stack(("[unsampled]",), 60),
        ])
        for name in ["↳ small", "◆ do_syscall_64", "? maybe",
                     "✂ [truncated: depth]", "∅ [unsampled]"]:
            self.assertIn(name, self.drawn())
        legend = self.text("#legend")
        for text in ["↳ inlined", "◆ kernel", "? guessed", "✂ cut short",
                     "∅ stack unknown"]:
            self.assertIn(text, legend)

    def test_it_fits_narrow_and_wide_windows_in_both_themes(self):
        for width, height, dark in [(400, 700, False), (3840, 2160, True)]:
            self.open(STACKS, width=width, height=height, dark=dark)
            self.assertLessEqual(self.browser.evaluate(
                "document.documentElement.scrollWidth"), width)
            self.assertIn("compare", self.drawn())
            paper = self.colour(0.9, 6)
            self.assertEqual(sum(paper) < 384, dark)
            self.browser.key("t")
            self.assertEqual(sum(self.colour(0.9, 6)) < 384, not dark)

    def test_text_grows_with_the_window(self):
        sizes = []
        for width in (400, 1280, 3840):
            self.open(STACKS, width=width)
            sizes.append(self.browser.evaluate(
                "parseFloat(document.getElementById('canvas')"
                ".getContext('2d').font)"))
        self.assertGreaterEqual(sizes[0], 12)
        self.assertLess(sizes[1], sizes[2])

    def test_deep_stacks_scroll(self):
        self.open([Stack(tuple(f"f{i}" for i in range(300)), 10)])
        self.assertIn("f0", self.drawn())
        self.assertNotIn("f299", self.drawn())
        self.browser.key("End")
        self.assertIn("f299", self.drawn())
        self.assertNotIn("f0", self.drawn())


class FlameDifferenceTest(flame_page.Case):
    """Two runs, the second twice as long."""

    BEFORE = [Stack(("main", "old"), 300), Stack(("main", "same"), 100)]
    AFTER = [Stack(("main", "new"), 600), Stack(("main", "same"), 200)]

    def test_figures_are_of_the_runs_and_shares_of_each(self):
        self.open(self.AFTER, base=self.BEFORE)
        self.assertIn("400 ms → 800 ms cpu, each as 100 %", self.text("#facts"))
        self.browser.key("/")
        for name, figures in [
                ("new", "before 0 ns (0.00 %) after 600 ms (75.0 %) "
                 "change +75.0 % self change +75.0 %"),
                ("old", "before 300 ms (75.0 %) after 0 ns (0.00 %) "
                 "change −75.0 % self change −75.0 %"),
                ("same", "before 100 ms (25.0 %) after 200 ms (25.0 %) "
                 "change +0.00 %"),
                ("main", "before 400 ms (100.0 %) after 800 ms (100.0 %) "
                 "change +0.00 % self change +0.00 %")]:
            self.browser.type(name)
            self.browser.key("Enter")
            self.assertIn(f"{name} {figures}", self.text("#details"))
            self.browser.key("Escape")

    def test_frames_say_what_came_and_went(self):
        for dark in (False, True):
            self.open(self.AFTER, base=self.BEFORE, dark=dark)
            self.assertEqual(self.drawn()[:2], ["all", "main"])
            self.assertEqual(set(self.drawn()[2:]),
                             {"gone −75.0 % old", "new +75.0 % new", "same"})
            # The wider of the equal two comes first: before, then after.
            places = {name: share for share, name in zip(
                (0.2, 0.5, 0.9), self.drawn()[2:])}
            red, _, blue = self.colour(places["new +75.0 % new"], 2)
            self.assertGreater(red, blue + 50)
            red, _, blue = self.colour(places["gone −75.0 % old"], 2)
            self.assertGreater(blue, red + 50)
            red, _, blue = self.colour(places["same"], 2)
            self.assertLess(abs(red - blue), 20)

    def test_search_and_functions_compare_both(self):
        self.open(self.AFTER, base=self.BEFORE)
        self.browser.key("/")
        self.browser.type("/new|same/")
        self.assertEqual(self.text("#matched"), "25.0 % → 100.0 % matched")
        self.browser.key("Escape")
        self.browser.click_on("#functions")
        self.assertEqual(
            self.text("#table").replace("new +75.0 % +75.0 %", "").split(),
            "Function Self ± Total ± old −75.0 % −75.0 % "
            "main +0.00 % +0.00 % same +0.00 % +0.00 %".split())

    def test_a_profile_less_itself_has_no_colour(self):
        self.open(self.AFTER, base=self.AFTER)
        self.assertEqual(self.drawn(), ["all", "main", "new", "same"])
        colours = {tuple(self.colour(x, 2)) for x in (0.2, 0.9)}
        self.assertEqual(len(colours), 1)


class FlameSizesTest(flame_page.Case):

    def test_OF06_deep_stacks_of_long_names_open_and_scroll(self):
        """3,000 frames deep; the sizes of files are tests/exporters' part."""
        def name(i):
            return f"f{i}_" + f"{i * 7919 % 10007:x}" * 600
        stem = tuple(name(i) for i in range(2990))
        self.open([Stack((*stem[:depth], f"leaf{k}"), 5)
                   for depth in (2990, 1000, 10) for k in range(100)])
        self.assertIn("total 1.50 s (100.0 %)", self.text("#details"))
        self.browser.key("ArrowUp")
        self.assertTrue(self.focused().startswith("f0_"))
        self.browser.key("End")
        self.assertEqual(self.focused(), "leaf0")
        self.assertIn("self 5.00 ms (0.33 %)", self.text("#details"))
        self.browser.key("/")
        self.browser.type("/^f2989_/")
        self.assertEqual(self.text("#matched"), "33.3 % matched")

    def test_long_names_leave_the_figures_in_sight(self):
        name = "ns::f<" + ", ".join(["std::map<int, int>"] * 60) + ">(int)"
        self.open([Stack(("main", name), 5)])
        self.browser.key("End")
        self.assertEqual(self.focused(), "ns::f")
        self.assertIn("in full " + name, self.text("#details"))
        self.assertTrue(self.browser.evaluate(
            "document.querySelector('#details dd').getBoundingClientRect()"
            ".bottom < innerHeight"))


class FlameSvgTest(flame_page.Case):

    def test_a_browser_shows_it_and_nothing_in_it_runs(self):
        profile = os.path.join(self.dir, "flame.pb")
        picture = os.path.join(self.dir, "flame.svg")
        pprof_encode.write(profile, STACKS)
        self.unspool("export", profile, "-o", picture)
        for dark in (False, True):
            self.browser.prefer(dark)
            self.browser.open(picture)
            self.assertEqual(self.browser.evaluate(
                "[...document.querySelectorAll('g > text')]"
                ".map(t => t.textContent).slice(0, 5)"),
                ["all", "main", "sort", "compare", "swap"])
            self.assertIn(MARKUP, self.browser.evaluate(
                "[...document.querySelectorAll('g > title')]"
                ".map(t => t.textContent.split('\\n')[0])"))
            # The root is on top, and what it calls below it.
            self.assertTrue(self.browser.evaluate(
                "(() => { const [all, main] = document.querySelectorAll("
                "'g > rect'); return all.getBoundingClientRect().top < "
                "main.getBoundingClientRect().top; })()"))
            paper = self.browser.evaluate(
                "getComputedStyle(document.documentElement).backgroundColor")
            self.assertEqual(paper, "rgb(27, 23, 20)" if dark else
                             "rgb(253, 252, 250)")
