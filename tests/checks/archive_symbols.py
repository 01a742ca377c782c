"""Which object of an archive needs which symbols, by nm."""

import dataclasses
import subprocess


@dataclasses.dataclass
class Member:
    archive: str
    name: str  # "recorder.cc.o"
    defined: set
    undefined: set

    @property
    def source(self):
        return self.name.removesuffix(".o")


def members(archive):
    """All members of the archive at that path."""
    text = subprocess.run(["nm", "--format=posix", "--print-file-name", archive],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    found = {}
    for line in text.splitlines():
        where, name, kind = line.split()[:3]
        member = where[where.rindex("[") + 1:where.rindex("]")]
        entry = found.setdefault(
            member, Member(str(archive), member, set(), set()))
        # 'w' and 'v' are weak and undefined; the rest of the small letters are
        # local definitions.
        is_undefined = kind in "Uwv"
        (entry.undefined if is_undefined else entry.defined).add(name)
    return list(found.values())


def violations(handler, setup, allowed):
    """What code that runs in the handler must not refer to: anything outside
    the fence that the list does not allow, and whatever only setup code
    defines. `handler` and `setup` are lists of Members. The same symbol, weak,
    in both is the handler's."""
    inside = set().union(*(member.defined for member in handler))
    outside = set().union(*(member.defined for member in setup)) - inside
    messages = []
    for member in handler:
        for name in sorted(member.undefined - inside - allowed):
            why = "is setup code" if name in outside else "is not allowed"
            messages.append(f"{member.archive}[{member.name}]: {name} {why}")
    return messages
