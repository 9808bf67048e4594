"""Speed and memory, beside peers: the same work in the same run, as a ratio. Run by `make bench`.

    python benchmarks/run.py [--size MIB] [--runs N] [--log FILE]

The log is a real debug log from `sample_logs/`, repeated up to the size asked for, in the page cache. Each
figure is the median of N runs of the whole command, kept on one core where the system allows it. `rg` is
measured too where ripgrep is installed (`pip install ripgrep`).
"""

from __future__ import annotations

import argparse
import gzip
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEBUG = ROOT / "sample_logs/moe-decoder-h200/disabled.debug.log.gz"
SMALL = "sample_logs/torch/recompile-limit.2.7.1.log"


def seconds(command: list[str], runs: int) -> float:
    """The median wall time of a command, in seconds."""
    taken = []
    for _ in range(runs):
        began = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def resident_mib(command: list[str]) -> float:
    """The most memory that a command held, mapped pages included, in MiB."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=False)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    unit = 1 if sys.platform == "darwin" else 1024
    return int(done.stdout) * unit / (1 << 20)


def grown(size: int, into: Path) -> Path:
    """A log of at least `size` bytes: the sample, over and over."""
    text = gzip.decompress(DEBUG.read_bytes())
    with into.open("wb") as file:
        while file.tell() < size:
            file.write(text)
    return into


def gate(log: str | Path) -> list[str]:
    """The whole command on one log."""
    return [sys.executable, "-m", "fallback_gate", "check", str(log), "--quiet"]


def main() -> None:
    """Measure, and print a table."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--size", type=int, default=512, help="MiB of the big log")
    options.add_argument("--runs", type=int, default=7)
    options.add_argument("--log", type=Path, help="use this log as the big one")
    asked = options.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        log = asked.log or grown(asked.size << 20, Path(folder) / "debug.log")
        seconds(["cat", str(log)], 1)
        cat = seconds(["cat", str(log)], asked.runs)
        rows = [
            ("cat LOG", cat, cat),
            ("fallback-gate check LOG", seconds(gate(log), asked.runs), cat),
        ]
        if rg := shutil.which("rg"):
            search = [rg, "-j1", "-a", "-c", "-F", "Graph break", str(log)]
            rows.append((shlex.join(["rg", *search[1:-1], "LOG"]), seconds(search, asked.runs), cat))
        memory = resident_mib(gate(log))
        size = log.stat().st_size
    bare = seconds([sys.executable, "-c", "import click, yaml"], asked.runs)
    rows.append(("python -c 'import click, yaml'", bare, bare))
    rows.append(("fallback-gate check, a small log", seconds(gate(SMALL), asked.runs), bare))
    print(f"log of {size / (1 << 20):.0f} MiB; most memory {memory:.0f} MiB; median of {asked.runs} runs")
    for name, taken, beside in rows:
        print(f"  {taken:7.3f} s  {taken / beside:5.1f} x  {name}")


if __name__ == "__main__":
    main()
