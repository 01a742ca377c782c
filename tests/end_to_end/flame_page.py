"""A flame graph in a browser, and what it shows, as a test sees it."""

import os

import harness
import pprof_encode
from browser import Browser
from pprof_encode import Stack

WIDTH, HEIGHT = 1280, 800
MARKUP = "</script><img src=x onerror=document.title='hit'>\u2028\"'"
STACKS = [
    Stack(("main", "sort", "compare"), 500, "one"),
    Stack(("main", "sort", "swap"), 200, "two"),
    Stack(("main", "read"), 250, "one"),
    Stack(("main", MARKUP), 50, "two"),
]

# The picture is a canvas: `drawn` keeps the texts of its last painting, which
# begins by filling all of it.
_WATCH_CANVAS = """
    window.drawn = [];
    const {fillText, fillRect} = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillRect = function(x, y, w, h) {
      if (w === this.canvas.clientWidth && h === this.canvas.clientHeight) {
        window.drawn = [];
      }
      fillRect.call(this, x, y, w, h);
    };
    CanvasRenderingContext2D.prototype.fillText = function(text, ...where) {
      window.drawn.push(text);
      fillText.call(this, text, ...where);
    };
"""
_READY = "document.documentElement.dataset.ready === 'yes'"


class Case(harness.Case):
    """A test of pages in one browser, that must be without faults."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = Browser(WIDTH, HEIGHT)
        cls.addClassCleanup(cls.browser.close)
        cls.browser.run_first(_WATCH_CANVAS)

    def tearDown(self):
        self.assertEqual(self.browser.errors, [])
        self.assertTrue(all(url.startswith("file:")
                            for url in self.browser.requests),
                        self.browser.requests)
        super().tearDown()

    def open(self, stacks, base=None, width=WIDTH, height=HEIGHT, dark=False):
        """The flame graph of the stacks (pprof_encode.Stack), or of their
        difference to those of `base`."""
        path = os.path.join(self.dir, "flame.pb")
        page = os.path.join(self.dir, "flame.html")
        pprof_encode.write(path, stacks)
        if base is None:
            self.unspool("export", path, "-o", page)
        else:
            pprof_encode.write(path + ".base", base)
            self.unspool("diff", path + ".base", path, "-o", page)
        self.open_page(page, width, height, dark)

    def open_page(self, page, width=WIDTH, height=HEIGHT, dark=False):
        self.browser.resize(width, height)
        self.browser.prefer(dark)
        self.browser.open(page)
        self.browser.wait(_READY)
        self.browser.settle()

    def point(self, share, depth):
        """Where a frame of that depth is drawn: `share` of the width."""
        left, top, width, row = self.browser.evaluate(
            "(() => { const b = document.getElementById('graph')"
            ".getBoundingClientRect(); const rem = parseFloat(getComputedStyle("
            "document.documentElement).fontSize); return [b.left, b.top, "
            "b.width, Math.round(rem * 1.45)]; })()")
        return left + share * width, top + (depth + 0.5) * row

    def colour(self, share, depth):
        """[red, green, blue] of the picture there, at a frame's upper edge."""
        x, y = self.point(share, depth)
        return self.browser.evaluate(
            "(() => { const c = document.getElementById('canvas');"
            "const b = c.getBoundingClientRect();"
            f"return [...c.getContext('2d').getImageData({x} - b.left, "
            f"{y} - b.top - 6, 1, 1).data].slice(0, 3); }})()")

    def text(self, selector):
        """The text of an element as it is seen, in one line."""
        return self.browser.evaluate(
            f"document.querySelector('{selector}').innerText"
            ".replace(/\\s+/g, ' ')")

    def drawn(self):
        """The texts in the frames."""
        return self.browser.evaluate("window.drawn")

    def focused(self):
        return self.text("#details strong")

    def wait_for_focus(self, name):
        self.browser.wait("document.querySelector('#details strong')"
                          f".textContent === {name!r}")
        self.browser.settle()

    def choose_thread(self, beginning):
        self.choose("thread", beginning)

    def choose(self, what, beginning):
        """An entry of the list `what`."""
        self.browser.evaluate(
            f"(() => {{ const s = document.getElementById({what!r}); "
            "s.value = [...s.options].find(o => o.text.startsWith("
            f"{beginning!r})).value; "
            "s.dispatchEvent(new Event('change')); })()")
        self.browser.settle()
