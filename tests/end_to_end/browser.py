"""Headless Chromium, driven through the DevTools protocol.

The browser talks over a pipe (--remote-debugging-pipe): JSON messages, each
ended by a zero byte, on its descriptors 3 and 4. No port, no WebSocket.
https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import json
import os
import select
import signal
import subprocess
import tempfile
import time

ANSWER_TIMEOUT_SECONDS = 60
# The modifier bit of Input.dispatchKeyEvent.
SHIFT = 8
# Windows key codes, which the browser's own handling needs.
_KEY_CODES = {"Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36,
              "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
              "ArrowDown": 40, "Tab": 9}
_COMMAND = [
    "chromium", "--headless=new", "--remote-debugging-pipe", "--no-first-run",
    # The sandbox refuses root and most containers; the pages are our own.
    "--no-sandbox",
    # Shared memory in TMPDIR: a container's /dev/shm has 64 MB.
    "--disable-dev-shm-usage",
    "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--force-color-profile=srgb",
]


class BrowserError(Exception):
    """The browser refused a command, died, or was silent for too long."""


class Browser:
    """One browser with one page. A context manager: it ends with the block.

    Of the page that is open: `errors` has its uncaught exceptions and what it
    logged as an error, `requests` the URLs that it asked for.
    """

    def __init__(self, width=1280, height=800, dark=False):
        self.errors, self.requests = [], []
        self._buffer, self._last_id, self._session = b"", 0, None
        self._is_loaded = False
        self._scratch = tempfile.TemporaryDirectory(
            prefix="unspool-browser-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null',
             "sh", *_COMMAND, "--user-data-dir=" + self._scratch.name,
             "about:blank"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "HOME": self._scratch.name,
                 "TMPDIR": self._scratch.name})
        try:
            self._attach(width, height, dark)
        except BaseException:
            self.close()
            raise

    def _attach(self, width, height, dark):
        page = next(target for target in
                    self.call("Target.getTargets")["targetInfos"]
                    if target["type"] == "page")
        self._session = self.call("Target.attachToTarget",
                                  targetId=page["targetId"],
                                  flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.resize(width, height)
        self.prefer(dark)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        # The whole session at once: nobody is left to write into the scratch
        # directory while it is removed.
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._scratch.cleanup()

    def call(self, method, **parameters):
        """The answer to one command of the protocol."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        self._process.stdin.write(json.dumps(message).encode() + b"\0")
        self._process.stdin.flush()
        answer = self._next_message()
        while answer.get("id") != self._last_id:
            answer = self._next_message()
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def resize(self, width, height):
        """The size of the window's inside, in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, dark):
        """Dark or light pages; movement is not wanted in either."""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme",
             "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def run_first(self, script):
        """Runs the script in every page before the page's own."""
        self.call("Page.addScriptToEvaluateOnNewDocument", source=script)

    def open(self, url):
        """Goes to a URL, or the path of a file, and waits until it is loaded."""
        self.errors.clear()
        self.requests.clear()
        self._is_loaded = False
        if "://" not in url:
            url = "file://" + os.path.realpath(url)
        answer = self.call("Page.navigate", url=url)
        if "errorText" in answer:
            raise BrowserError(f"{url}: {answer['errorText']}")
        while not self._is_loaded:
            self._next_message()

    def evaluate(self, expression):
        """The value of a JavaScript expression; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression,
                           returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait(self, condition):
        """Until the JavaScript expression is true."""
        deadline = time.monotonic() + ANSWER_TIMEOUT_SECONDS
        while not self.evaluate(condition):
            if time.monotonic() > deadline:
                raise BrowserError(f"never so: {condition}; {self.errors}")
            time.sleep(0.01)

    def settle(self):
        """Until what was asked for is drawn."""
        self.evaluate("new Promise(r => requestAnimationFrame(() => "
                      "requestAnimationFrame(() => setTimeout(r, 0))))")

    def key(self, key, modifiers=0):
        """Presses and releases a key, named as KeyboardEvent.key has it."""
        code = _KEY_CODES.get(key) or ord(key.upper())
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        down = {"text": text} if text else {}
        for kind, extra in (("keyDown", down), ("keyUp", {})):
            self.call("Input.dispatchKeyEvent", type=kind, key=key,
                      windowsVirtualKeyCode=code, modifiers=modifiers, **extra)
        self.settle()

    def type(self, text):
        """Enters text where the focus is, at once."""
        self.call("Input.insertText", text=text)
        self.settle()

    def move(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def click(self, x, y, count=1):
        self.move(x, y)
        for number in range(1, count + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y,
                          button="left", clickCount=number)
        self.settle()

    def click_on(self, selector):
        """Clicks the middle of the first element that the selector finds."""
        self.click(*self.evaluate(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect(); return [b.x + b.width / 2, "
            "b.y + b.height / 2]; })()"))

    def screenshot(self, path=None):
        """The window as PNG: its bytes, also written to `path` if given."""
        png = base64.b64decode(
            self.call("Page.captureScreenshot", format="png")["data"])
        if path is not None:
            with open(path, "wb") as file:
                file.write(png)
        return png

    def accessibility(self):
        """The nodes of the accessibility tree that are not ignored."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [node for node in nodes if not node["ignored"]]

    def _note(self, event):
        parameters = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.errors.append(str(parameters["exceptionDetails"]))
            case "Log.entryAdded" if parameters["entry"]["level"] == "error":
                self.errors.append(parameters["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Page.loadEventFired":
                self._is_loaded = True

    def _next_message(self):
        while b"\0" not in self._buffer:
            pipe = self._process.stdout.fileno()
            ready, _, _ = select.select([pipe], [], [], ANSWER_TIMEOUT_SECONDS)
            data = os.read(pipe, 1 << 20) if ready else b""
            if not data:
                raise BrowserError("the browser does not answer")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        event = json.loads(message)
        self._note(event)
        return event
