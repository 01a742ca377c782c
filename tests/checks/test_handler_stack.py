"""The handler's stacks: at most 512 bytes of the one that is interrupted, and
4 KiB of the thread state's. UNSPOOL_BUILD_DIR names the build directory; its compile commands
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
INTERRUPTED_LIMIT_BYTES = 512
LIMIT_BYTES = 4096


def fenced_entries():
    entries = json.loads((BUILD / "compile_commands.json").read_text())
    for entry in entries:
        path = pathlib.Path(entry["file"])
        if not path.is_relative_to(source_tree.ROOT):
            continue
        path = str(path.relative_to(source_tree.ROOT))
        if path.endswith(".cc") and fence.is_handler_source(path):
            yield entry


def library_bytes(graph):
    """What is below functions that GCC gives no figures for."""
    sizes = fence.allowed_symbols()
    for name, (own, callee) in fence.ASSEMBLY.items():
        below = handler_stack.deepest(graph, full_name(graph, callee), sizes,
                                      fence.INDIRECT_CALLS)[0] if callee else 0
        sizes[name] = own + below
    return sizes


def full_name(graph, name):
    """Local functions are titled "file:name"."""
    return next(key for key in graph.sizes if handler_stack.strip(key) == name)


class HandlerStack(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as directory:
            cls.graph = handler_stack.build_graph(list(fenced_entries()),
                                                  directory)
        cls.graph.calls[fence.HANDLER].discard(fence.FORWARD)

    def deepest(self, root):
        size, path = handler_stack.deepest(
            self.graph, root, library_bytes(self.graph), fence.INDIRECT_CALLS)
        print(f"{size} bytes: " + " > ".join(path))
        return size, path

    def test_a_tick_takes_little_of_the_stack_that_it_interrupts(self):
        size, path = self.deepest(fence.HANDLER)
        self.assertLessEqual(size, INTERRUPTED_LIMIT_BYTES, path)

    def test_the_deepest_path_of_a_tick_is_within_the_limit(self):
        size, path = self.deepest(fence.TICK)
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
