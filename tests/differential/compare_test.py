#!/usr/bin/env python3
"""Tests of compare.py: what differs must be seen.

usage: compare_test.py UNSPOOL EVERY_INSTRUCTION EVERY_INSTRUCTION_ALTERED
"""

import io
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True  # the source tree stays as it is
import compare  # noqa: E402

UNSPOOL, PLAIN, ALTERED = sys.argv[1:4]

HEAD = b"Contents of the .eh_frame section:\n\n\n"
FDE = b"%08x 0000000000000014 0000001c FDE cie=00000000 pc=%016x..%016x\n"
ROWS = b"   LOC           CFA      ra    \n%016x rsp+8    c-8   \n"


def dump(*addresses):
    text = HEAD
    for i, address in enumerate(addresses):
        text += FDE % (0x18 * (i + 1), address, address + 16)
        text += ROWS % address + b"\n"
    return text + b"000000c8 ZERO terminator\n\n\n"


def compare_texts(ours, theirs):
    result = compare.Result()
    compare.compare_streams(io.BytesIO(ours), io.BytesIO(theirs), result)
    return result


class CompareStreams(unittest.TestCase):
    def test_counts_what_is_equal(self):
        result = compare_texts(dump(0x1000, 0x2000), dump(0x1000, 0x2000))
        self.assertTrue(result.ok())
        self.assertEqual((result.fdes, result.lines), (2, 2))

    def test_sees_one_changed_row(self):
        theirs = dump(0x1000, 0x2000)
        ours = theirs.replace(b"%016x rsp+8 " % 0x2000, b"%016x rsp+9 " % 0x2000)
        result = compare_texts(ours, theirs)
        self.assertEqual(result.differences, 1)
        self.assertIn("rsp+9", result.reports[0])

    def test_sees_a_missing_row(self):
        theirs = dump(0x1000, 0x2000)
        ours = theirs.replace(b"%016x rsp+8    c-8   \n" % 0x1000, b"")
        self.assertEqual(compare_texts(ours, theirs).differences, 1)
        self.assertEqual(compare_texts(theirs, ours).differences, 1)

    def test_sees_a_missing_entry_and_goes_on_behind_it(self):
        whole = dump(0x1000, 0x2000, 0x3000)
        begin = whole.index(FDE % (0x30, 0x2000, 0x2010))
        end = whole.index(FDE % (0x48, 0x3000, 0x3010))
        partial = whole[:begin] + whole[end:]
        self.assertEqual(compare_texts(partial, whole).differences, 3)
        self.assertEqual(compare_texts(whole, partial).differences, 3)

    def test_sees_an_end_that_comes_early(self):
        whole = dump(0x1000, 0x2000)
        self.assertGreater(compare_texts(whole[:-80], whole).differences, 0)
        self.assertGreater(compare_texts(b"", whole).differences, 0)

    def test_compares_every_section(self):
        both = dump(0x1000) + dump(0x2000).replace(b".eh_frame", b".debug_frame")
        result = compare_texts(both, both)
        self.assertTrue(result.ok())
        self.assertEqual(result.fdes, 2)
        self.assertGreater(compare_texts(dump(0x1000), both).differences, 0)
        self.assertGreater(compare_texts(both, dump(0x1000)).differences, 0)

    def test_skips_what_stands_before_the_first_section(self):
        said = b"\nSection '.eh_frame' has no debugging data.\n"
        self.assertTrue(compare_texts(dump(0x1000), said + dump(0x1000)).ok())

    def test_does_not_depend_on_where_reads_end(self):
        text = dump(*range(0x1000, 0x1400, 16))
        size = compare.CHUNK_SIZE
        whole = list(compare.blocks(io.BytesIO(text)))
        self.assertEqual(len(whole), 1 + 64 + 1)  # head, FDEs, terminator
        try:
            for compare.CHUNK_SIZE in (1, 7, 100):
                self.assertEqual(list(compare.blocks(io.BytesIO(text))), whole)
        finally:
            compare.CHUNK_SIZE = size


class CompareFiles(unittest.TestCase):
    def test_finds_the_one_altered_offset(self):
        for mode, ours in (("rows", "rsp+16   c-16"), ("opcodes", "at cfa-16")):
            with self.subTest(mode):
                result = compare.compare(UNSPOOL, mode, PLAIN, ALTERED)
                self.assertEqual(result.differences, 1)
                self.assertEqual(result.failures, [])
                self.assertIn(ours, result.reports[0])
                self.assertIn(ours.replace("-16", "-24"), result.reports[0])

    def test_reports_a_side_that_fails(self):
        with tempfile.TemporaryDirectory() as directory:
            cut = os.path.join(directory, "cut")
            with open(PLAIN, "rb") as source, open(cut, "wb") as target:
                target.write(source.read(100))
            self.assertTrue(compare.compare(UNSPOOL, "rows", cut).failures)
        self.assertTrue(compare.compare(UNSPOOL, "rows", "/missing").failures)
        self.assertTrue(compare.compare("/bin/false", "rows", PLAIN).failures)

    def test_exit_status_tells(self):
        def status(*arguments):
            script = compare.__file__
            command = [sys.executable, script, "--unspool", UNSPOOL, *arguments]
            return subprocess.run(command, stdout=subprocess.DEVNULL).returncode

        self.assertEqual(status("rows", PLAIN), 0)
        self.assertEqual(status("--theirs", ALTERED, "rows", PLAIN), 1)
        self.assertEqual(status("rows", os.path.realpath(__file__)), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
