"""Libraries that come and go under the sampler, and exceptions in tight loops.
A deadlock shows as a timeout, a crash as a status."""

import re

import harness

TRUNCATED = re.compile(
    r"\[truncated: (no-cfi|bad-memory|depth|loop|bad-cfi|no-register)\]")


class DL01LoaderLockTest(harness.Case):
    """Ticks that land while the thread holds the loader's lock."""

    def check(self, record):
        run = record([harness.program("exception_storm"), "2"])
        self.assertEqual(run.status, 0, run.stderr)
        match = re.fullmatch(rb"thrown (\d+) caught (\d+) loads (\d+)\n",
                             run.stdout)
        self.assertTrue(match, run.stdout)
        self.assertEqual(match[1], match[2])
        stacks = [sample for sample in run.profile.samples
                  if not harness.is_pseudo(sample)]
        self.assert_all(stacks, lambda sample: harness.is_rooted(sample) or
                        TRUNCATED.fullmatch(sample.names[-1]),
                        "rooted or marked as truncated")
        for place in (lambda frame: frame.name.startswith("_Unwind_"),
                      lambda frame: frame.module.startswith("ld-linux")):
            inside = sum(harness.count(run.profile, sample)
                         for sample in stacks if any(map(place, sample.frames)))
            self.assertGreaterEqual(inside, harness.ENOUGH_SAMPLES)

    def test_under_record(self):
        self.check(self.record)

    def test_preloaded(self):
        self.check(self.preload)


class CR02LandingTest(harness.Case):
    """Exceptions at any moment of their flight, of code with and without frame
    pointers: libgcc writes over saved registers before it lands."""

    def check(self, name):
        run = self.record([harness.program(name), "3"])
        stacks = [sample for sample in run.profile.samples
                  if not harness.is_pseudo(sample)]
        count = lambda samples: sum(harness.count(run.profile, sample)
                                    for sample in samples)
        cut = [sample for sample in stacks if harness.truncation(sample)]
        # While libgcc lands one, memory may not hold the thrower any more.
        self.assertLess(count(cut), 0.03 * count(stacks))
        thrown = [sample for sample in stacks if sample not in cut and
                  "_Unwind_RaiseException" in sample.names]
        self.assertGreaterEqual(count(thrown), harness.ENOUGH_SAMPLES)
        self.assert_all(thrown, self.has_thrower,
                        "the thrower is there, or where it lands")

    @staticmethod
    def has_thrower(sample):
        callers = sample.names[
            sample.names.index("_Unwind_RaiseException") + 1:]
        return (any("Descend<0>" in caller for caller in callers) or
                "ThrowLoop" in callers[0])

    def test_without_frame_pointers(self):
        self.check("exception_storm")

    def test_with_frame_pointers(self):
        self.check("exception_storm_fp")


class LibraryChurn:
    """A frame of library M below call_N of the program says that a module was
    taken for one that was there before."""

    def check(self, name, libraries):
        run = self.record([harness.program(f"{name}/{name}"),
                           harness.program(name), "3"])
        self.assertEqual((run.status, run.stdout), (0, b"visits 1\n"),
                         run.stderr)
        seen, inside = set(), 0
        for sample in run.profile.samples:
            caller, frames = split_at_caller(sample)
            for frame in frames:
                library = library_of(frame)
                if library is None:
                    continue
                self.assertEqual(library, caller, sample.names[::-1])
                self.assertEqual(frame.module, f"lib{caller}.so")
            if frames and library_of(frames[0]):
                seen.add(caller)
                inside += harness.count(run.profile, sample)
                self.assertTrue(harness.is_rooted(sample),
                                sample.names[::-1])
        self.assertGreater(len(seen), 0.75 * libraries)
        return run.profile, inside


def split_at_caller(sample):
    """(N, frames inside) of the innermost open_N or call_N."""
    for index, frame in enumerate(sample.frames):
        match = re.fullmatch(r"(?:open|call)_(\d\d)", frame.name)
        if match:
            return match[1], sample.frames[:index]
    return None, []


def library_of(frame):
    """N if the frame is library N's, by name or by module."""
    match = (re.fullmatch(r"lib(\d\d)_\w+", frame.name) or
             re.fullmatch(r"lib(\d\d)\.so", frame.module))
    return match[1] if match else None


class DO02LibraryChurnTest(harness.Case, LibraryChurn):
    """Two threads load and unload 50 libraries of one size."""

    def test_every_frame_is_of_the_library_that_ran(self):
        _, inside = self.check("churn", 50)
        self.assertGreaterEqual(inside, harness.ENOUGH_SAMPLES)


class DO02UnannouncedUnloadTest(harness.Case):
    """iconv's libraries: loaded and unloaded by libc, without dlclose()."""

    CHARSETS = "234579"

    def test_every_frame_is_of_the_charset_that_was_converted(self):
        run = self.record([harness.program("iconv_churn"), "3"])
        self.assertEqual((run.status, run.stdout), (0, b"done\n"), run.stderr)
        seen = dict.fromkeys(self.CHARSETS, 0)
        for sample in run.profile.samples:
            names = sample.names
            # Loading and unloading may concern another charset's library.
            if "iconv" not in names:
                continue
            converting = names.index("iconv")
            for frame in sample.frames[:converting]:
                match = re.fullmatch(r"ISO8859-(\d+)\.so", frame.module)
                if match:
                    self.assertEqual(names[converting + 1],
                                     f"convert_{match[1]}", names[::-1])
                    seen[match[1]] += harness.count(run.profile, sample)
        for charset, samples in seen.items():
            self.assertGreater(samples, 0, f"ISO8859-{charset}")


class DO03SlowRelocationTest(harness.Case, LibraryChurn):
    """10 MB of relocations: mapped long before complete."""

    def test_half_loaded_libraries_do_no_harm(self):
        profile, inside = self.check("relocation", 4)
        self.assertGreaterEqual(inside, harness.ENOUGH_SAMPLES)
        relocating = [sample for sample in profile.samples
                      if sample.frames[0].module.startswith("ld-linux") and
                      split_at_caller(sample)[0]]
        self.assert_sampled(profile, relocating)
        self.assert_all(relocating, harness.is_rooted, "rooted")
