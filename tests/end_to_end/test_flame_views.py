"""The flame graph in a browser: what it shows, of one profile and of two."""

import os

import flame_page
import pprof_encode
from flame_page import MARKUP, STACKS
from pprof_encode import Frame, Stack


def luminance(colour):
    """Relative, as WCAG 2.1 defines it, of [red, green, blue, ...] to 255."""
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (value / 255 for value in colour[:3]))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


class FlameViewsTest(flame_page.Case):

    def test_threads_one_by_one_and_apart(self):
        self.open(STACKS)
        self.choose_thread("two")
        self.assertIn("total 250 ms (25.0 %)", self.text("#details"))
        self.assertEqual(self.drawn()[:4], ["all", "main", "sort", "swap"])
        self.choose_thread("Each")
        self.assertEqual(self.drawn()[:3], ["all", "one", "main"])
        self.browser.key("ArrowDown")
        self.assertIn("total 750 ms (75.0 %)", self.text("#details"))
        self.browser.key("ArrowRight")
        self.assertEqual(self.focused(), "two")

    def test_running_and_waiting_apart(self):
        self.open([Stack(("main", "work"), 100, "one", state="running"),
                   Stack(("main", "read"), 300, "one", state="waiting"),
                   Stack(("main", "poll"), 600, "two", state="waiting")])
        self.assertEqual(self.drawn(), ["all", "main", "poll", "read", "work"])
        self.choose("samples", "Waiting")
        self.assertIn("total 900 ms (90.0 %)", self.text("#details"))
        self.assertEqual(self.drawn(), ["all", "main", "poll", "read"])
        self.choose_thread("one")
        self.assertEqual(self.drawn(), ["all", "main", "read"])
        self.choose("samples", "Running")
        self.assertEqual(self.drawn(), ["all", "main", "work"])
        self.choose_thread("Each")
        self.assertEqual(self.drawn(), ["all", "one", "main", "work"])
        self.browser.key("0")
        self.browser.settle()
        self.assertEqual(self.drawn(), ["all", "main", "poll", "read", "work"])

    def test_without_waiting_there_is_nothing_to_choose(self):
        self.open(STACKS)
        self.assertTrue(self.browser.evaluate(
            "document.getElementById('samples-choice').hidden"))

    def test_it_is_a_tree_to_a_screen_reader(self):
        self.open(STACKS)
        self.browser.key("ArrowDown")
        self.browser.key("ArrowDown")
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

    def test_text_stands_out_from_every_colour(self):
        """A contrast of 4.5 (WCAG 2.1, 1.4.3): 12 modules in 5 shades each."""
        stacks = [Stack((Frame(f"f{i}", f"/lib/{i % 12}.so"),), 10)
                  for i in range(60)]
        for dark in (False, True):
            self.open(stacks, dark=dark)
            ink = luminance(self.browser.evaluate(
                "(() => { const c = document.createElement('canvas')"
                ".getContext('2d'); c.fillStyle = "
                "getComputedStyle(document.body).color; c.fillRect(0, 0, 1, 1);"
                "return [...c.getImageData(0, 0, 1, 1).data]; })()"))
            colours = {tuple(self.colour((i + 0.5) / 60, 1))
                       for i in range(60)}
            self.assertGreater(len(colours), 30)
            for colour in colours:
                dim, bright = sorted((ink, luminance(colour)))
                self.assertGreaterEqual((bright + 0.05) / (dim + 0.05), 4.5,
                                        colour)

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
        self.browser.key("ArrowDown")
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
