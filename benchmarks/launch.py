"""Run one command and tell what it cost, as JSON: seconds by the clock and of CPU, and the most memory.

    python launch.py one|all|sampled COMMAND...

A process of its own, and a small one: what a child is said to have held at most includes what its parent
held when it was started. `one` keeps the command on one core; `sampled` looks at the memory of the command
and of all its children together, ten times a second, which costs time.
"""

import json
import os
import subprocess
import sys
import time

KIB = 1 if sys.platform == "darwin" else 1024


def shared_fairly(pid: int) -> int:
    """Bytes that a process holds, with pages that several hold shared out among them; 0 once it is gone."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


def family(pid: int) -> list[int]:
    """A process and all that it started."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            children = file.read().split()
    except OSError:
        return [pid]
    return [pid, *(other for child in children for other in family(int(child)))]


def main() -> None:
    """Run, and tell."""
    how, command = sys.argv[1], sys.argv[2:]
    if how == "one" and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    began, together = time.perf_counter(), 0
    with open(os.devnull, "rb") as nothing, open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen(command, stdin=nothing, stdout=nowhere, stderr=nowhere)
    ended = 0
    while how == "sampled" and not ended:
        together = max(together, sum(map(shared_fairly, family(process.pid))))
        time.sleep(0.1)
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
    if not ended:
        _, status, used = os.wait4(process.pid, 0)
    told = {
        "wall": time.perf_counter() - began,
        "cpu": used.ru_utime + used.ru_stime,
        "bytes": max(together, used.ru_maxrss * KIB),
        "status": os.waitstatus_to_exitcode(status),
    }
    print(json.dumps(told))


main()
