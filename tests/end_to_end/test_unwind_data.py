"""Where unwind data may be: .debug_frame of the program or of its debug file,
.eh_frame without a search table."""

import os
import shutil
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

    def tool(self, *command):
        subprocess.run(command, check=True, cwd=self.dir, timeout=60)


class EC03DebugFrameTest(Case):
    """Programs whose call-frame information is in .debug_frame, or part of
    it."""

    def test_in_the_program(self):
        for name in ("debug_frame_O0", "debug_frame_O2", "debug_frame_pie",
                     "debug_frame_64", "debug_frame_mixed"):
            with self.subTest(name):
                argv = [harness.program(name), "0.7"]
                run = self.record(argv, name=f"{name}.pb.gz")
                self.assert_unchanged(run, self.run_plain(argv))
                self.check(run)

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
