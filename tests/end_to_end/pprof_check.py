"""What every profile of ours keeps to, beyond being well-formed.

The strict reader's rules: ids as pprof's own tools and Parca number them, each
address in its mapping, has_* flags that tell the truth (pprof's profile.proto,
message Mapping), nothing twice and nothing that no sample has. `check` is
called for each profile that a test loads, so it judges all of them.
"""

import re

_BUILD_ID = re.compile(r"([0-9a-f]{2})*")
# What is mapped and no file.
_PSEUDO_FILE = re.compile(r"\[\w+\]")
# Kept in our namespace, whatever else a profile that is merged in brings.
_COMMENT = re.compile(r"unspool\.[\w.-]+=.+", re.DOTALL)


def check(profile):
    """Raises ValueError with all that is wrong with a pprof_decode.Profile."""
    problems = [problem for rule in _RULES for problem in rule(profile)]
    if problems:
        raise ValueError("; ".join(problems[:20]))


def _check_header(profile):
    types = [name for name, _ in profile.sample_types]
    if profile.default_sample_type not in types:
        yield f"default sample type '{profile.default_sample_type}'"
    if profile.sample_types[-1] != profile.period_type:
        yield f"period type {profile.period_type}"
    for what in ("time_nanos", "duration_nanos", "period"):
        if getattr(profile, what) <= 0:
            yield f"{what} is {getattr(profile, what)}"
    for comment in profile.comments:
        if not _COMMENT.fullmatch(comment):
            yield f"comment '{comment}'"


def _check_ids(profile):
    """From 1 on, in the order of the file, without a gap."""
    for what in ("mappings", "locations", "functions"):
        if list(getattr(profile, what)) != list(
                range(1, len(getattr(profile, what)) + 1)):
            yield f"ids of {what} are not 1, 2, 3 ..."


def _check_nothing_twice(profile):
    tables = {
        "string": profile.strings,
        "function": profile.functions.values(),
        "location": [(location.mapping, location.address, *location.lines)
                     for location in profile.locations.values()],
    }
    for what, entries in tables.items():
        seen = set()
        for entry in entries:
            if entry in seen:
                yield f"{what} {entry} is there twice"
            seen.add(entry)


def _check_all_used(profile):
    """But for the first mapping, which is the program's, hit or not."""
    locations = {number for sample in profile.samples
                 for number in sample.locations}
    mappings = {location.mapping for location in profile.locations.values()}
    functions = {number for location in profile.locations.values()
                 for number, _ in location.lines}
    for what, used in (("mappings", mappings | {1}), ("locations", locations),
                       ("functions", functions)):
        unused = set(getattr(profile, what)) - used
        if unused:
            yield f"{what} that nothing refers to: {sorted(unused)[:5]}"


def _check_mappings(profile):
    if profile.mappings and not profile.mappings[1].filename.startswith("/"):
        yield f"the first mapping is {profile.mappings[1].filename}"
    for mapping in profile.mappings.values():
        name = mapping.filename
        if not name.startswith("/") and not _PSEUDO_FILE.fullmatch(name):
            yield f"mapping of '{name}'"
        if name.endswith(" (deleted)"):
            yield f"mapping of '{name}'"
        if not _BUILD_ID.fullmatch(mapping.build_id):
            yield f"build id '{mapping.build_id}'"
        if mapping.start >= mapping.limit:
            yield f"{name} is mapped [{mapping.start:#x}, {mapping.limit:#x})"


def _check_flags(profile):
    """Functions: each location has one. The rest: any has."""
    by_mapping = {}
    for location in profile.locations.values():
        by_mapping.setdefault(location.mapping, []).append(location)
    for number, mapping in profile.mappings.items():
        locations = by_mapping.get(number, [])
        lines = [line for location in locations for line in location.lines]
        files = [profile.functions[function].file for function, _ in lines]
        truth = {
            "has_functions": bool(locations) and all(
                location.lines for location in locations),
            "has_filenames": any(files),
            "has_line_numbers": any(line for _, line in lines),
            "has_inline_frames": any(len(location.lines) > 1
                                     for location in locations),
        }
        for flag, right in truth.items():
            if bool(getattr(mapping, flag)) != right:
                yield f"{flag} of {mapping.filename} should be {right}"


def _check_locations(profile):
    for number, location in profile.locations.items():
        if location.mapping == 0:
            yield f"location {number} has no mapping"
            continue
        mapping = profile.mappings[location.mapping]
        if not mapping.start <= location.address < mapping.limit:
            yield f"location {number} lies outside its mapping"
        if any(line < 0 for _, line in location.lines):
            yield f"location {number} has a line below 0"
    for number, function in profile.functions.items():
        if not function.name:
            yield f"function {number} has no name"


def _check_samples(profile):
    for sample in profile.samples:
        if not sample.locations:
            yield "a sample has no location"
        for name in sample.names[:-1]:
            if name.startswith("[truncated: "):
                yield f"{name} is not outermost: {sample.names}"
        if sample.labels.get("unwind", "guessed") != "guessed":
            yield f"label unwind={sample.labels['unwind']}"


_RULES = (_check_header, _check_ids, _check_nothing_twice, _check_all_used,
          _check_mappings, _check_flags, _check_locations, _check_samples)
