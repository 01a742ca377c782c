"""Our own files, as the checks see them."""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = {".h", ".cc", ".c", ".cpp", ".S", ".s"}
TOP_FOLDERS = ("unwind", "collectors", "exporters", "profiler", "tests", "bench")


def sources(root=ROOT, folders=TOP_FOLDERS, suffixes=SUFFIXES):
    """Paths of all source files, relative to root, sorted."""
    found = []
    for folder in folders:
        for directory, _, names in os.walk(root / folder):
            for name in names:
                path = pathlib.Path(directory, name)
                if path.suffix in suffixes:
                    found.append(path.relative_to(root))
    return sorted(found)
