"""Our profiles in readers that others wrote: npm's pprof-format, which is a
decoder, speedscope, which is a page (scripts/setup installs both), and pprof's
own pages."""

import json
import os
import re
import signal
import subprocess

import harness
from browser import Browser

MODULES = os.path.join(harness.SOURCE, "build/readers/node_modules")
READERS = os.path.join(harness.SOURCE, "tests/end_to_end/readers")
# speedscope prints two decimals.
PRECISION = 0.006
NS_PER_UNIT = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}


def record(case):
    """A program with threads, C++ names and inlined functions."""
    return case.record([harness.program("worker_threads"), "5"])


class PprofFormatTest(harness.Case):
    def test_sums_are_the_same(self):
        run = record(self)
        result = subprocess.run(
            ["node", os.path.join(READERS, "sums.js"), MODULES, run.path],
            capture_output=True, text=True, timeout=60)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        theirs = json.loads(result.stdout)
        self.assertEqual(theirs["totals"], {
            name: run.profile.total(name) for name in ("samples", "cpu")})
        self.assertEqual(theirs["flat"], harness.flat_by_name(run.profile))


class PprofPagesTest(harness.Case):
    """`go tool pprof -http`, on a port of the loopback that is free."""

    # What a page says, once it is there.
    PAGES = {"": "#graph text", "flamegraph": "#chart title", "top": "#rows td",
             "peek?f=Work": "#content pre"}

    def serve(self, path):
        """The server's address; it ends with the test."""
        server = subprocess.Popen(
            ["go", "tool", "pprof", "-http=127.0.0.1:", "-no_browser", path],
            stderr=subprocess.PIPE, text=True, start_new_session=True,
            env={**os.environ, "PPROF_TMPDIR": self.dir, "HOME": self.dir})
        self.addCleanup(server.stderr.close)
        self.addCleanup(server.wait)
        self.addCleanup(os.killpg, server.pid, signal.SIGTERM)
        line = server.stderr.readline()
        match = re.fullmatch(r"Serving web UI on (http://\S+)\n", line)
        self.assertIsNotNone(match, line)
        return match[1]

    def test_each_shows_our_functions(self):
        address = self.serve(record(self).path)
        with Browser() as browser:
            for page, selector in self.PAGES.items():
                with self.subTest(page):
                    browser.open(f"{address}/ui/{page}")
                    browser.wait(f"""[...document.querySelectorAll(
                        {json.dumps(selector)})].some(
                            e => e.textContent.includes("Work"))""")
                    self.assertEqual(browser.errors, [])


class SpeedscopeTest(harness.Case):
    """The released page, opened as a file, with our profile chosen in it."""

    def setUp(self):
        super().setUp()
        self.browser = Browser()
        self.addCleanup(self.browser.close)
        self.browser.open(os.path.join(
            MODULES, "speedscope/dist/release/index.html"))

    def open_profile(self, path):
        document = self.browser.call("DOM.getDocument")["root"]["nodeId"]
        field = self.browser.call("DOM.querySelector", nodeId=document,
                                  selector="input[type=file]")["nodeId"]
        self.browser.call("DOM.setFileInputFiles", nodeId=field, files=[path])
        self.browser.wait("document.title.startsWith("
                          f"{json.dumps(os.path.basename(path))})")
        self.browser.settle()

    def table(self):
        """{name: (self, total) in nanoseconds}, of the rows on the screen."""
        self.browser.key("3")  # the view "sandwich"
        self.browser.wait("document.querySelectorAll('table tr').length > 1")
        rows = self.browser.evaluate(
            "[...document.querySelectorAll('table tr')].slice(1)"
            ".map(row => [...row.cells].map(cell => cell.innerText.trim()))")
        return {name: (self.nanoseconds(own), self.nanoseconds(total))
                for total, own, name in rows}

    def nanoseconds(self, text):
        """Of "12.50ms (3.4%)"."""
        match = re.match(r"([\d.]+)(\D+?) \(", text)
        self.assertIsNotNone(match, text)
        return float(match[1]) * NS_PER_UNIT[match[2]]

    def expected(self, profile):
        """The same of the profile. Of a location speedscope shows the outermost
        function only; what is inlined there counts as its own."""
        table = {}
        for sample in profile.samples:
            ns = harness.weight(profile, sample)
            names = [profile.locations[number].frames[-1].name
                     for number in sample.locations]
            for name in set(names):
                own, total = table.get(name, (0, 0))
                table[name] = (own + ns * (name == names[0]), total + ns)
        return table

    def test_shows_names_and_times(self):
        run = record(self)
        self.open_profile(run.path)
        shown = self.table()
        expected = self.expected(run.profile)
        self.assertGreater(len(shown), 5)
        self.assertLessEqual(set(shown), set(expected))
        for name, values in shown.items():
            for theirs, ours in zip(values, expected[name]):
                self.assertAlmostEqual(theirs, ours, msg=name,
                                       delta=max(ours * PRECISION, 1e4))
        self.assertEqual(self.browser.errors, [])
