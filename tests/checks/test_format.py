import pathlib
import subprocess
import tempfile
import unittest

import source_tree

MAX_LINES = 400


def badly_formatted(paths, root):
    """What clang-format would change, as its own messages."""
    run = subprocess.run(
        ["clang-format", "--style=file:" + str(root / ".clang-format"),
         "--dry-run", "-Werror", *paths],
        cwd=root, stderr=subprocess.PIPE, text=True)
    return run.stderr if run.returncode != 0 else ""


class Format(unittest.TestCase):

    def test_the_tree_is_as_clang_format_writes_it(self):
        paths = source_tree.sources(suffixes={".h", ".cc", ".c"})
        self.assertEqual(badly_formatted(paths, source_tree.ROOT), "")

    def test_a_badly_formatted_file_is_found(self):
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory, "a.cc")
            path.write_text("int  f( ){return 1 ;}\n")
            self.assertIn("a.cc", badly_formatted([path], source_tree.ROOT))


class Length(unittest.TestCase):

    def test_no_source_is_longer_than_400_lines(self):
        long = [f"{path}: {lines}" for path in source_tree.sources()
                if (lines := len((source_tree.ROOT / path).read_text()
                                 .splitlines())) > MAX_LINES]
        self.assertEqual(long, [])


if __name__ == "__main__":
    unittest.main()
