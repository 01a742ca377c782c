"""How much stack code uses from a function down, from GCC's own figures.

Each source is compiled again with -fcallgraph-info=su (into a temporary folder,
without ccache, which does not keep these files); the graphs are joined, and the
deepest path is the answer: an upper bound, as calls that never happen together
count too.
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shlex
import subprocess

NODE = re.compile(r'node: \{ title: "([^"]*)" label: "([^"]*)"')
EDGE = re.compile(r'edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"')
SIZE = re.compile(r"\\n(\d+) bytes \(([^)]*)\)")
INDIRECT = "__indirect_call"
RETURN_ADDRESS_BYTES = 8


class StackError(Exception):
    """The bound cannot be given: recursion, or a callee without a size."""


@dataclasses.dataclass
class Graph:
    sizes: dict  # function -> bytes of its own frame
    calls: dict  # function -> set of callees

    def __init__(self):
        self.sizes, self.calls = {}, {}

    def add(self, text):
        """Adds one file in GCC's VCG format."""
        for name, label in NODE.findall(text):
            size = SIZE.search(label)
            if size is None:
                continue  # declared here, defined elsewhere
            if "dynamic" in size.group(2) and "bounded" not in size.group(2):
                raise StackError(f"{name}: frame of no fixed size")
            self.sizes[name] = max(int(size.group(1)), self.sizes.get(name, 0))
        for caller, callee in EDGE.findall(text):
            self.calls.setdefault(caller, set()).add(callee)


def strip(name):
    """Local functions are titled "file:name" where they are defined, and those
    whose assembler name is given by the declaration "*name"."""
    return name.rsplit(":", 1)[-1].lstrip("*")


def complete(name, sizes):
    """The name under which GCC gives the size: of a constructor or destructor
    that is both the complete object's and the base's it tells the latter's
    (Itanium C++ ABI 5.1.4.3)."""
    if name in sizes:
        return name
    base = re.sub(r"(C|D)1E", r"\g<1>2E", name)
    return base if base in sizes else name


def pointer_targets(name, indirect):
    """What the function may call through a pointer; keys are prefixes."""
    for prefix, targets in indirect.items():
        if strip(name).startswith(prefix):
            return targets
    raise StackError(f"{name}: calls through a pointer; not listed")


def deepest(graph, root, external, indirect):
    """(bytes, path) of the deepest path from `root`. `external`: bytes below
    functions that are not ours. `indirect`: the functions that a caller may
    reach through a pointer."""
    known, active = {}, []

    def visit(name):
        name = complete(name, graph.sizes)
        if name in known:
            return known[name]
        if name in active:
            raise StackError("recursion: " + " ".join(active + [name]))
        if name not in graph.sizes:
            if strip(name) not in external:
                raise StackError(f"{name}, called by {active[-1:]}: not listed")
            return external[strip(name)], [strip(name)]
        active.append(name)
        callees = set(graph.calls.get(name, ()))
        if INDIRECT in callees:
            callees.remove(INDIRECT)
            callees |= pointer_targets(name, indirect)
        below = max((visit(callee) for callee in sorted(callees)),
                    default=(0, []))
        active.pop()
        known[name] = (graph.sizes[name] + RETURN_ADDRESS_BYTES + below[0],
                       [strip(name)] + below[1])
        return known[name]

    return visit(root)


def callgraph_of(entry, directory):
    """Compiles one entry of compile_commands.json; the text of its graph."""
    words = [word for word in shlex.split(entry["command"])
             if os.path.basename(word) != "ccache"]
    out = pathlib.Path(directory, entry["file"].replace("/", "_") + ".o")
    words[words.index("-o") + 1] = str(out)
    subprocess.run([*words, "-g0", "-fcallgraph-info=su"],
                   cwd=entry["directory"], check=True)
    return out.with_suffix(".ci").read_text()


def build_graph(entries, directory):
    graph = Graph()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for text in pool.map(lambda e: callgraph_of(e, directory), entries):
            graph.add(text)
    return graph
