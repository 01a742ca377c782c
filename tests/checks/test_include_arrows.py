import unittest

import fence
import include_arrows
import source_tree


class IncludeArrows(unittest.TestCase):

    def test_the_tree_keeps_to_the_arrows(self):
        messages = []
        for path in source_tree.sources():
            text = (source_tree.ROOT / path).read_text()
            messages += include_arrows.findings(str(path), text, fence.is_setup)
        self.assertEqual(messages, [])

    def test_violations_are_found(self):
        rows = [
            # name, file, text, words of the one message
            ("up", "unwind/a.h", '#include "collectors/b.h"', "collectors"),
            ("up to load", "unwind/a.h", '#include "unwind/load/b.h"', "load"),
            ("sideways", "collectors/spool/a.h", '#include "collectors/b.h"',
             "collectors/spool may not"),
            ("agent to exporters", "profiler/agent/a.cc",
             '#include "exporters/export.h"', "may not include exporters"),
            ("tests", "exporters/a.cc", '#include "tests/b.h"', "tests"),
            ("not from the root", "unwind/a.cc", '#include "b.h"', "root"),
            ("abseil in the agent", "collectors/a.cc",
             '#include "absl/strings/str_cat.h"', "absl"),
            ("libstdc++ in the fence", "unwind/a.cc", "#include <string>",
             "<string>"),
            ("indented", "unwind/a.cc", "#  include <mutex>", "<mutex>"),
            ("setup's header in the handler", "unwind/a.cc",
             "#include <algorithm>", "<algorithm>"),
            ("unknown folder", "extras/a.cc", "", "no folder"),
        ]
        for name, path, text, words in rows:
            with self.subTest(name):
                messages = include_arrows.findings(path, text, lambda _: False)
                self.assertEqual(len(messages), 1, messages)
                self.assertIn(words, messages[0])

    def test_permitted_includes_pass(self):
        rows = [
            ("collectors/a.cc", '#include "unwind/frame.h"\n#include <signal.h>'),
            ("exporters/a.cc", '#include "absl/status/status.h"\n#include <map>'),
            ("profiler/cli/a.cc", '#include "CLI/CLI.hpp"'),
            ("tests/unwind/a.cc", '#include "profiler/cli/b.h"'),
        ]
        for path, text in rows:
            with self.subTest(path):
                self.assertEqual(
                    include_arrows.findings(path, text, lambda _: False), [])


if __name__ == "__main__":
    unittest.main()
