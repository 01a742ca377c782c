"""The tests' own tools: the decoder refuses what is malformed, the checker what
breaks a rule."""

import copy
import gzip

import harness
import pprof_check
import pprof_decode

# sample_type {cpu, nanoseconds}; one mapping [0x1000, 0x2000) of file "app";
# one location 0x1010 in it; one sample of 5 with that location; the strings.
_STRINGS = b"".join(b"\x32" + bytes([len(text)]) + text for text in
                    (b"", b"cpu", b"nanoseconds", b"/bin/app"))
_PROFILE = (b"\x0a\x04\x08\x01\x10\x02"
            b"\x1a\x0a\x08\x01\x10\x80\x20\x18\x80\x40\x28\x03"
            b"\x22\x07\x08\x07\x10\x01\x18\x90\x20"
            b"\x12\x06\x0a\x01\x07\x12\x01\x05") + _STRINGS


class DecoderTest(harness.Case):
    def test_reads_a_profile_with_and_without_gzip(self):
        for data in (_PROFILE, gzip.compress(_PROFILE)):
            profile = pprof_decode.decode(data)
            self.assertEqual(profile.sample_types, [("cpu", "nanoseconds")])
            self.assertEqual(profile.total("cpu"), 5)
            self.assertEqual(profile.samples[0].names, ["app+0x10"])

    def test_refuses_a_field_that_runs_past_the_end(self):
        with self.assertRaises(ValueError):
            pprof_decode.decode(_PROFILE[:-1])

    def test_refuses_an_id_used_twice(self):
        location = b"\x22\x07\x08\x07\x10\x01\x18\x90\x20"
        with self.assertRaisesRegex(ValueError, "used twice"):
            pprof_decode.decode(_PROFILE + location)


    def test_refuses_what_is_not_there(self):
        for whole, broken, what in (
                (b"\x22\x07\x08\x07\x10\x01", b"\x22\x07\x08\x07\x10\x02",
                 "no mapping 2"),
                (b"\x12\x06\x0a\x01\x07", b"\x12\x06\x0a\x01\x06",
                 "no location 6"),
                (b"\x0a\x04\x08\x01\x10\x02", b"\x0a\x04\x08\x09\x10\x02",
                 "no string 9")):
            with self.assertRaisesRegex(ValueError, what):
                pprof_decode.decode(_PROFILE.replace(whole, broken))


def _valid_profile():
    """main calls f, into which g is inlined."""
    decode = pprof_decode
    mapping = decode.Mapping(1, 0x1000, 0x2000, 0, "/bin/app", "0123ab", True,
                             True, True, True)
    profile = decode.Profile(
        sample_types=[("samples", "count"), ("cpu", "nanoseconds")],
        default_sample_type="cpu", period_type=("cpu", "nanoseconds"),
        period=10, time_nanos=20, duration_nanos=30, strings=["", "main"],
        comments=["unspool.samples=1"], mappings={1: mapping},
        functions={1: decode.Function("main", "main", "a.c", 1),
                   2: decode.Function("f", "f", "", 0),
                   3: decode.Function("g", "g", "", 0)},
        locations={1: decode.Location(1, 0x1010, [(3, 7), (2, 0)], []),
                   2: decode.Location(1, 0x1020, [(1, 9)], [])})
    frame = decode.Frame("g", "g", "", 7, 0x1010, "app")
    profile.samples = [decode.Sample([1, 2], [frame], [1, 10], {"pid": 1})]
    return profile


class CheckTest(harness.Case):
    def breaks(self, profile):
        """Whatever can be said about it, as one text."""
        with self.assertRaises(ValueError) as raised:
            pprof_check.check(profile)
        return str(raised.exception)

    def test_a_valid_profile_passes(self):
        pprof_check.check(_valid_profile())

    def test_flags_tell_the_truth(self):
        for flag in ("has_functions", "has_filenames", "has_line_numbers",
                     "has_inline_frames"):
            profile = _valid_profile()
            setattr(profile.mappings[1], flag, False)
            self.assertEqual(self.breaks(profile),
                             f"{flag} of /bin/app should be True")
        profile = _valid_profile()
        profile.locations[2].lines = []
        self.assertIn("has_functions of /bin/app should be False",
                      self.breaks(profile))

    def test_each_rule_is_kept(self):
        rows = [
            ("ids of mappings",
             lambda p: p.mappings.update({3: copy.copy(p.mappings[1])})),
            ("ids of locations",
             lambda p: p.locations.update({4: p.locations.pop(1)})),
            ("main is there twice", lambda p: p.strings.append("main")),
            ("function .* is there twice",
             lambda p: p.functions.update({2: p.functions[3]})),
            ("functions that nothing refers to: .2.",
             lambda p: setattr(p.locations[1], "lines", [(3, 7), (3, 7)])),
            ("locations that nothing refers to",
             lambda p: p.samples[0].locations.pop()),
            ("mappings that nothing refers to: .2.",
             lambda p: p.mappings.update({2: copy.copy(p.mappings[1])})),
            ("the first mapping", lambda p: setattr(
                p.mappings[1], "filename", "[vdso]")),
            ("mapping of", lambda p: setattr(
                p.mappings[1], "filename", "/bin/app (deleted)")),
            ("build id", lambda p: setattr(p.mappings[1], "build_id", "0A")),
            ("is mapped", lambda p: setattr(p.mappings[1], "limit", 0x1000)),
            ("outside its mapping",
             lambda p: setattr(p.locations[1], "address", 0x2000)),
            ("has no mapping", lambda p: setattr(p.locations[1], "mapping", 0)),
            ("line below 0",
             lambda p: setattr(p.locations[1], "lines", [(3, -7), (2, 0)])),
            ("default sample type",
             lambda p: setattr(p, "default_sample_type", "wall")),
            ("period type",
             lambda p: setattr(p, "period_type", ("cpu", "count"))),
            ("duration_nanos is 0", lambda p: setattr(p, "duration_nanos", 0)),
            ("comment 'x'", lambda p: p.comments.append("x")),
            ("label unwind",
             lambda p: p.samples[0].labels.update(unwind="yes")),
        ]
        for message, break_it in rows:
            with self.subTest(message):
                profile = _valid_profile()
                break_it(profile)
                self.assertRegex(self.breaks(profile), message)


class FoldedTableTest(harness.Case):
    def test_counts_recursion_once(self):
        self.assertEqual(harness.folded_table("a;b;b 3\na;c 4\n"),
                         {"a": (0, 7), "b": (3, 3), "c": (4, 4)})
