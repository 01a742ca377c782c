"""The handler's stack: at most 4 KiB from the signal handler's first
instruction. UNSPOOL_BUILD_DIR names the build directory; its compile commands
are used again. Figures of an unoptimized build say nothing about users'."""

import json
import os
import pathlib
import tempfile
import unittest

import fence
import handler_stack
import source_tree

BUILD = pathlib.Path(os.environ["UNSPOOL_BUILD_DIR"])
LIMIT_BYTES = 4096


def fenced_entries():
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    for entry in entries:
        path = pathlib.Path(entry["file"])
        if not path.is_relative_to(source_tree.ROOT):
            continue
        path = str(path.relative_to(source_tree.ROOT))
        if fence.is_handler_source(path):
            yield entry


class HandlerStack(unittest.TestCase):

    def test_the_deepest_path_from_the_handler_is_within_the_limit(self):
        with tempfile.TemporaryDirectory() as directory:
            graph = handler_stack.build_graph(list(fenced_entries()), directory)
        size, path = handler_stack.deepest(
            graph, fence.HANDLER, fence.allowed_symbols(),
            fence.INDIRECT_CALLS)
        print(f"{size} bytes: " + " > ".join(path))
        self.assertGreater(len(path), 5)
        self.assertLessEqual(size, LIMIT_BYTES, path)


class StackOfSmallGraphs(unittest.TestCase):

    SOURCE = """
        extern "C" {
        void Outside(char*);
        __attribute__((noinline)) void Leaf(char* p) { Outside(p); }
        __attribute__((noinline)) void Big() { char b[1000]; Leaf(b); }
        __attribute__((noinline)) void Small() { char b[10]; Leaf(b); }
        void Root(int n) { if (n) Big(); else Small(); Outside(nullptr); }
        __attribute__((noinline)) int Again(int n, char* p) {
          Outside(p);
          char b[16];
          return n ? Again(n - 1, b) + 1 : 0;
        }
        void Pointer(void (*f)(int)) { f(1); Outside(nullptr); }
        }
    """

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        source = pathlib.Path(directory.name, "a.cc")
        source.write_text(self.SOURCE)
        self.graph = handler_stack.build_graph(
            [{"command": f"g++ -O1 -fno-optimize-sibling-calls -o a.o -c {source}",
              "file": str(source), "directory": directory.name}],
            directory.name)

    def deepest(self, root, external=None, indirect=None):
        return handler_stack.deepest(self.graph, root,
                                     external or {"Outside": 100},
                                     indirect or {})

    def test_the_deepest_of_several_paths_counts(self):
        size, path = self.deepest("Root")
        self.assertEqual(path, ["Root", "Big", "Leaf", "Outside"])
        self.assertGreater(size, 1100)
        self.assertLess(size, 1300)

    def test_calls_through_a_listed_pointer_count(self):
        size, path = self.deepest("Pointer", indirect={"Pointer": {"Root"}})
        self.assertEqual(path[:3], ["Pointer", "Root", "Big"])

    def test_what_has_no_bound_is_an_error(self):
        rows = [("Again", {}, "recursion"),
                ("Leaf", {"external": {"Other": 1}}, "not listed"),
                ("Pointer", {}, "pointer")]
        for root, options, words in rows:
            with self.subTest(root):
                with self.assertRaisesRegex(handler_stack.StackError, words):
                    self.deepest(root, **options)


if __name__ == "__main__":
    unittest.main()
