"""The storms: what breaks profilers, run again and again under ours, and what
came of it. scripts/soak runs them in full length, test_soak.py in short.

A round is one run of one storm. What it used is asked of the kernel (wait4), not
of the program; what was recorded is the sum of all profiles that it left.
"""

import dataclasses
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time

import harness
import pprof_decode
import storm_servers
import waiting

FREQUENCY = 4000
VARIANTS = ("record", "preload")
# Weights may differ from the CPU time by this share, and by what a storm says of
# each thread or process that it starts: what these use before the agent is
# loaded and after it is done is nobody's to sample. What they use in between
# the processes say themselves.
TOLERANCE = 0.03
FORK_NS = 300_000  # of each forked process, before its first tick
SHORTEST_ROUND_SECONDS = 4


@dataclasses.dataclass
class Outcome:
    """Sums over the rounds of one storm in one variant."""
    storm: str
    variant: str
    rounds: int = 0
    hangs: int = 0
    crashes: int = 0
    interrupted: int = 0  # EINTR where there was none
    errors: int = 0  # of clients
    work: int = 0  # in units of the storm's
    unseen_ns: int = 0  # CPU time that cannot be sampled, at most
    unseen_start_ns: int = 0  # of this, before the first ticks
    said_ns: int = 0  # CPU time at their ends, by the processes themselves
    samples: int = 0
    truncated: int = 0
    weight_ns: int = 0
    cpu_ns: int = 0
    pseudo_ns: dict = dataclasses.field(default_factory=dict)
    notes: list = dataclasses.field(default_factory=list)

    @property
    def ratio(self):
        return self.weight_ns / self.cpu_ns if self.cpu_ns else 0

    @property
    def truncated_share(self):
        return self.truncated / self.samples if self.samples else 0

    def problems(self):
        """What is not as it should be, in words."""
        found = [f"{count} {name}" for name, count in (
            ("hangs", self.hangs), ("crashes", self.crashes),
            ("EINTR", self.interrupted), ("errors", self.errors)) if count]
        slack = TOLERANCE * self.cpu_ns + self.unseen_ns
        if abs(self.weight_ns - self.cpu_ns) > slack:
            found.append(f"weights are {self.ratio:.3f} of the CPU time")
        least = (1 - TOLERANCE) * self.said_ns - self.unseen_start_ns
        if self.weight_ns < least:
            found.append(f"weights are {self.weight_ns / self.said_ns:.3f} of "
                         "what the processes say they used")
        if self.samples == 0:
            found.append("no samples")
        # 0.9 % while an exception lands, give or take a few of a short run.
        if self.truncated_share > 0.015:
            found.append(f"{100 * self.truncated_share:.2f} % truncated")
        return found + self.notes[:3]


@dataclasses.dataclass
class Storm:
    name: str
    command: list = None  # of a program of ours; {seconds} is CPU time
    server: type = None
    cpu_per_second: float = 1  # program's CPU seconds in a second, about
    round_seconds: float = 30
    rounds: int = 0  # if not 0: so many, whatever the time
    unseen_ns: int = 0  # for each piece of work: see TOLERANCE

    def missing(self):
        """The packages to install, or ""."""
        if self.server is None:
            return ""
        programs = {"redis": ["redis-server", "redis-benchmark"],
                    "nginx": ["/usr/sbin/nginx", "wrk"],
                    "postgres": ["/usr/lib/postgresql"]}[self.name]
        is_there = lambda path: shutil.which(path) or os.path.isdir(path)
        return "" if all(map(is_there, programs)) else self.server.packages


def _own(name, *arguments):
    return [harness.program(name), *arguments]


