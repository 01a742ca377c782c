"""Decodes a pprof profile (gzip or not) with nothing but the standard library.

The tests' own reader: it shares no code with what writes profiles, so that a
mistake made on both sides does not cancel out. Field numbers are those of
pprof's profile.proto. Malformed input raises ValueError; pprof_check has the
rules beyond that.
"""

import dataclasses
import gzip
import os
import struct

import pprof_check

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
class Function:
    name: str
    system_name: str
    file: str
    start_line: int


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
class Location:
    mapping: int  # id; 0: none
    address: int
    lines: list  # (function id, line), innermost first
    frames: list  # the same as Frame; one without a function if there are none


@dataclasses.dataclass
class Sample:
    locations: list  # ids, leaf first
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
    functions: dict = dataclasses.field(default_factory=dict)
    strings: list = dataclasses.field(default_factory=list)
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

    def facts(self, key):
        """Values of the comments "unspool.KEY=VALUE"."""
        prefix = f"unspool.{key}="
        return [text[len(prefix):] for text in self.comments
                if text.startswith(prefix)]

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
_FUNCTION = {1: "id", 2: "name", 3: "system_name", 4: "file", 5: "start_line"}
_LABEL = {1: "key", 2: "str", 3: "num"}
_LINE = {1: "function", 2: "line"}


def _unique(table, key, value, what):
    if key == 0 or key in table:
        raise ValueError(f"{what} id {key} is zero or used twice")
    table[key] = value


def _find(table, key, what):
    """Entry `key` of a dict by id or of a list."""
    if isinstance(table, list) and key < len(table) or key in table:
        return table[key]
    raise ValueError(f"there is no {what} {key}")


def _location(data, profile):
    """(id, Location)."""
    number = address = mapping_id = 0
    lines = []
    for field, value in _fields(data):
        if field == 1:
            number = value
        elif field == 2:
            mapping_id = value
        elif field == 3:
            address = value
        elif field == 4:
            line = _message(value, _LINE)
            lines.append((line["function"], _signed(line["line"])))
    mapping = (_find(profile.mappings, mapping_id, "mapping") if mapping_id
               else None)
    module = os.path.basename(mapping.filename) if mapping else ""
    frames = []
    for function_id, line in lines:
        function = _find(profile.functions, function_id, "function")
        frames.append(Frame(function.name, function.system_name, function.file,
                            line, address, module))
    if not frames:
        base = mapping.start - mapping.offset if mapping else 0
        frames = [Frame(f"{module}+{address - base:#x}", "", "", 0, address,
                        module)]
    return number, Location(mapping_id, address, lines, frames)


def _label(data, strings):
    """(key, str or int)."""
    label = _message(data, _LABEL)
    key = _find(strings, label["key"], "string")
    if key == "" or label["str"] and label["num"]:
        raise ValueError(f"label '{key}' has no key or two values")
    return key, (_find(strings, label["str"], "string") if label["str"] else
                 _signed(label["num"]))


def _sample(data, profile):
    sample = Sample([], [], [], {})
    for field, value in _fields(data):
        if field == 1:
            sample.locations += _ints(value)
        elif field == 2:
            sample.values += [_signed(number) for number in _ints(value)]
        elif field == 3:
            key, label = _label(value, profile.strings)
            _unique(sample.labels, key, label, "label")
    for number in sample.locations:
        sample.frames += _find(profile.locations, number, "location").frames
    if len(sample.values) != len(profile.sample_types):
        raise ValueError("a sample has not one value per sample type")
    return sample


def _header(raw, strings):
    """A Profile with what is said once."""
    one = lambda number: raw.get(number, [0])[-1]
    text = lambda index: _find(strings, index, "string")
    value_type = lambda value: tuple(
        text(index) for index in _message(value, _VALUE_TYPE).values())
    return Profile(
        strings=strings, time_nanos=_signed(one(9)),
        duration_nanos=_signed(one(10)), period=_signed(one(12)),
        default_sample_type=text(one(14)),
        sample_types=[value_type(value) for value in raw.get(1, [])],
        period_type=value_type(one(11)) if 11 in raw else ("", ""),
        comments=[text(index) for value in raw.get(13, [])
                  for index in _ints(value)])


def decode(data):
    """The Profile in `data` (bytes)."""
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    raw = {}
    for number, value in _fields(data):
        raw.setdefault(number, []).append(value)
    strings = [value.decode("utf-8") for value in raw.get(6, [b""])]
    if strings[0]:
        raise ValueError("string 0 is not empty")
    profile = _header(raw, strings)
    for value in raw.get(3, []):
        fields = _message(value, _MAPPING)
        for key in ("filename", "build_id"):
            fields[key] = _find(strings, fields[key], "string")
        _unique(profile.mappings, fields["id"], Mapping(**fields), "mapping")
    for value in raw.get(5, []):
        fields = _message(value, _FUNCTION)
        names = [_find(strings, fields[key], "string")
                 for key in ("name", "system_name", "file")]
        _unique(profile.functions, fields["id"],
                Function(*names, _signed(fields["start_line"])), "function")
    for value in raw.get(4, []):
        number, location = _location(value, profile)
        _unique(profile.locations, number, location, "location")
    profile.samples = [_sample(value, profile) for value in raw.get(2, [])]
    return profile


def load_foreign(path):
    """The Profile in the file at `path`, whoever wrote it."""
    with open(path, "rb") as file:
        return decode(file.read())


def load(path):
    """The Profile in the file at `path`, which keeps to pprof_check's rules."""
    profile = load_foreign(path)
    pprof_check.check(profile)
    return profile
