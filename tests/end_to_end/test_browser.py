"""The tests' browser: it says what a page does wrong."""

import os

import harness
from browser import Browser, BrowserError


class BrowserTest(harness.Case):

    def setUp(self):
        super().setUp()
        self.browser = Browser(width=600, height=400)
        self.addCleanup(self.browser.close)

    def open(self, html):
        path = os.path.join(self.dir, "page.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write("<!DOCTYPE html><meta charset=utf-8>" + html)
        self.browser.open(path)

    def test_a_page_without_faults_has_none(self):
        self.open("<p>as it should be")
        self.assertEqual(self.browser.errors, [])
        self.assertEqual([url[:5] for url in self.browser.requests], ["file:"])

    def test_exceptions_are_noted(self):
        self.open("<script>throw new Error('broken page')</script>")
        self.assertIn("broken page", str(self.browser.errors))

    def test_requests_are_noted(self):
        self.open("<img src=http://127.0.0.1:1/picture.png>")
        self.assertIn("http://127.0.0.1:1/picture.png", self.browser.requests)

    def test_mouse_and_keys_reach_the_page(self):
        self.open("<button onclick=\"title = 'clicked'\">x</button>"
                  "<input onkeydown=\"title += event.key\">")
        self.browser.click_on("button")
        self.assertEqual(
            self.browser.evaluate("document.querySelector('button').title"),
            "clicked")
        self.browser.click_on("input")
        for key in ("a", "Enter", "?"):
            self.browser.key(key)
        self.browser.type("bc")
        self.assertEqual(
            self.browser.evaluate("[document.querySelector('input').title, "
                                  "document.querySelector('input').value]"),
            ["aEnter?", "a?bc"])

    def test_a_missing_page_is_an_error(self):
        with self.assertRaisesRegex(BrowserError, "FILE_NOT_FOUND"):
            self.browser.open(os.path.join(self.dir, "missing.html"))
