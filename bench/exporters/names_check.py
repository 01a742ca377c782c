#!/usr/bin/env python3
"""Compares a named profile with `addr2line -aif` on every address of a program.

    bench/exporters/names_check.py PROFILE PROGRAM

addr2line itself says less, or something else, in these cases:
  scope      it leaves out namespaces and classes where there is no linkage name
  name       C++ without a linkage name: it may say the name of the function
             around it; the lines are equal
  no line    code without a line: it says the file of the symbol
  call       an inlined call of several ranges that it does not find;
             llvm-symbolizer finds the same calls as we
"""

import collections
import dataclasses
import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] /
                    "tests/end_to_end"))
import pprof_decode  # noqa: E402


@dataclasses.dataclass
class Check:
    text: str
    is_right: bool


def our_chains(profile_path, program):
    """Offset in the file -> [(name, file, line)] innermost first."""
    profile = pprof_decode.load(profile_path)
    maps = [mapping for mapping in profile.mappings.values()
            if os.path.basename(mapping.filename) == program.name]
    chains = {}
    for location in profile.locations.values():
        address = location.address
        for mapping in maps:
            if mapping.start <= address < mapping.limit:
                chains[address - mapping.start + mapping.offset] = [
                    (frame.system_name or frame.name,
                     os.path.basename(frame.file) or "??", frame.line)
                    for frame in location.frames]
    return chains


def segments(program):
    """(file offset, size in the file, address) of what is loaded."""
    listing = subprocess.run(["readelf", "-lW", program], text=True,
                             capture_output=True, check=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    return [(int(row[1], 16), int(row[4], 16), int(row[2], 16))
            for row in rows if row[:1] == ["LOAD"] and "E" in row[6:8]]


def addresses_of(program, offsets):
    """ELF virtual address -> offset."""
    loaded = segments(program)
    return {offset - start + address: offset for offset in offsets
            for start, size, address in loaded
            if start <= offset < start + size}


def their_chains(program, address_of):
    lines = subprocess.run(
        ["addr2line", "-aif", "-e", program], text=True, check=True,
        capture_output=True,
        input="\n".join(map(hex, address_of))).stdout.splitlines()
    chains, names = {}, iter(lines)
    for line in names:
        if line.startswith("0x"):
            chain = chains.setdefault(address_of[int(line, 16)], [])
            continue
        file, _, number = next(names).partition(" (")[0].rpartition(":")
        chain.append((line, os.path.basename(file),
                      int(number) if number.isdigit() else 0))
    return chains


def has_llvm_the_calls(program, address, ours):
    text = subprocess.run(
        ["llvm-symbolizer-14", "--inlines", "--no-demangle", f"--obj={program}",
         hex(address)], text=True, check=True, capture_output=True).stdout
    lines = text.split()
    places = [line.rsplit(":", 1)[0] for line in lines[1::2]]
    return [(name, os.path.basename(place.rpartition(":")[0]),
             int(place.rpartition(":")[2]))
            for name, place in zip(lines[::2], places)] == ours


def kind_of_difference(theirs, ours):
    if theirs == ours:
        return "equal"
    if theirs[1:] == ours[1:] and ours[0].endswith("::" + theirs[0]):
        return "scope"
    if theirs[2] == ours[2] == 0:
        return "no line"
    return "name" if theirs[1:] == ours[1:] else "different"


def check(profile_path, program):
    ours = our_chains(profile_path, program)
    address_of = addresses_of(program, ours)
    theirs = their_chains(program, address_of)
    kinds, examples = collections.Counter(), {}
    for address, offset in address_of.items():
        mine, chain = ours[offset], theirs[offset]
        if len(mine) != len(chain):
            kind = ("call" if has_llvm_the_calls(program, address, mine)
                    else "different")
            kinds[kind] += 1
            examples.setdefault(kind, (hex(address), chain, mine))
            continue
        for their_frame, our_frame in zip(chain, mine):
            kind = kind_of_difference(their_frame, our_frame)
            kinds[kind] += 1
            if kind != "equal":
                examples.setdefault(kind, (their_frame, our_frame))
    text = f"addr2line on {len(theirs)} addresses, frames: " + ", ".join(
        f"{count} {kind}" for kind, count in kinds.most_common())
    for kind, example in examples.items():
        text += f"\n    {kind}: " + " / ".join(map(str, example))
    return Check(text, bool(theirs) and not kinds["different"])


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    result = check(sys.argv[1], pathlib.Path(sys.argv[2]))
    print(result.text)
    sys.exit(0 if result.is_right else 1)
