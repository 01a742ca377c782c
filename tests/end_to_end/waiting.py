"""Waiting for a program that may hang: one hangs that uses no CPU time any more,
however slow the machine is."""

import os
import time

QUIET_SECONDS = 10


def await_end(process, limit_seconds):
    """False if the process, started as the first of a session of its own, and
    all others of that session use no CPU time for QUIET_SECONDS, or the limit is
    over. It is not reaped: /proc still tells of it."""
    start = changed = time.monotonic()
    used = -1
    look = os.WEXITED | os.WNOHANG | os.WNOWAIT
    while process.returncode is None and \
            os.waitid(os.P_PID, process.pid, look) is None:
        now = time.monotonic()
        total = _session_ticks(process.pid)
        if total != used:
            used, changed = total, now
        if now - changed > QUIET_SECONDS or now - start > limit_seconds:
            return False
        time.sleep(0.1)
    return True


def _session_ticks(session):
    total = 0
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if os.getsid(int(name)) == session:
                total += cpu_ticks(int(name))
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has just ended
    return total


def cpu_ticks(pid):
    """User + system CPU time of the process itself, in sysconf(SC_CLK_TCK)."""
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])
