"""Who may include whom, and which standard headers the agent's code may use.

The folders' order is the life of a sample: unwind, collectors, exporters,
profiler. An arrow against it, or a header that brings libstdc++ into the agent,
is a finding.
"""

import re

# Folder -> folders of ours that it may include besides itself. The longest
# folder that a path begins with is the one that counts.
ARROWS = {
    "unwind": {"unwind/arch"},
    "unwind/arch": {"unwind"},
    "unwind/load": {"unwind", "unwind/arch"},
    "collectors": {"unwind", "unwind/arch", "collectors/spool"},
    "collectors/spool": {"unwind", "unwind/arch"},
    "exporters": {"unwind", "unwind/arch", "unwind/load", "collectors/spool",
                  "exporters/raw"},
    "exporters/raw": {"unwind", "unwind/arch", "collectors/spool"},
    "profiler/include": set(),
    "profiler/agent": {"unwind", "unwind/arch", "unwind/load", "collectors",
                       "collectors/spool", "exporters/raw", "profiler/include"},
    "profiler/cli": {"unwind", "unwind/arch", "unwind/load", "collectors",
                     "collectors/spool", "exporters", "exporters/raw",
                     "profiler/include", "profiler/agent"},
    "tests": None,  # anything
    "bench": None,
}

# What libunspool.so is made of: nothing that needs libstdc++ at run time.
AGENT_FOLDERS = {"unwind", "unwind/arch", "unwind/load", "collectors",
                 "collectors/spool", "exporters/raw", "profiler/agent"}
# <new> is for placement new: what allocates shows in the fence's symbols.
AGENT_HEADERS = {"array", "atomic", "bit", "concepts", "cstddef", "cstdint",
                 "cstring", "limits", "new", "optional", "span", "type_traits",
                 "utility"}
# Header-only parts that code outside the signal handler may use as well.
SETUP_HEADERS = AGENT_HEADERS | {"algorithm", "cerrno", "cinttypes", "cstdio",
                                 "cstdlib", "string_view", "tuple"}
# Public headers are C.
C_FOLDERS = {"profiler/include"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def folder_of(path):
    """The key of ARROWS that `path` (with '/') belongs to, or None."""
    parts = path.split("/")[:-1]
    for length in range(len(parts), 0, -1):
        folder = "/".join(parts[:length])
        if folder in ARROWS:
            return folder
    return None


def findings(path, text, is_setup):
    """Messages about one file; `is_setup(path)`: not handler code."""
    here = folder_of(path)
    if here is None:
        return [f"{path}: in no folder that ARROWS knows"]
    messages = []
    for bracket, included in INCLUDE.findall(text):
        if bracket == '"':
            messages += check_arrow(path, here, included)
        elif here in AGENT_FOLDERS:
            messages += check_header(path, included, is_setup(path))
    return messages


def check_arrow(path, here, included):
    if ARROWS[here] is None:
        return []
    there = folder_of(included)
    if there is None and included.split("/")[0] in ("absl", "CLI"):
        return check_third_party(path, here, included)
    if there is None:
        return [f'{path}: "{included}" is not spelt from the root']
    if there == here or there in ARROWS[here]:
        return []
    return [f"{path}: {here} may not include {there} ({included})"]


def check_third_party(path, here, included):
    library = included.split("/")[0]
    allowed = {"absl": {"exporters", "profiler/cli"}, "CLI": {"profiler/cli"}}
    if here in allowed[library]:
        return []
    return [f"{path}: {here} may not include {library} ({included})"]


def check_header(path, included, setup):
    """System headers end in .h; standard C++ ones do not."""
    allowed = SETUP_HEADERS if setup else AGENT_HEADERS
    if included.endswith(".h") or included in allowed:
        return []
    return [f"{path}: <{included}> is not for the agent's code"]