# exception_storm: {seconds} is of each of three throwers on two processors.
STORMS = {storm.name: storm for storm in (
    Storm("dl01", _own("exception_storm", "{seconds}"), cpu_per_second=0.5,
          round_seconds=8, rounds=20),
    Storm("throw-dlopen", _own("exception_storm", "{seconds}"),
          cpu_per_second=0.5),
    Storm("thread-churn", _own("thread_churn", "{seconds}"), cpu_per_second=2,
          unseen_ns=25_000),
    Storm("process-churn", _own("process_churn", "{seconds}"),
          unseen_ns=2_000_000),
    *(Storm(name, server=server)
      for name, server in storm_servers.SERVERS.items()))}


class Round:
    """One run, in a folder of its own."""

    def __init__(self, storm, variant, seconds, outcome):
        self.storm, self.variant, self.seconds = storm, variant, seconds
        self.outcome = outcome
        self.prefix = []
        # Others may use the machine, too.
        self.limit_seconds = 10 * seconds + 60

    def run(self):
        self.outcome.rounds += 1
        with tempfile.TemporaryDirectory(prefix="unspool-soak-") as directory:
            os.chmod(directory, 0o755)
            self.directory = directory
            self.unspool, self.agent = harness.copy_product(directory)
            place = os.path.join(directory, "run")
            os.mkdir(place)
            self.place = place
            if self.storm.server and os.geteuid() == 0:
                os.chown(place, harness.NOBODY, harness.NOBODY)
                self.prefix = harness.identities()[1][1]
            self._run_in_place()

    def _run_in_place(self):
        server = None
        if self.storm.server:
            server = self.storm.server(self.place, self.prefix)
            server.prepare()
            argv = server.argv
        else:
            argv = [word.format(seconds=self.seconds *
                                self.storm.cpu_per_second)
                    for word in self.storm.command]
        with open(os.path.join(self.directory, "stderr"), "w+") as stderr, \
                open(os.path.join(self.directory, "stdout"), "w+") as stdout:
            process = self._start(argv, stdout, stderr)
            if server:
                self._load(server, process)
            status, cpu_ns = self._wait(process)
            for file in (stdout, stderr):
                file.seek(0)
            self._count_run(status, cpu_ns, stdout.read(), stderr.read())
        self._count_profiles(process.pid)

    def _start(self, argv, stdout, stderr):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("UNSPOOL_", "LD_PRELOAD"))}
        environment["HOME"] = self.place
        output = os.path.join(self.place, "out.pb.gz")
        command = [*self.prefix]
        if self.variant == "record":
            command += [self.unspool, "record", "-o", output, "-F",
                        str(FREQUENCY), "--engine", "auto", "--"]
        else:
            # The agent is for the program, not for who changes the user.
            command += ["env", f"LD_PRELOAD={self.agent}",
                        f"UNSPOOL_OUTPUT={output}", "UNSPOOL_ENGINE=auto",
                        f"UNSPOOL_FREQUENCY={FREQUENCY}"]
        return subprocess.Popen([*command, *argv], stdout=stdout,
                                stderr=stderr, env=environment,
                                cwd=self.place, start_new_session=True)

    def _load(self, server, process):
        try:
            storm_servers.await_socket(server.place, process)
            work, errors, processes = server.load(self.seconds, process)
            if errors:
                self.outcome.notes.append(f"client: {server.last_words}")
            self.outcome.work += work
            self.outcome.errors += errors
            self.outcome.unseen_start_ns += processes * FORK_NS
            self.outcome.unseen_ns += (processes *
                                       server.process_ns[self.variant])
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            self.outcome.notes.append(str(error))
            self.outcome.hangs += 1
        if process.poll() is None:
            process.send_signal(server.stop_signal)

    def _wait(self, process):
        """(status, CPU ns of the program and what it waited for)."""
        if not waiting.await_end(process, self.limit_seconds):
            self.outcome.hangs += 1
            os.killpg(process.pid, signal.SIGKILL)
        tool_ns = self._own_cpu_ns(process.pid)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        # What is left of the session was started here.
        try:
            os.killpg(process.pid, signal.SIGKILL)
            self.outcome.notes.append("processes were left behind")
        except ProcessLookupError:
            pass
        cpu_ns = int((usage.ru_utime + usage.ru_stime) * 1e9)
        return process.returncode, cpu_ns - tool_ns

    # A process that was not waited for yet still has its line in /proc.
    def _own_cpu_ns(self, pid):
        if self.variant != "record":
            return 0
        return waiting.cpu_ticks(pid) * 10**9 // os.sysconf("SC_CLK_TCK")

    def _count_run(self, status, cpu_ns, stdout, stderr):
        outcome = self.outcome
        outcome.cpu_ns += cpu_ns
        if status != 0:
            outcome.crashes += 1
            outcome.notes.append(f"status {status}: {stderr[-300:].strip()}")
        match = re.search(r"interrupted (\d+)", stdout)
        if match:
            outcome.interrupted += int(match[1])
        match = re.search(r"(?:thrown|started) (\d+)", stdout)
        if match:
            outcome.work += int(match[1])
            unseen_ns = int(match[1]) * self.storm.unseen_ns
            outcome.unseen_ns += unseen_ns
            outcome.unseen_start_ns += unseen_ns
        killed = re.findall(r"(?:exited on|terminated by) signal (?!9\b)\d+",
                            stderr + self._server_log())
        outcome.crashes += len(killed)
        outcome.notes += killed

    def _server_log(self):
        path = os.path.join(self.place, "error.log")
        if not os.path.exists(path):
            return ""
        with open(path, errors="replace") as file:
            return file.read()

    def _count_profiles(self, pid):
        paths = glob.glob(os.path.join(self.place, "out*.pb.gz"))
        if not paths:
            self.outcome.notes.append("no profile")
        for path in paths:
            self._count_profile(pprof_decode.load(path))
        # What a process that was ended left behind.
        for spool in self._left_spools(pid):
            converted = os.path.join(self.place, "left.pb.gz")
            exported = subprocess.run(
                [self.unspool, "export", spool, "-o", converted],
                capture_output=True, timeout=120)
            os.unlink(spool)
            if exported.returncode == 0:
                self._count_profile(pprof_decode.load(converted))

    # Of processes that have ended, newer than this round, in the folder's name.
    def _left_spools(self, pid):
        for path in glob.glob("/dev/shm/unspool-*.spool"):
            match = re.match(r"/dev/shm/unspool-(\d+)-", path)
            try:
                owner_is_ours = os.path.getmtime(path) >= os.path.getmtime(
                    self.unspool)
            except FileNotFoundError:
                continue
            if owner_is_ours and (int(match[1]) == pid or self._names_us(path)):
                yield path

    def _names_us(self, spool):
        with open(spool, "rb") as file:
            return self.place.encode() in file.read(1 << 16)

    def _count_profile(self, profile):
        outcome = self.outcome
        outcome.said_ns += sum(map(int, profile.facts("cpu_ns")))
        for sample in profile.samples:
            ns = harness.weight(profile, sample)
            outcome.weight_ns += ns
            if harness.is_pseudo(sample):
                name = sample.names[0]
                outcome.pseudo_ns[name] = outcome.pseudo_ns.get(name, 0) + ns
                continue
            taken = harness.count(profile, sample)
            outcome.samples += taken
            if harness.truncation(sample):
                outcome.truncated += taken


def run(storm, variant, seconds):
    """Rounds for that many seconds (at least one), or the storm's own number."""
    outcome = Outcome(storm.name, variant)
    end = time.monotonic() + seconds
    while outcome.rounds == 0 or (
            outcome.rounds < storm.rounds if storm.rounds
            else time.monotonic() < end - SHORTEST_ROUND_SECONDS):
        length = storm.round_seconds
        if not storm.rounds:
            length = max(SHORTEST_ROUND_SECONDS,
                         min(length, end - time.monotonic()))
        Round(storm, variant, length, outcome).run()
    return outcome


def no_core_files():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
