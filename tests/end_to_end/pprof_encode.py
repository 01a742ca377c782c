"""Encodes a pprof profile from stacks written down by a test.

The counterpart of pprof_decode, and as independent of the product. Field
numbers are those of pprof's profile.proto.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Frame:
    """A function "NAME", at line 7 of "NAME.c"."""
    name: str
    module: str = "/bin/app"
    inlined: bool = False  # into its caller


@dataclasses.dataclass(frozen=True)
class Stack:
    frames: tuple  # Frame, or the name of one; the root first
    milliseconds: int
    thread: str = "main"
    guessed: bool = False
    state: str = ""  # "running" or "waiting", by the wall clock


def _varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field, value):
    return _varint(field << 3) + _varint(value)


def _bytes(field, data):
    return _varint(field << 3 | 2) + _varint(len(data)) + data


class _Encoder:
    """Tables number what they have not seen; a location is a tuple of Frame,
    the inlined ones first."""

    def __init__(self):
        self.strings, self.functions = {"": 0}, {}
        self.mappings, self.locations = {}, {}

    def text(self, value):
        return self.strings.setdefault(value, len(self.strings))

    def sample(self, stack):
        frames = [frame if isinstance(frame, Frame) else Frame(frame)
                  for frame in stack.frames]
        places = []
        for frame in frames:
            self.mappings.setdefault(frame.module, len(self.mappings) + 1)
            if frame.inlined:
                places[-1] = (frame, *places[-1])
            else:
                places.append((frame,))
        ids = [self.locations.setdefault(place, len(self.locations) + 1)
               for place in reversed(places)]
        labels = [("thread", stack.thread)]
        if stack.guessed:
            labels.append(("unwind", "guessed"))
        if stack.state:
            labels.append(("state", stack.state))
        return (b"".join(_number(1, i) for i in ids) + _number(2, 1) +
                _number(2, stack.milliseconds * 1_000_000) +
                b"".join(_bytes(3, _number(1, self.text(key)) +
                                _number(2, self.text(value)))
                         for key, value in labels))

    def location(self, place, number):
        mapping = self.mappings[place[0].module]
        lines = b""
        for frame in place:
            function = self.functions.setdefault(frame.name,
                                                 len(self.functions) + 1)
            lines += _bytes(4, _number(1, function) + _number(2, 7))
        return (_number(1, number) + _number(2, mapping) +
                _number(3, (mapping << 32) + number * 16) + lines)

    def mapping(self, module, number):
        start = number << 32
        return (_number(1, number) + _number(2, start) +
                _number(3, start + (1 << 32)) + _number(5, self.text(module)) +
                _number(7, 1) + _number(8, 1) + _number(9, 1) + _number(10, 1))

    def function(self, name, number):
        return (_number(1, number) + _number(2, self.text(name)) +
                _number(4, self.text(name + ".c")))


def encode(stacks):
    """The bytes of a CPU profile with one sample per Stack."""
    encoder = _Encoder()
    types = [_number(1, encoder.text(kind)) + _number(2, encoder.text(unit))
             for kind, unit in (("samples", "count"), ("cpu", "nanoseconds"))]
    samples = [encoder.sample(stack) for stack in stacks]
    tables = [
        [encoder.location(*entry) for entry in encoder.locations.items()],
        [encoder.mapping(*entry) for entry in encoder.mappings.items()],
        [encoder.function(*entry) for entry in encoder.functions.items()]]
    default = _number(14, encoder.text("cpu"))
    fields = [(1, types), (2, samples), (4, tables[0]), (3, tables[1]),
              (5, tables[2]), (6, [text.encode() for text in encoder.strings])]
    return default + b"".join(_bytes(field, entry)
                              for field, entries in fields for entry in entries)


def write(path, stacks):
    with open(path, "wb") as file:
        file.write(encode(stacks))
