"""The real programs that real_programs.py profiles, with generated input.

A workload is a command, what to do while it runs, and what it put out.
"""

import hashlib
import os
import random
import shutil
import socket
import subprocess
import time

import harness

_SQL = """
PRAGMA journal_mode = off;
CREATE TABLE t(a INTEGER, b TEXT, c INTEGER);
INSERT INTO t
  WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n
                          WHERE x < 2700000)
  SELECT x * 2654435761 % 4294967296, printf('key-%d', x * 48271 % 2147483647),
         x FROM n;
CREATE INDEX t_a ON t(a);
CREATE INDEX t_b ON t(b, c);
SELECT count(*), sum(a % 1000), max(b) FROM t;
"""

_PYTHON = """
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps

def longest(limit):
    return max(range(1, limit), key=collatz)

print(longest(800000))
"""

_HEADERS = ("algorithm", "chrono", "filesystem", "functional", "future",
            "iostream", "map", "memory", "random", "ranges", "regex", "sstream",
            "string", "thread", "unordered_map", "variant", "vector")


class Workload:
    """A command that is run to its end. `threads` bounds how many it has,
    `record_flags` are added to `unspool record`."""

    def __init__(self, name, argv, directory, threads=1, outputs=(),
                 record_flags=()):
        self.name = name
        self.argv = argv
        self.directory = directory
        self.threads = threads
        self.outputs = outputs  # files that belong to what it puts out
        self.record_flags = record_flags

    def prepare(self):
        """Removes what a run before left."""
        for path in self.outputs:
            if os.path.exists(path):
                os.remove(path)

    def drive(self, process):
        """Called once it runs; gives bytes that belong to its output."""
        del process
        return b""

    def digest(self, stdout, driven):
        """What must be the same in every run."""
        digest = hashlib.sha256(stdout + driven)
        for path in self.outputs:
            with open(path, "rb") as file:
                digest.update(file.read())
        return digest.hexdigest()


class Redis(Workload):
    """redis-server on its own port under redis-benchmark, bounded."""

    def __init__(self, directory):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        super().__init__(
            "redis-server",
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1",
             "--save", "", "--appendonly", "no", "--logfile",
             os.path.join(directory, "redis.log"), "--daemonize", "no"],
            directory, threads=6)

    def prepare(self):
        log = os.path.join(self.directory, "redis.log")
        if os.path.exists(log):
            os.remove(log)

    def drive(self, process):
        self._wait_until_ready(process)
        subprocess.run(
            ["redis-benchmark", "-p", str(self.port), "-q", "-n", "200000", "-c",
             "20", "-P", "4", "-t", "set,get,incr,lpush,lrange_300,zadd,hset"],
            stdout=subprocess.DEVNULL, check=True, timeout=240)
        size = self._cli("DBSIZE") + self._cli("GET", "counter:__rand_int__")
        self._cli("SHUTDOWN", "NOSAVE")
        return size

    def _wait_until_ready(self, process):
        for _ in range(200):
            if process.poll() is not None:
                raise RuntimeError(f"redis-server ended: {process.returncode}")
            if self._cli("PING").strip() == b"PONG":
                return
            time.sleep(0.05)
        raise RuntimeError("redis-server did not answer")

    def _cli(self, *command):
        return subprocess.run(
            ["redis-cli", "-p", str(self.port), *command], capture_output=True,
            timeout=30).stdout


def _write(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o644)
    return path


def _xz(directory):
    words = [f"{random.Random(i).getrandbits(40):x}" for i in range(4000)]
    choose = random.Random(1)
    text = " ".join(choose.choice(words) for _ in range(480000))
    path = _write(directory, "words.txt", text)
    return Workload("xz", ["xz", "-T1", "-6", "-k", "-c", path], directory)


def _sqlite(directory):
    database = os.path.join(directory, "index.db")
    return Workload("sqlite3", ["sqlite3", database, _SQL], directory,
                    outputs=[database])


def _cc1plus_deep(directory):
    """Its garbage collector recurses through a thousand frames and more."""
    workload = _cc1plus(directory)
    workload.name += " --max-depth 4096"
    workload.record_flags = ("--max-depth", "4096")
    return workload


def _cc1plus(directory):
    text = "".join(f"#include <{header}>\n" for header in _HEADERS) + """
int main(int argc, char** argv) {
  std::unordered_map<std::string, int> counts;
  std::regex word("[a-z]+");
  for (int i = 0; i < argc; ++i) {
    if (std::regex_match(argv[i], word)) ++counts[argv[i]];
  }
  for (const auto& [key, count] : counts) std::cout << key << count;
}
"""
    source = _write(directory, "headers.cc", text)
    assembly = os.path.join(directory, "headers.s")
    compiler = subprocess.run(
        ["g++", "-print-prog-name=cc1plus"], capture_output=True, text=True,
        check=True).stdout.strip()
    return Workload(
        "cc1plus", [compiler, "-quiet", "-imultiarch", "x86_64-linux-gnu",
                    "-D_GNU_SOURCE", "-std=c++20", "-O2", "-dumpbase",
                    "headers.cc", source, "-o", assembly],
        directory, outputs=[assembly])


def _python(directory):
    return Workload("python3", ["/usr/bin/python3", "-c", _PYTHON], directory)


def _threads(directory):
    program = shutil.copy(harness.program("worker_threads"), directory)
    return Workload("64 threads (C++)", [program], directory, threads=65)


def undriven(directory):
    """One thread, fixed work, nothing else to start: what costs are compared
    on."""
    return [make(directory) for make in (_xz, _sqlite, _cc1plus, _python)]


def all_workloads(directory):
    """All of them, with their input in `directory`."""
    makers = (_xz, _sqlite, _cc1plus, _cc1plus_deep, _python, Redis, _threads)
    return [make(directory) for make in makers]
