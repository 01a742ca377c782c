"""The tests' own tools: the decoder refuses what is malformed."""

import gzip

import harness
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

    def test_refuses_an_address_outside_its_mapping(self):
        with self.assertRaisesRegex(ValueError, "outside its mapping"):
            pprof_decode.decode(_PROFILE.replace(b"\x18\x90\x20",
                                                 b"\x18\x90\x40"))

    def test_refuses_a_field_that_runs_past_the_end(self):
        with self.assertRaises(ValueError):
            pprof_decode.decode(_PROFILE[:-1])

    def test_refuses_an_id_used_twice(self):
        location = b"\x22\x07\x08\x07\x10\x01\x18\x90\x20"
        with self.assertRaisesRegex(ValueError, "used twice"):
            pprof_decode.decode(_PROFILE + location)


class FoldedTableTest(harness.Case):
    def test_counts_recursion_once(self):
        self.assertEqual(harness.folded_table("a;b;b 3\na;c 4\n"),
                         {"a": (0, 7), "b": (3, 3), "c": (4, 4)})
