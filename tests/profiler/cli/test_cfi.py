"""unspool cfi: one row or all, what is damaged, what has none. That rows and
instructions are readelf's is tests/differential's business."""

import re
import struct
import subprocess
import unittest

import cli

# One byte per instruction, so that addresses are known.
SOURCE = """
    .text
    .globl first
first:
    .cfi_startproc
    nop
    .cfi_adjust_cfa_offset 8
    .cfi_offset rbx, -16
    nop
    nop
    .cfi_def_cfa_offset 8
    nop
    .cfi_endproc
    .globl second
second:
    .cfi_startproc
    nop
    .cfi_escape 0x0f, 3, 0x77, 8, 6
    nop
    .cfi_endproc
"""
ROW_AT_1 = "%016x rsp+16   c-16  c-8   \n"


def address(value):
    return f"{value:016x}"


class Cfi(cli.Case):

    def setUp(self):
        super().setUp()
        self.build("lib.so", "-shared")
        symbols = self.tool("nm", "-D", "lib.so")
        self.first = int(re.search(r"(\w+) T first", symbols).group(1), 16)

    def tool(self, *command, **options):
        return subprocess.run(command, cwd=self.dir, check=True, text=True,
                              stdout=subprocess.PIPE, **options).stdout

    def build(self, name, *flags):
        self.tool("gcc", "-nostdlib", "-x", "assembler", "-", *flags, "-o",
                  name, input=SOURCE)

    def cfi(self, *arguments):
        run = self.run_tool("cfi", *arguments)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.stdout

    def test_a_file_is_shown_in_readelfs_words(self):
        for ours, theirs in (([], "frames-interp"), (["--raw"], "frames")):
            self.assertEqual(
                self.cfi("lib.so", *ours),
                self.tool("readelf", f"--debug-dump={theirs}", "lib.so"))

    def test_a_pc_gives_the_row_that_holds_there(self):
        for offset in (1, 2):
            for style in ("%x", "0x%x"):
                text = self.cfi("lib.so", "--pc", style % (self.first + offset))
                self.assertTrue(text.endswith(
                    "   LOC           CFA      rbx   ra    \n" +
                    ROW_AT_1 % (self.first + 1) + "\n"), text)
                self.assertEqual(text.count(" FDE "), 1)
        self.assertIn(f"{address(self.first)} rsp+8    u     c-8   \n",
                      self.cfi("lib.so", "--pc", hex(self.first)))

    def test_a_pc_gives_the_instructions_of_its_fde_and_cie(self):
        text = self.cfi("lib.so", "--raw", "--pc", hex(self.first + 5))
        self.assertEqual(re.findall(r"CIE$|FDE", text, re.MULTILINE),
                         ["CIE", "FDE"])
        self.assertIn("DW_CFA_def_cfa_expression "
                      "(DW_OP_breg7 (rsp): 8; DW_OP_deref)\n", text)
        self.assertNotIn("DW_CFA_offset: r3 (rbx)", text)

    def test_without_section_headers_the_search_table_leads_there(self):
        with open(self.dir / "lib.so", "r+b") as file:
            file.seek(40)  # e_shoff
            file.write(bytes(8))
            file.seek(58)  # e_shentsize, e_shnum, e_shstrndx
            file.write(bytes(6))
        self.assertIn(ROW_AT_1 % (self.first + 1), self.cfi("lib.so"))

    def test_what_is_malformed_costs_its_own_entry(self):
        whole = self.contents("lib.so")
        at = whole.index(bytes.fromhex("410e108302"))  # the rows of `first`
        (self.dir / "bad").write_bytes(whole[:at] + b"\x3f" + whole[at + 1:])
        run = self.run_tool("cfi", "bad")
        self.assert_one_line(run, 1, "'bad'", ".eh_frame is malformed at "
                             "offset 0x18")
        self.assertIn(f"{address(self.first + 5)} exp ", run.stdout)
        self.assertIn("\n00000018 malformed\n", run.stdout)

    def test_a_length_that_is_malformed_costs_the_rest(self):
        whole = self.contents("lib.so")
        fde = whole.index(bytes.fromhex("410e108302")) - 17
        (self.dir / "bad").write_bytes(
            whole[:fde] + struct.pack("<I", 0x7fffffff) + whole[fde + 4:])
        run = self.run_tool("cfi", "bad")
        self.assert_one_line(run, 1, "offset 0x18", "the rest cannot be read")
        self.assertIn("CIE", run.stdout)

    def test_what_cannot_be_shown_is_one_line(self):
        self.tool("objcopy", "-R", ".eh_frame", "-R", ".eh_frame_hdr",
                  "lib.so", "none.so")
        self.tool("objcopy", "--add-section", ".debug_frame=lib.so",
                  "--set-section-flags", ".debug_frame=readonly,debug",
                  "lib.so", "compressed.so")
        self.tool("objcopy", "--compress-debug-sections=zlib", "compressed.so")
        packed = bytearray(self.contents("compressed.so"))
        packed[packed.index(b"\x78\x9c") + 20] ^= 0xff
        (self.dir / "corrupt.so").write_bytes(packed)
        (self.dir / "text").write_text("no ELF")
        (self.dir / "cut.so").write_bytes(self.contents("lib.so")[:0x400])
        rows = [
            (["none.so"], ["none.so", "neither .eh_frame nor .debug_frame"]),
            (["cut.so"], ["'cut.so'", "section headers are", "beyond the end"]),
            (["corrupt.so"], [".debug_frame does not decompress"]),
            (["lib.so", "--pc", "1"], ["no FDE covers 0x1", "lib.so"]),
            (["text"], ["'text'", "not an ELF file"]),
            (["missing"], ["'missing'", "No such file"]),
            (["."], ["'.'", "directory"]),
            ([cli.PROGRAMS / "spin32"], ["not a 64-bit ELF file"]),
        ]
        for arguments, words in rows:
            with self.subTest(arguments):
                self.assert_one_line(self.run_tool("cfi", *arguments), 1,
                                     *words)

    def test_a_bad_command_line_is_status_2(self):
        for arguments, words in (
                ([], ["FILE", "cfi --help"]),
                (["lib.so", "--pc", "main"], ["'main'", "--pc", "hexa"]),
                (["lib.so", "--pc", ""], ["''", "--pc"]),
                (["lib.so", "--pc", "1" * 17], ["--pc", "hexa"])):
            with self.subTest(arguments):
                self.assert_one_line(self.run_tool("cfi", *arguments), 2,
                                     *words)


if __name__ == "__main__":
    unittest.main()
