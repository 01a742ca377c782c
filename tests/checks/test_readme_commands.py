"""Runs README.md: UNSPOOL_BUILD_DIR names the build directory."""

import os
import subprocess
import tempfile
import unittest

import readme_commands
import source_tree

BUILD = os.environ["UNSPOOL_BUILD_DIR"]


def run_block(code, directory):
    env = dict(os.environ, PATH=f"{BUILD}/bin:{os.environ['PATH']}")
    return subprocess.run(["bash", "-euo", "pipefail", "-c", code],
                          cwd=directory, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, timeout=120)


class ReadmeCommands(unittest.TestCase):

    def setUp(self):
        text = (source_tree.ROOT / "README.md").read_text()
        self.blocks = readme_commands.blocks(text)

    def test_every_command_runs(self):
        """One after the other, as somebody would who reads it."""
        mine = [block for block in self.blocks if not block.runner]
        self.assertGreater(len(mine), 1)
        with tempfile.TemporaryDirectory() as directory:
            for block in mine:
                with self.subTest(block.code):
                    run = run_block(block.code, directory)
                    self.assertEqual(run.returncode, 0, run.stdout)

    def test_what_a_script_runs_stands_in_it(self):
        for block in self.blocks:
            if not block.runner:
                continue
            script = (source_tree.ROOT / block.runner).read_text()
            for command in readme_commands.commands(block.code):
                with self.subTest(command):
                    self.assertIn(command, script)


class ReadmeBlocks(unittest.TestCase):

    TEXT = ("```sh\ntrue # comment\n```\ntext\n```\nnot this\n```\n"
            "<!-- run by a/b -->\n```sh\n# only a comment\nx y\n\n```\n")

    def test_blocks_and_their_runners_are_found(self):
        found = readme_commands.blocks(self.TEXT)
        self.assertEqual([(b.code, b.runner) for b in found],
                         [("true # comment\n", ""),
                          ("# only a comment\nx y\n\n", "a/b")])
        self.assertEqual(readme_commands.commands(found[0].code), ["true"])
        self.assertEqual(readme_commands.commands(found[1].code), ["x y"])

    def test_a_command_that_fails_is_seen(self):
        run = run_block("true\nfalse\ntrue\n", "/")
        self.assertNotEqual(run.returncode, 0)


if __name__ == "__main__":
    unittest.main()
