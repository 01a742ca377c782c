"""What others read in our profiles: mappings, build ids, units, totals; and how
often names are looked up. The rules that hold for every profile are
pprof_check's."""

import os
import re
import shutil
import subprocess

import harness
import pprof_decode

class PF01NamedOnceTest(harness.Case):
    """Naming asks no helper process, and opens the program's file once."""

    def test_calls(self):
        program = os.path.realpath(harness.program("worker_threads"))
        run = self.preload([program, "5"])
        calls = os.path.join(self.dir, "calls")
        subprocess.run(
            ["strace", "-f", "-o", calls, "-e", "trace=execve,openat,open",
             harness.UNSPOOL, "export", run.path, "-o",
             os.path.join(self.dir, "named.pb.gz")],
            capture_output=True, check=True, timeout=60)
        with open(calls) as file:
            text = file.read()
        self.assertEqual(text.count("execve("), 1)
        self.assertEqual(text.count(f'"{program}"'), 1)


class OF01OddAddressesTest(harness.Case):
    """Code in the vDSO, generated at run time, of a library that is unloaded
    since, and no code at 0, at the last address and in the kernel's part: each
    has a mapping that holds it, and no reader complains."""

    # Where the program went wrong; the last address of all is the limit of a
    # range that must end before it.
    NOWHERE = (0, (1 << 64) - 2, 0xffffffff81000000)

    def frames_of(self, profile, function):
        """Frames that `function` called, with their weight in nanoseconds."""
        result = {}
        for sample in profile.samples:
            if function in sample.names[1:]:
                frame = sample.frames[sample.names.index(function) - 1]
                result[frame] = (result.get(frame, 0) +
                                 harness.weight(profile, sample))
        return result

    def check(self, run):
        profile = run.profile
        self.assertIn("[vdso]", {
            frame.module for sample in profile.samples
            for frame in sample.frames if "ask_the_time" in sample.names})
        generated = self.frames_of(profile, "run_generated")
        self.assertIn(max(generated, key=generated.get).module,
                      ("[jit]", "[unknown]"))
        self.assertEqual({frame.module for frame in self.frames_of(
            profile, "run_library") if frame.name == "foo_run"}, {"libfoo.so"})
        nowhere = self.frames_of(profile, "call_nothing")
        for address in self.NOWHERE:
            self.assertIn(address, {frame.address for frame in nowhere})
        self.assertEqual(os.path.basename(profile.mappings[1].filename),
                         "odd_addresses")

    def check_readers(self, path):
        table, complaints = harness.pprof_table(path)
        self.assertEqual(complaints, "")
        self.assertIn("call_nothing", table)

    def test_every_address_has_a_mapping(self):
        argv = [harness.program("odd_addresses"),
                harness.program("layout_bfd/libfoo.so")]
        plain = self.run_plain(argv)
        for run in (self.record(argv), self.preload(argv)):
            self.assert_unchanged(run, plain)
            self.check(run)
            self.check_readers(run.path)


def build_id_by_readelf(path):
    text = subprocess.run(["readelf", "-n", path], capture_output=True,
                          text=True, check=True).stdout
    match = re.search(r"Build ID: ([0-9a-f]+)", text)
    return match[1] if match else ""


class OF02BuildIdsTest(harness.Case):
    """A mapping's build id is the file's, of whatever length, and none if the
    file has none."""

    PROGRAMS = {
        "sha1": [harness.program("layout_bfd/foo_main"), "0.5"],
        "eight bytes, lld": [harness.program("layout_lld/foo_main"), "0.5"],
        "none": [harness.program("no_build_id"), "single", "0.5"],
        "a shell": ["bash", "-c", "for ((i = 0; i < 100000; ++i)); do :; done; "
                    f"{harness.program('totals')} single 0.2"],
    }

    def test_equal_to_readelf(self):
        lengths = set()
        for name, argv in self.PROGRAMS.items():
            profile = self.record(argv, name="build-ids.pb.gz").profile
            files = [mapping for mapping in profile.mappings.values()
                     if mapping.filename.startswith("/")]
            for mapping in files:
                with self.subTest(program=name, file=mapping.filename):
                    self.assertEqual(mapping.build_id,
                                     build_id_by_readelf(mapping.filename))
                lengths.add(len(mapping.build_id))
        self.assertLessEqual({0, 16, 40}, lengths)


