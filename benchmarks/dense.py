"""Dense logs: one line in N reports a fallback. Measured by hand: `python benchmarks/dense.py`.

    python benchmarks/dense.py [--size MIB] [--runs N] [--keep FOLDER]

The lines are PyTorch's own, from `sample_logs/`: whole records that report a fallback, as they stand there,
strewn among lines of a debug log that report none (seeded). A third log reports 100,000 different fallbacks.
Each figure is the median of N runs of the whole command.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import re
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from run import DEBUG, ROOT, gate, resident_mib, seconds

from fallback_gate import check

RECORD_LINES = 40
PYTORCH = re.compile(rb"[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ (?:\S*/)?torch/")
BLOCKS = ("torch/cudagraph-partition", "torch/cpu-partition")  # their lines stand in a block of many records
DISTINCT = 100_000


def text_of(log: Path) -> bytes:
    """The text of a sample."""
    data = log.read_bytes()
    return gzip.decompress(data) if log.suffix == ".gz" else data


def records(log: Path) -> list[bytes]:
    """Each record of a log that reports a fallback: its line, and those behind it with the same prefix."""
    lines = text_of(log).splitlines(keepends=True)
    found = []
    for finding in check([log], "builtin:strict", environ={}).findings:
        for number in finding.event.lines[:3]:
            first = lines[number - 1]
            if not PYTORCH.match(first) or finding.event.id in BLOCKS:
                continue
            prefix = first.partition(b"] [__")[0] if b"] [__" in first else b"\0"
            end = number
            while end < min(len(lines), number + RECORD_LINES) and lines[end].startswith(prefix):
                end += 1
            found.append(b"".join(lines[number - 1 : end]))
    return found


def strewn(into: Path, size: int, every: int) -> Path:
    """A log of at least `size` bytes in which one line in `every` opens a record that reports a fallback."""
    chance = random.Random(7)
    logs = sorted(path for path in (ROOT / "sample_logs").glob("*/*.log*"))
    pool = [record for log in logs for record in records(log)]
    hits = {line for record in pool for line in record.splitlines(keepends=True)}
    plain = [line for line in text_of(DEBUG).splitlines(keepends=True) if line not in hits]
    with into.open("wb") as file:
        at = 0
        while file.tell() < size:
            taken, lines = [], 0
            record = chance.choice(pool)
            while lines < every - record.count(b"\n"):
                taken.append(plain[at])
                at, lines = (at + 1) % len(plain), lines + 1
            file.write(b"".join((record, *taken)))
    return into


def different(into: Path) -> Path:
    """A log with so many different fallbacks, in PyTorch's own words."""
    with into.open("wb") as file:
        for number in range(DISTINCT):
            file.write(
                b"V1130 00:29:06.251000 4674 torch/_dynamo/symbolic_convert.py:1] [0/0] [__graph_breaks] "
                b"Graph break in user code at /app/model_%d.py:%d\n" % (number // 100, number)
            )
    return into


def main() -> None:
    """Measure, and print a line each."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--size", type=int, default=128, help="MiB of a log")
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--keep", type=Path, help="leave the logs in this folder")
    asked = options.parse_args()
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        place = asked.keep or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        logs = {
            "1 line in 100": strewn(place / "dense-100.log", asked.size << 20, 100),
            "1 line in 10": strewn(place / "dense-10.log", asked.size << 20, 10),
            f"{DISTINCT:,} different": different(place / "different.log"),
        }
        for name, log in logs.items():
            command = gate(log)
            taken, size = seconds(command, asked.runs), log.stat().st_size
            memory = resident_mib(command)
            print(f"{name:18} {size / 1e6 / taken:7.0f} MB/s  {taken:6.2f} s  most memory {memory:.0f} MiB")


if __name__ == "__main__":
    main()
