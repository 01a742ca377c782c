"""The commands of README.md, each with who runs it.

A block that begins with ```sh holds commands. Those after a comment
<!-- run by PATH --> must stand in that script, word for word; all others are
run by the test, block by block, in an empty directory with the built unspool in
PATH.
"""

import dataclasses
import re

BLOCK = re.compile(
    r"(?:<!-- run by (?P<runner>[^ ]+) -->\n)?```sh\n(?P<code>.*?)```", re.DOTALL)


@dataclasses.dataclass
class Block:
    code: str
    runner: str  # a script's path, or "" for the test


def blocks(text):
    return [Block(match["code"], match["runner"] or "")
            for match in BLOCK.finditer(text)]


def commands(code):
    """Lines without comments and blank lines."""
    lines = (line.split(" #")[0].strip() for line in code.splitlines())
    return [line for line in lines if line and not line.startswith("#")]
