"""What the handler's code refers to: UNSPOOL_BUILD_DIR names the build
directory."""

import os
import pathlib
import re
import subprocess
import tempfile
import unittest

import archive_symbols
import fence

BUILD = pathlib.Path(os.environ["UNSPOOL_BUILD_DIR"])


class FenceSymbols(unittest.TestCase):

    def test_the_handlers_code_refers_to_the_allowed_list_only(self):
        handler, setup = [], []
        for archive, folder in fence.ARCHIVES.items():
            for member in archive_symbols.members(BUILD / "lib" / archive):
                # A member has lost the folder that its source was in.
                is_setup = fence.is_setup(f"{folder}/{member.source}")
                (setup if is_setup else handler).append(member)
                member.undefined -= fence.setup_calls(folder, member.source)
        self.assertGreater(len(handler), 10)
        self.assertEqual(
            archive_symbols.violations(handler, setup, set(fence.allowed_symbols())), [])

    def test_the_list_names_nothing_that_allocates_locks_or_prints(self):
        bad = re.compile(r"malloc|calloc|realloc|free|_Zn|_Zd|mutex|printf|"
                         r"fopen|dl_iterate_phdr|dlsym|__tls_get_addr|__cxa")
        self.assertEqual([name for name in fence.allowed_symbols()
                          if bad.search(name)], [])

    def test_violations_are_found(self):
        sources = {
            "handler.c": "void Ours(void); void Start(void);"
                         "int pthread_mutex_lock(void*);"
                         "void Tick(void) { Ours(); Start();"
                         "                  pthread_mutex_lock(0); }",
            "helper.c": "void Ours(void) {}",
            "start.c": "void Start(void) {}",
        }
        with tempfile.TemporaryDirectory() as directory:
            for name, text in sources.items():
                pathlib.Path(directory, name).write_text(text)
            subprocess.run(["gcc", "-c", *sources], cwd=directory, check=True)
            subprocess.run(["ar", "rc", "all.a", "handler.o", "helper.o",
                            "start.o"], cwd=directory, check=True)
            members = archive_symbols.members(pathlib.Path(directory, "all.a"))
        setup = [m for m in members if m.name == "start.o"]
        handler = [m for m in members if m.name != "start.o"]
        messages = archive_symbols.violations(handler, setup, set())
        self.assertEqual(len(messages), 2, messages)
        self.assertIn("Start is setup code", messages[0])
        self.assertIn("pthread_mutex_lock is not allowed", messages[1])


if __name__ == "__main__":
    unittest.main()
