#!/usr/bin/env python3
"""How soon a flame graph opens and reacts, in headless Chromium.

    bench/exporters/flame.py BUILD [--repetitions N]

Two profiles: 100,000 distinct stacks of 10 to 50 frames, and 200,000 that are
up to 3,000 frames deep, with names of 2 KB. "open" is the time from navigation
to the first frame drawn; the others, from an input's time stamp to the frame
that shows its effect: median and maximum of N. Goals: 2 s and 100 ms.

Last, why the picture is a canvas: the same frames as SVG elements, those that
are drawn and all that the file has, made and drawn once.
"""

import argparse
import os
import pathlib
import random
import statistics
import string
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/end_to_end"))
import pprof_encode  # noqa: E402
from browser import Browser  # noqa: E402

WIDTH, HEIGHT = 1920, 1080
# `reactions`: from each input's time stamp to behind the frame that follows it.
# `boxes`: what the last painting of the picture filled.
WATCH = """
    window.reactions = [];
    window.boxes = [];
    function behindFrame(done) {
      requestAnimationFrame(() => {
        const channel = new MessageChannel();
        channel.port1.onmessage = done;
        channel.port2.postMessage(0);
      });
    }
    for (const type of ['pointermove', 'click', 'keydown', 'input', 'change']) {
      addEventListener(type, ({timeStamp}) => behindFrame(
          () => reactions.push(performance.now() - timeStamp)), true);
    }
    const {fillRect} = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillRect = function(...box) {
      if (box[2] === this.canvas.clientWidth &&
          box[3] === this.canvas.clientHeight) {
        window.boxes = [];
      }
      boxes.push(box);
      fillRect.apply(this, box);
    };
"""
OPENED = """new Promise((done) => {
      const look = () => document.documentElement.dataset.ready === 'yes' ?
          behindFrame(() => done(performance.now())) : setTimeout(look, 1);
      look();
    })"""
ELEMENTS = """new Promise((done) => {
      const begin = performance.now();
      const make = (name) => document.createElementNS(
          'http://www.w3.org/2000/svg', name);
      const svg = make('svg');
      for (let i = 0; i < COUNT; i++) {
        const [x, y, width, height] = boxes[i % boxes.length];
        const group = make('g');
        const rect = make('rect');
        Object.entries({x, y, width, height}).forEach(
            ([key, value]) => rect.setAttribute(key, value));
        const text = make('text');
        text.setAttribute('x', x);
        text.setAttribute('y', y);
        text.textContent = 'name';
        group.append(rect, text);
        svg.append(group);
      }
      document.getElementById('extent').replaceChildren(svg);
      behindFrame(() => done(performance.now() - begin));
    })"""


def many_stacks(build, path):
    subprocess.run([build / "bin/scale_profile", "100000", "1000000", path],
                   check=True)


def deep_stacks(_, path):
    """Shared from the root, then a path of its own to the leaf."""
    numbers = random.Random(1)
    letters = string.ascii_letters + string.digits
    names = ["".join(numbers.choices(letters, k=2048)) for _ in range(3000)]
    stacks = []
    for i in range(200_000):
        depth = 2950 if i % 1000 == 0 else i % 40
        own = numbers.choices(names, k=3)
        stacks.append(pprof_encode.Stack((*names[:depth], *own), 10,
                                         f"thread {i % 8}"))
    pprof_encode.write(path, stacks)


def middle_of_row(browser, depth):
    left, bottom, width, row = browser.evaluate(
        "(() => { const b = document.getElementById('graph')"
        ".getBoundingClientRect(); const rem = parseFloat(getComputedStyle("
        "document.documentElement).fontSize); return [b.left, b.bottom, "
        "b.width, Math.round(rem * 1.45)]; })()")
    return left + width / 3, bottom - (depth + 0.5) * row


def choose_thread(browser):
    browser.evaluate(
        "(() => { const s = document.getElementById('thread'); s.value = -2; "
        "s.dispatchEvent(new Event('change', {bubbles: true})); })()")
    browser.settle()


def callers(browser):
    browser.key("ArrowUp")
    browser.key("ArrowUp")
    browser.evaluate("reactions.length = 0")
    browser.key("c")


def search(browser):
    browser.key("/")
    browser.type("7")


# What is done, and what leads back.
ACTIONS = [
    ("hover", lambda b: b.move(*middle_of_row(b, 3)), None),
    ("zoom", lambda b: b.click(*middle_of_row(b, 3)), "0"),
    ("arrow", lambda b: b.key("ArrowUp"), None),
    ("search", search, "Escape"),
    ("callers", callers, "0"),
    ("threads", choose_thread, "0"),
    ("functions", lambda b: b.key("f"), "f"),
    ("icicle", lambda b: b.key("i"), "i"),
    ("dark", lambda b: b.key("t"), "t"),
]


def reaction(browser, action):
    """Milliseconds; of several inputs, the slowest."""
    browser.evaluate("reactions.length = 0")
    action(browser)
    browser.wait("reactions.length > 0")
    browser.settle()
    return max(browser.evaluate("reactions"))


def measure(page, repetitions):
    """{what: [milliseconds]}, and the numbers of frames drawn and in all."""
    times = {"open": []}
    with Browser(WIDTH, HEIGHT) as browser:
        browser.run_first(WATCH)
        for _ in range(repetitions):
            browser.open(page)
            times["open"].append(browser.evaluate(OPENED))
        for name, action, back in ACTIONS:
            times[name] = []
            for _ in range(repetitions):
                times[name].append(reaction(browser, action))
                if back is not None:
                    browser.key(back)
                    browser.evaluate("document.activeElement.blur()")
        drawn = browser.evaluate("boxes.length")
        for name, count in (("canvas", None), ("drawn as SVG", drawn),
                            ("100,000 as SVG", 100_000)):
            times[name] = [
                reaction(browser, lambda b: b.key("ArrowUp"))
                if count is None else
                browser.evaluate(ELEMENTS.replace("COUNT", str(count)))]
    return times, drawn


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--repetitions", type=int, default=7)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="unspool-flame-") as scratch:
        for what, make in (("100,000 stacks", many_stacks),
                           ("200,000 deep stacks", deep_stacks)):
            profile = os.path.join(scratch, "flame.pb")
            page = os.path.join(scratch, "flame.html")
            make(options.build, profile)
            subprocess.run([options.build / "bin/unspool", "export", profile,
                            "-o", page], check=True)
            times, drawn = measure(page, options.repetitions)
            print(f"{what}: {os.path.getsize(page) / 1e6:.1f} MB, "
                  f"{drawn} boxes drawn\n{'ms':16}  median    max")
            for name, values in times.items():
                print(f"{name:16} {statistics.median(values):7.0f}"
                      f"{max(values):7.0f}", flush=True)
            print()


if __name__ == "__main__":
    main()
