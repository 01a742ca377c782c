"""Names of libraries and programs, whatever the linker's layout."""

import os
import shutil
import struct

import harness

# Functions that must be named, the static ones above all.
NAMES = {"foo_hot", "foo_middle", "foo_run", "main_leaf", "main_callback",
         "main_round", "main"}
FOO_CHAIN = ("main", "main_round", "foo_run", "foo_middle", "foo_hot")
CALLBACK_CHAIN = ("main", "main_round", "foo_run", "main_callback", "main_leaf")


def chains(profile):
    """Stacks of the two hot functions as names from main on, root first."""
    return {tuple(names[names.index("main"):])
            for names in map(without_inlined, hot_samples(profile))}


def without_inlined(sample):
    """Names, root first, without the loop that is inlined into the hot ones."""
    return [name for name in sample.names[::-1] if name != "burn"]


def hot_samples(profile):
    return [sample for sample in profile.samples
            if without_inlined(sample)[-1:] in (["foo_hot"], ["main_leaf"])]


class SY01NamesEverywhereTest(harness.Case):
    """A library's functions are named, static ones included, and pprof's table
    is ours, also after the profile has moved."""

    def check(self, run):
        names = {frame.name for sample in run.profile.samples
                 for frame in sample.frames}
        self.assertLessEqual(NAMES, names)
        self.assertNotIn("[libfoo.so]", names)
        self.assertEqual(chains(run.profile), {FOO_CHAIN, CALLBACK_CHAIN})

    def check_tables(self, path):
        theirs, complaints = harness.pprof_table(path)
        self.assertEqual(complaints, "")
        raw, complaints = harness.pprof_tool("-raw", path)
        self.assertEqual(complaints, "")
        self.assertIn("libfoo.so", raw)
        folded = self.unspool("export", path, "--format", "folded", "-o", "-")
        self.assertEqual(theirs, harness.folded_table(folded))
        # The hot loop is inlined into both: its time is there, and named.
        self.assertGreater(theirs["burn"][0], 0)
        self.assertGreater(theirs["foo_hot"][1], 0)
        return theirs

    def test_pprof_and_folded_agree_here_and_elsewhere(self):
        argv = [harness.program("layout_bfd/foo_main"), "3"]
        plain = self.run_plain(argv)
        run = self.record(argv)
        self.assert_unchanged(run, plain)
        self.check(run)
        table = self.check_tables(run.path)
        elsewhere = os.path.join(self.dir, "elsewhere")
        os.mkdir(elsewhere)
        moved = shutil.move(run.path, elsewhere)
        self.assertEqual(self.check_tables(moved), table)

    def test_preloaded_and_named_later(self):
        argv = [harness.program("layout_bfd/foo_main"), "2"]
        run = self.preload(argv)
        self.check(run)
        # What the agent itself wrote is valid, and pprof finds the files.
        _, complaints = harness.pprof_table(run.path)
        self.assertEqual(complaints, "")


    def test_loaded_by_a_relative_path(self):
        # Relative to where the program is, which is not where we are.
        elsewhere = os.path.join(self.dir, "elsewhere")
        os.mkdir(elsewhere)
        os.symlink(harness.program("layout_bfd/libfoo.so"),
                   os.path.join(elsewhere, "libfoo.so"))
        program = harness.program("loaded_by_name")
        argv = ["sh", "-c", f"cd elsewhere; exec {program} ./libfoo.so 1"]
        for run in (self.record(argv), self.preload(argv)):
            hot_ns = sum(harness.weight(run.profile, sample)
                         for sample in run.profile.samples
                         if "foo_hot" in sample.names)
            self.assertGreater(hot_ns, 0.1 * run.cpu_ns)


class LayoutCase:
    """Segments whose file offset is not their address: the stacks and names
    are those of the bfd-linked build. Mixed into one case per linker."""

    def check_layout(self, layout):
        run = self.record([harness.program(f"{layout}/foo_main"), "2"],
                          name=f"{layout}.pb.gz")
        self.assertEqual(chains(run.profile), {FOO_CHAIN, CALLBACK_CHAIN})
        self.assert_all(hot_samples(run.profile), harness.is_rooted, "rooted")
        self.check_mappings(run.profile)
        table, complaints = harness.pprof_table(run.path)
        self.assertEqual(complaints, "")
        self.assertLessEqual(NAMES, set(table))

    def check_mappings(self, profile):
        """Start and offset are those of an executable segment of the file."""
        named = {os.path.basename(mapping.filename): mapping
                 for mapping in profile.mappings.values()}
        for name in ("foo_main", "libfoo.so"):
            mapping = named[name]
            segments = executable_segments(mapping.filename)
            self.assertIn(mapping.offset, segments)
        self.assertEqual(
            os.path.basename(profile.mappings[1].filename), "foo_main")

    def check_layouts(self, *layouts):
        for layout in layouts:
            with self.subTest(layout):
                self.check_layout(layout)


class EC02LinkerLayoutTest(harness.Case, LayoutCase):
    def test_every_layout_gives_the_same_stacks(self):
        self.check_layouts("layout_bfd", "layout_gold", "layout_lld", "layout_lld_no_pie",
                           "layout_lld_separate_code",
                           "layout_lld_no_rosegment")


class EC15MoldTest(harness.Case, LayoutCase):
    def test_every_layout_gives_the_same_stacks(self):
        self.check_layouts("layout_mold", "layout_mold_no_rosegment",
                           "layout_mold_separate_code", "layout_mold_icf")


def executable_segments(path):
    """File offsets of the executable PT_LOADs, page-aligned as mapped."""
    with open(path, "rb") as file:
        data = file.read()
    (offset,), (size, number) = (struct.unpack_from("<Q", data, 32),
                                 struct.unpack_from("<HH", data, 54))
    result = set()
    for index in range(number):
        kind, flags, file_offset = struct.unpack_from(
            "<IIQ", data, offset + index * size)
        if kind == 1 and flags & 1:
            result.add(file_offset & ~0xFFF)
    return result
