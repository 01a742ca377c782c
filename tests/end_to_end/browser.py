"""Headless Chromium, driven through the DevTools protocol.

The browser talks over a pipe (--remote-debugging-pipe): JSON messages, each
ended by a zero byte, on its descriptors 3 and 4. No port, no WebSocket.
https://chromedevtools.github.io/devtools-protocol/
"""

import base64
import json
import os
import select
import subprocess
import tempfile
import time

ANSWER_TIMEOUT_SECONDS = 60
# The modifier bit of Input.dispatchKeyEvent.
SHIFT = 8
# Keys whose code the page's own handling or the browser's needs.
_KEY_CODES = {"Enter": 13, "Escape": 27, " ": 32, "End": 35, "Home": 36,
              "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
              "ArrowDown": 40, "Tab": 9}


class BrowserError(Exception):
    """The browser refused a command, died, or was silent for too long."""


class Browser:
    """One browser with one page. A context manager: it ends with the block."""

    def __init__(self, width=1280, height=800, dark=False):
        self._scratch = tempfile.TemporaryDirectory(prefix="unspool-browser-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}',
             "sh", "chromium", "--headless=new", "--no-sandbox",
             "--disable-gpu", "--remote-debugging-pipe", "--no-first-run",
             "--force-color-profile=srgb",
             "--user-data-dir=" + self._scratch.name, "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._last_id, self.errors = b"", 0, []
        self._session = None
        page = next(target for target in
                    self.call("Target.getTargets")["targetInfos"]
                    if target["type"] == "page")
        self._session = self.call("Target.attachToTarget",
                                  targetId=page["targetId"],
                                  flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.resize(width, height)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme",
             "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._scratch.cleanup()

    def call(self, method, **parameters):
        """The answer to one command of the protocol."""
        self._last_id += 1
        message = {"id": self._last_id, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data):]
        while True:
            answer = self._message()
            if answer.get("id") == self._last_id:
                break
            self._note(answer)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=False)

    def open(self, path):
        """Loads a file and waits until it says that it is drawn."""
        self.errors.clear()
        self.call("Page.navigate", url="file://" + os.path.realpath(path))
        self.wait("document.documentElement?.dataset.ready === 'yes'")
        self.settle()

    def evaluate(self, expression):
        """The value of a JavaScript expression; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression,
                           returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait(self, condition):
        """Until the expression is true."""
        for _ in range(ANSWER_TIMEOUT_SECONDS * 100):
            if self.evaluate(condition):
                return
            time.sleep(0.01)
        raise BrowserError(f"never so: {condition}; {self.errors}")

    def settle(self):
        """Until what was asked for is drawn."""
        self.evaluate("new Promise(r => requestAnimationFrame(() => "
                      "requestAnimationFrame(() => setTimeout(r, 0))))")

    def key(self, key, modifiers=0):
        code = _KEY_CODES.get(key, ord(key.upper()) if len(key) == 1 else 0)
        text = {"text": key} if len(key) == 1 else (
            {"text": "\r"} if key == "Enter" else {})
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key,
                  windowsVirtualKeyCode=code, modifiers=modifiers, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key,
                  windowsVirtualKeyCode=code, modifiers=modifiers)
        self.settle()

    def type(self, text):
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
        """The middle of the element."""
        box = self.evaluate(
            f"(() => {{ const b = document.querySelector({json.dumps(selector)})"
            ".getBoundingClientRect(); return [b.x + b.width / 2, "
            "b.y + b.height / 2]; })()")
        self.click(*box)

    def screenshot(self, path):
        answer = self.call("Page.captureScreenshot", format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))

    def accessibility(self):
        """The nodes of the accessibility tree that are not ignored."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [node for node in nodes if not node["ignored"]]

    def _note(self, event):
        parameters = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(str(parameters["exceptionDetails"]))
        if event.get("method") == "Log.entryAdded":
            self.errors.append(parameters["entry"]["text"])
        if event.get("method") == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            if not url.startswith("file:"):
                self.errors.append("asked for " + url[:200])

    def _message(self):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [],
                                        ANSWER_TIMEOUT_SECONDS)
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                raise BrowserError("the browser does not answer")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)
