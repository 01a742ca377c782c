"""Where unwind data and code may be: .debug_frame of the program or of its debug
file, .eh_frame without a search table, segments far apart."""

import os
import re
import shutil
import struct
import subprocess

import harness

INNER = ["main", "top", "middle", "leaf"]


def is_whole(sample):
    """Rooted, with all callers of the hot function, libc's qsort() between."""
    names = [name for name in sample.names[::-1] if name in INNER]
    return (harness.is_rooted(sample) and names == INNER and
            any("qsort" in name for name in sample.names) and
            sample.labels.get("unwind") is None)


def is_marked(sample):
    """Not claimed to be right."""
    return (harness.truncation(sample) or
            sample.labels.get("unwind") == "guessed")


class Case(harness.Case):
    """Runs builds of chain.c."""

    def hot(self, run):
        return [sample for sample in run.profile.samples
                if "leaf" in sample.names]

    def check(self, run):
        self.assert_all(self.hot(run), is_whole, "whole")

    def copy(self, name):
        """A copy that may be changed."""
        return shutil.copy(harness.program(name), self.dir)

    def record_and_check(self, *programs):
        for program in programs:
            self.run_and_check([os.path.join(harness.PROGRAMS, program)])

    def load_and_check(self, *libraries):
        for library in libraries:
            self.run_and_check([harness.program("chain_plugin"), library])

    def run_and_check(self, argv):
        name = os.path.basename(argv[-1])
        with self.subTest(name):
            argv = [*argv, "0.7"]
            run = self.record(argv, name=name + ".gz")
            self.assert_unchanged(run, self.run_plain(argv))
            self.check(run)

    def tool(self, *command):
        subprocess.run(command, check=True, cwd=self.dir, timeout=60)


class EC03DebugFrameTest(Case):
    """Programs whose call-frame information is in .debug_frame, or part of
    it."""

    def test_in_the_program(self):
        self.record_and_check("debug_frame_O0", "debug_frame_O2",
                              "debug_frame_pie", "debug_frame_64",
                              "debug_frame_mixed")

    def test_preloaded(self):
        self.check(self.preload([harness.program("debug_frame_O2"), "0.7"]))

    def test_compressed(self):
        for method in ("zlib", "zlib-gnu", "zstd"):
            with self.subTest(method):
                program = self.copy("debug_frame_O2")
                self.tool("objcopy", f"--compress-debug-sections={method}",
                          program)
                self.check(self.record([program, "0.7"]))

    def split(self, name="debug_frame_O2", debugged="debug_frame_O2"):
        """(program without debug data, its debug file, linked to it)."""
        program = self.copy(name)
        debug = program + ".debug"
        self.tool("objcopy", "--only-keep-debug", harness.program(debugged),
                  debug)
        self.tool("strip", program)
        self.tool("objcopy", f"--add-gnu-debuglink={debug}", program)
        return program, debug

    def test_in_a_debug_file_by_link(self):
        program, _ = self.split()
        self.check(self.record([program, "0.7"]))

    def test_in_the_debug_file_of_a_program_that_was_moved_since(self):
        program, _ = self.split("debug_frame_moved", "debug_frame_unmoved")
        run = self.record([program, "0.7"])
        hot = [sample for sample in run.profile.samples
               if sample.frames[0].module.endswith("debug_frame_moved")]
        self.assert_all(hot, harness.is_rooted, "rooted")
        self.assert_all(hot, lambda sample: not is_marked(sample), "unmarked")

    def test_not_in_a_debug_file_with_another_checksum(self):
        program, debug = self.split()
        with open(debug, "ab") as file:
            file.write(b"\0")
        run = self.record([program, "0.7"])
        hot = [sample for sample in run.profile.samples
               if sample.frames[0].module.endswith("debug_frame_O2")]
        self.assert_all(hot, is_marked, "marked")

    def test_in_a_debug_file_by_build_id(self):
        program, debug = self.split()
        self.tool("objcopy", "--remove-section=.gnu_debuglink", program)
        notes = subprocess.run(["readelf", "-n", program], check=True,
                               capture_output=True, text=True).stdout
        build_id = notes.split("Build ID: ")[1].split()[0]
        folder = os.path.join(self.dir, "debug", ".build-id", build_id[:2])
        os.makedirs(folder)
        shutil.move(debug, os.path.join(folder, build_id[2:] + ".debug"))
        # As root of a user namespace of its own anybody may mount.
        prefix = ["unshare", "-rm", "sh", "-c",
                  'mount --bind "$0" /usr/lib/debug && exec "$@"',
                  os.path.join(self.dir, "debug")]
        self.check(self.record([program, "0.7"], prefix=prefix))


    def test_in_a_library_that_is_loaded(self):
        library = self.copy("libchain_debug_frame.so")
        self.load_and_check(library)
        self.tool("objcopy", "--only-keep-debug", library, "kept.debug")
        self.tool("strip", library)
        self.tool("objcopy", "--add-gnu-debuglink=kept.debug", library)
        self.load_and_check(library)


