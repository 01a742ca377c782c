"""Decodes a pprof profile (gzip or not) with nothing but the standard library.

The tests' own reader: it shares no code with what writes profiles, so that a
mistake made on both sides does not cancel out. Field numbers are those of
pprof's profile.proto. Malformed input raises ValueError.
"""

import dataclasses
import gzip
import os
import struct

# What "[truncated: ...]" frames and the like have in common: no code there.
PSEUDO_PREFIX = "["


@dataclasses.dataclass
class Mapping:
    id: int = 0
    start: int = 0
    limit: int = 0
    offset: int = 0
    filename: str = ""
    build_id: str = ""
    has_functions: bool = False
    has_filenames: bool = False
    has_line_numbers: bool = False
    has_inline_frames: bool = False


@dataclasses.dataclass(frozen=True)
class Frame:
    """One line of one location: an inlined function is a frame of its own."""
    name: str  # demangled; "module+0xoffset" where the profile has no name
    system_name: str
    file: str
    line: int
    address: int
    module: str  # base name of the mapping's file; "" without a mapping


@dataclasses.dataclass
class Sample:
    frames: list  # Frame, leaf first
    values: list  # one per sample type
    labels: dict  # key -> str or int

    @property
    def names(self):
        """Function names, leaf first."""
        return [frame.name for frame in self.frames]


@dataclasses.dataclass
class Profile:
    sample_types: list = dataclasses.field(default_factory=list)
    samples: list = dataclasses.field(default_factory=list)
    mappings: dict = dataclasses.field(default_factory=dict)
    locations: dict = dataclasses.field(default_factory=dict)
    comments: list = dataclasses.field(default_factory=list)
    default_sample_type: str = ""
    time_nanos: int = 0
    duration_nanos: int = 0
    period_type: tuple = ("", "")
    period: int = 0

    def total(self, value_type):
        """Sum of one sample type ("cpu", "samples") over all samples."""
        index = self.value_index(value_type)
        return sum(sample.values[index] for sample in self.samples)

    def value_index(self, value_type):
        return [name for name, _ in self.sample_types].index(value_type)


def _varint(data, pos):
    result = shift = 0
    while True:
        if pos >= len(data) or shift > 63:
            raise ValueError("bad varint")
        byte = data[pos]
        result |= (byte & 0x7F) << shift
        pos += 1
        if byte < 0x80:
            return result, pos
        shift += 7


def _fields(data):
    """Yields (field number, value): int, or bytes for length-delimited."""
    pos = 0
    while pos < len(data):
        key, pos = _varint(data, pos)
        kind = key & 7
        if kind == 0:
            value, pos = _varint(data, pos)
        elif kind == 2:
            size, pos = _varint(data, pos)
            value = data[pos:pos + size]
            if len(value) != size:
                raise ValueError("field runs past the end")
            pos += size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value = struct.unpack_from("<Q" if kind == 1 else "<I", data, pos)[0]
            pos += size
        else:
            raise ValueError(f"wire type {kind}")
        yield key >> 3, value


def _ints(value):
    """A repeated integer field's values, packed or not."""
    if isinstance(value, int):
        return [value]
    result, pos = [], 0
    while pos < len(value):
        number, pos = _varint(value, pos)
        result.append(number)
    return result


def _signed(value):
    return value - (1 << 64) if value >> 63 else value


def _message(data, names):
    """A message of single fields as a dict; absent ones are 0."""
    result = dict.fromkeys(names.values(), 0)
    for number, value in _fields(data):
        if number in names:
            result[names[number]] = value
    return result


_VALUE_TYPE = {1: "type", 2: "unit"}
_MAPPING = {1: "id", 2: "start", 3: "limit", 4: "offset", 5: "filename",
            6: "build_id", 7: "has_functions", 8: "has_filenames",
            9: "has_line_numbers", 10: "has_inline_frames"}
_FUNCTION = {1: "id", 2: "name", 3: "system_name", 4: "file"}
_LABEL = {1: "key", 2: "str", 3: "num"}
_LINE = {1: "function", 2: "line"}


def _unique(table, key, value, what):
    if key == 0 or key in table:
        raise ValueError(f"{what} id {key} is zero or used twice")
    table[key] = value


def _location(data, mappings, functions, strings):
    """(id, frames innermost first)."""
    number = address = 0
    mapping, lines = None, []
    for field, value in _fields(data):
        if field == 1:
            number = value
        elif field == 2:
            mapping = mappings[value]
        elif field == 3:
            address = value
        elif field == 4:
            lines.append(_message(value, _LINE))
    module = os.path.basename(mapping.filename) if mapping else ""
    if mapping and not mapping.start <= address < mapping.limit:
        raise ValueError(f"location {number}: address outside its mapping")
    frames = []
    for line in lines:
        function = functions[line["function"]]
        frames.append(Frame(strings[function["name"]],
                            strings[function["system_name"]],
                            strings[function["file"]], _signed(line["line"]),
                            address, module))
    if not frames:
        base = mapping.start - mapping.offset if mapping else 0
        frames = [Frame(f"{module}+{address - base:#x}", "", "", 0, address,
                        module)]
    return number, frames


def _sample(data, locations, strings):
    sample = Sample([], [], {})
    for field, value in _fields(data):
        if field == 1:
            for number in _ints(value):
                sample.frames += locations[number]
        elif field == 2:
            sample.values += [_signed(number) for number in _ints(value)]
        elif field == 3:
            label = _message(value, _LABEL)
            sample.labels[strings[label["key"]]] = (
                strings[label["str"]] if label["str"] else
                _signed(label["num"]))
    return sample


def decode(data):
    """The Profile in `data` (bytes)."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    raw = {}
    for number, value in _fields(data):
        raw.setdefault(number, []).append(value)
    one = lambda number: raw.get(number, [0])[-1]
    strings = [value.decode("utf-8") for value in raw.get(6, [b""])]
    if strings[0]:
        raise ValueError("string 0 is not empty")
    value_type = lambda value: tuple(
        strings[text] for text in _message(value, _VALUE_TYPE).values())

    profile = Profile(time_nanos=one(9), duration_nanos=one(10),
                      period=one(12), default_sample_type=strings[one(14)])
    profile.sample_types = [value_type(value) for value in raw.get(1, [])]
    if 11 in raw:
        profile.period_type = value_type(one(11))
    profile.comments = [strings[index] for value in raw.get(13, [])
                        for index in _ints(value)]
    for value in raw.get(3, []):
        fields = _message(value, _MAPPING)
        for key in ("filename", "build_id"):
            fields[key] = strings[fields[key]]
        _unique(profile.mappings, fields["id"], Mapping(**fields), "mapping")
    functions = {}
    for value in raw.get(5, []):
        fields = _message(value, _FUNCTION)
        _unique(functions, fields["id"], fields, "function")
    for value in raw.get(4, []):
        number, frames = _location(value, profile.mappings, functions, strings)
        _unique(profile.locations, number, frames, "location")
    for value in raw.get(2, []):
        sample = _sample(value, profile.locations, strings)
        if len(sample.values) != len(profile.sample_types):
            raise ValueError("a sample has not one value per sample type")
        profile.samples.append(sample)
    return profile


def load(path):
    """The Profile in the file at `path`."""
    with open(path, "rb") as file:
        return decode(file.read())