class OF04UnitsTest(harness.Case):
    """Whatever the rate, and whether the kernel reaches it: values add up to
    the CPU time, the period is the one that was asked for, and samples are not
    more than the periods that fit, by a clock that runs on while a hypervisor
    has the CPU."""

    CPU_SECONDS = "1"

    def check(self, run, frequency, threads):
        profile = run.profile
        self.assertEqual(profile.period_type, ("cpu", "nanoseconds"))
        self.assertEqual(profile.period, 10**9 // frequency)
        self.assertAlmostEqual(profile.total("cpu") / run.cpu_ns, 1,
                               delta=0.03)
        self.assertLessEqual(profile.total("samples"),
                             1.25 * run.cpu_ns / profile.period + threads)
        # Two threads, two processors at most.
        self.assertGreaterEqual(profile.duration_nanos,
                                0.9 * run.cpu_ns / threads)

    def test_rates_and_threads(self):
        unspool, _ = harness.copy_product(self.dir)
        argv = [shutil.copy(harness.program("totals"), self.dir), "threads",
                self.CPU_SECONDS]
        for user, prefix in harness.identities():
            for frequency in (99, 1000, 4000):
                for threads in (1, 2):
                    with self.subTest(user=user, frequency=frequency,
                                      threads=threads):
                        run = self.record([*argv, str(threads)], frequency,
                                          prefix, unspool,
                                          f"{user}-{frequency}-{threads}.pb.gz")
                        self.check(run, frequency, threads)

    def test_a_run_without_cpu_time(self):
        path = os.path.join(self.dir, "idle.pb.gz")
        result = subprocess.run(
            # The first tick comes at random within a period: of a long one.
            [harness.UNSPOOL, "record", "-F", "1", "-o", path, "--", "sleep",
             "0.1"],
            capture_output=True, text=True, timeout=harness.RUN_TIMEOUT_SECONDS)
        self.assertEqual(result.returncode, 0)
        self.assertIn("hardly any CPU time", result.stderr)
        profile = pprof_decode.load(path)
        self.assertEqual(profile.total("samples"), 0)
        self.assertGreater(profile.duration_nanos, 0.1e9)
        self.assertEqual(harness.pprof_table(path), ({}, ""))


class OF08OffHostTest(harness.Case):
    """A profile without names leaves the machine; the files are found by build
    id elsewhere, and give the names that they give here."""

    def stacks(self, path, binaries=""):
        """{names, leaf first, up to main: ns} of pprof's traces through our
        files; libc's aliases are not chosen as we choose them."""
        text, complaints = harness.pprof_tool(
            "-traces", "-unit=ns", path, tool=[harness.PPROF],
            binaries=binaries)
        self.assertEqual(complaints, "")
        stacks = {}
        for block in text.split("-----------+")[1:]:
            match = re.search(r"^ *(\d+)(?:ns)?   (.*(?:\n {13}.*)*)", block,
                              re.MULTILINE)
            if match and "foo_run" in match[2]:
                names = re.sub(r" \(inline\)", "", match[2]).split()
                key = tuple(names[:names.index("main") + 1])
                stacks[key] = stacks.get(key, 0) + int(match[1])
        return stacks

    def test_symbolized_by_build_id_on_another_path(self):
        program, library = (
            shutil.copy(harness.program(name), self.dir)
            for name in ("loaded_by_name", "layout_bfd/libfoo.so"))
        run = self.preload([program, library, "1"])
        here = self.stacks(os.path.join(self.dir, "named-preload.pb.gz"))
        elsewhere = os.path.join(self.dir, "elsewhere")
        for mapping in run.profile.mappings.values():
            if mapping.filename.startswith(self.dir):
                folder = os.path.join(elsewhere, mapping.build_id)
                os.makedirs(folder)
                shutil.move(mapping.filename, folder)
        self.assertEqual(len(os.listdir(elsewhere)), 2)
        there = self.stacks(run.path, elsewhere)
        self.assertEqual(there, here)
        self.assertIn(("burn", "foo_hot", "foo_middle", "foo_run", "main"),
                      there)