class EC04NoSearchTableTest(Case):
    """.eh_frame_hdr is missing, empty, damaged or has no table."""

    def changed(self, name, change, of="chain"):
        """A copy of a program or library, changed at its .eh_frame_hdr:
        change(bytes, offset of the program header, of the contents)."""
        path = os.path.join(self.dir, name)
        shutil.copy(harness.program(of), path)
        with open(path, "r+b") as file:
            data = bytearray(file.read())
            first, = struct.unpack_from("<Q", data, 32)
            count, = struct.unpack_from("<H", data, 56)
            headers = [first + 56 * index for index in range(count)]
            header, = (at for at in headers
                       if struct.unpack_from("<I", data, at) == (0x6474E550,))
            change(data, header, struct.unpack_from("<Q", data, header + 8)[0])
            file.seek(0)
            file.write(data)
        return path

    @staticmethod
    def omit_table(data, header, at):
        data[at + 3] = 0xFF

    @staticmethod
    def empty(data, header, at):
        struct.pack_into("<QQ", data, header + 32, 0, 0)

    @staticmethod
    def zero(data, header, at):
        data[at:at + 8] = bytes(8)

    def test_an_index_is_built(self):
        self.record_and_check("chain_no_eh_frame_hdr",
                              self.changed("omit_table", self.omit_table),
                              self.changed("empty", self.empty),
                              self.changed("zero", self.zero))

    def test_an_index_is_built_of_a_library_that_is_loaded(self):
        of = "libchain.so"
        self.load_and_check(harness.program("libchain_no_hdr.so"),
                            self.changed("omit_table", self.omit_table, of),
                            self.changed("empty", self.empty, of),
                            self.changed("zero", self.zero, of))

    def test_a_library_is_found_along_its_caller(self):
        # By DT_RUNPATH of the program, not of the agent.
        self.load_and_check("libchain_no_hdr.so")

    def test_without_section_headers(self):
        def cut(data, header, at):
            struct.pack_into("<Q", data, 40, 0)
            struct.pack_into("<HH", data, 60, 0, 0)

        run = self.record([self.changed("cut", cut), "0.7"])
        own = [sample for sample in run.profile.samples
               if sample.frames[0].module == "cut"]
        self.assert_all(own, harness.is_rooted, "rooted")
        self.assert_all(own, lambda sample: not is_marked(sample), "unmarked")

    def test_without_any_unwind_data(self):
        run = self.record([harness.program("chain_no_cfi"), "0.7"])
        self.assertEqual(run.stdout, b"done 1\n")
        self.assert_all(self.hot(run), is_marked, "marked")


class EC14ExecutableSegmentsTest(Case):
    """Code in several segments, with other addresses than offsets."""

    def test_each_is_its_own_mapping(self):
        self.record_and_check("chain_segments")

    def test_moved_to_anonymous_memory(self):
        self.record_and_check("huge_text")


class EC19FarCodeTest(Case):
    """Nothing in 32 bits on the way from address to name."""

    def test_5_gib_apart(self):
        self.record_and_check("chain_5_gib")


class EC17StaleDebugFrameTest(Case):
    """.eh_frame wins over a .debug_frame that is another build's."""

    def test_eh_frame_is_believed(self):
        section = os.path.join(self.dir, "section")
        self.tool("objcopy", "-O", "binary", "--only-section=.debug_frame",
                  "--set-section-flags", ".debug_frame=alloc",
                  harness.program("chain_old_frames"), section)
        program = self.copy("chain")
        self.tool("objcopy", f"--add-section=.debug_frame={section}", program)
        self.record_and_check(program)


class EC17LeftOverFdesTest(harness.Case):
    """FDEs that are empty, that begin at 0, that are doubled or too long:
    beside each function's own."""

    def test_a_functions_own_fde_is_believed(self):
        self.check("odd_ranges_bfd", empty=4, at_zero=2, doubled=1)
        self.check("odd_ranges_gold", empty=0, at_zero=0, doubled=1)
        self.check("odd_ranges_lld", empty=3, at_zero=0, doubled=1)
        self.check("odd_ranges_mold", empty=3, at_zero=0, doubled=1)

    def check(self, name, **expected):
        with self.subTest(name):
            program = harness.program(name)
            self.assertEqual(self.ranges(program), expected)
            argv = [program, "0.7"]
            run = self.record(argv, name=name + ".gz")
            self.assert_unchanged(run, self.run_plain(argv))
            spinning = [sample for sample in run.profile.samples
                        if "spin" in sample.names]
            for function in ("has_empty", "has_duplicate", "inside"):
                self.assert_all(
                    [sample for sample in spinning
                     if function in sample.names],
                    lambda sample, names=["main", "caller", function, "spin"]:
                    self.is_whole(sample, names), "whole")
            self.assertEqual({sample.names[sample.names.index("spin") + 1]
                              for sample in spinning},
                             {"has_empty", "has_duplicate", "inside"})

    @staticmethod
    def is_whole(sample, expected):
        names = [name for name in sample.names[::-1] if name != "burn"]
        return (harness.is_rooted(sample) and "unwind" not in sample.labels and
                names[names.index("main"):] == expected)

    @staticmethod
    def ranges(program):
        """How many FDEs are so: what the linker has left of odd_ranges.S."""
        text = subprocess.run(["readelf", "--debug-dump=frames", program],
                              check=True, capture_output=True, text=True).stdout
        ranges = re.findall(r" pc=(\w+)\.\.(\w+)", text)
        whole = [(start, end) for start, end in ranges if start != end]
        return {"empty": len(ranges) - len(whole),
                "at_zero": sum(int(start, 16) == 0 for start, _ in ranges),
                "doubled": len(whole) - len(set(whole))}


class EC20StaticTest(Case):
    """Static programs with libunspool.a linked in."""

    def test_static_and_static_pie(self):
        self.record_and_check("chain_static", "chain_static-pie",
                              "debug_frame_static", "debug_frame_static-pie")
