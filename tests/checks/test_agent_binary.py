"""libunspool.so goes into strangers' processes: what it needs and shows there
is a closed list. UNSPOOL_BUILD_DIR names the build directory."""

import os
import pathlib
import re
import subprocess
import unittest

import archive_symbols

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = pathlib.Path(os.environ["UNSPOOL_BUILD_DIR"], "lib/libunspool.so")
NEEDED = {"libc.so.6", "ld-linux-x86-64.so.2"}


def lines_of(name):
    """The entries of a list beside this file; '#' begins a comment."""
    text = re.sub(r"#.*", "", (HERE / name).read_text())
    return {line.strip() for line in text.splitlines() if line.strip()}


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments, LIBRARY],
                          stdout=subprocess.PIPE, text=True, check=True).stdout


def dynamic_symbols():
    """(name, version or "", is defined) of every dynamic symbol."""
    for line in readelf("--dyn-syms").splitlines():
        fields = line.split()
        if len(fields) < 8 or not fields[0].endswith(":") or fields[0] == "Num:":
            continue
        name, _, version = fields[7].partition("@")
        yield name, version.lstrip("@"), fields[6] != "UND"


class AgentBinary(unittest.TestCase):

    def test_it_needs_libc_and_the_loader_only(self):
        needed = set(re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d")))
        self.assertIn("libc.so.6", needed)
        self.assertEqual(needed - NEEDED, set())

    def test_it_exports_the_closed_list(self):
        exported = {name for name, _, defined in dynamic_symbols() if defined}
        self.assertEqual(exported, lines_of("agent_exports.txt"))

    def test_it_needs_no_newer_libc_than_listed(self):
        versions = {version for _, version, defined in dynamic_symbols()
                    if version.startswith("GLIBC_") and not defined}
        self.assertEqual(versions, lines_of("agent_symbol_versions.txt"))

    def test_none_of_its_code_takes_memory_from_malloc(self):
        """It writes profiles in programs that were interrupted in malloc()."""
        malloc = {"malloc", "calloc", "realloc", "reallocarray", "free",
                  "aligned_alloc", "posix_memalign", "memalign", "strdup",
                  "strndup", "asprintf", "vasprintf", "getline", "_Znwm",
                  "_ZdlPv"}
        archive = pathlib.Path(LIBRARY).with_suffix(".a")
        members = archive_symbols.members(archive)
        self.assertGreater(len(members), 20)
        self.assertEqual([(member.name, sorted(member.undefined & malloc))
                          for member in members if member.undefined & malloc],
                         [])

    def test_it_has_no_text_relocations_and_no_executable_stack(self):
        self.assertNotIn("TEXTREL", readelf("-d"))
        stack = re.search(r"GNU_STACK.*", readelf("-l")).group()
        self.assertNotIn("RWE", stack)


if __name__ == "__main__":
    unittest.main()
