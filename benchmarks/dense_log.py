"""Dense logs: one line in N reports a fallback; and a log with so many different fallbacks.

The lines are PyTorch's own, from `sample_logs/`: whole records that report a fallback, strewn among lines of
a debug log that report none. All are of one process, as if it had printed them. The logs are always the same,
as long as our readers find the same records in the samples.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

from benchmarks.debug_log import DEBUG, SAMPLES, SEED, text_of
from fallback_gate import check

RECORD_LINES = 40
PYTORCH = re.compile(rb"[VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ (?:\S*/)?torch/")
ONE_PROCESS = re.compile(rb"^([VDIWEC]\d{4} \d\d:\d\d:\d\d\.\d+ )\d+(?= )", re.MULTILINE)
BLOCKS = ("torch/cudagraph-partition", "torch/cpu-partition")  # their lines stand in a block of many records


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
    """A log of at least `size` bytes in which one line in `every` opens a record that reports a fallback.

    Records of more lines than that are left out.
    """
    chance = random.Random(SEED)
    logs = sorted(log for log in SAMPLES.glob("*/*.log*") if log.is_file() and "trace" not in log.name)
    found = [ONE_PROCESS.sub(rb"\g<1>4674", record) for log in logs for record in records(log)]
    told = {line for record in found for line in record.splitlines(keepends=True)}
    pool = [record for record in found if record.count(b"\n") <= every]
    debug = ONE_PROCESS.sub(rb"\g<1>4674", text_of(SAMPLES / DEBUG[0]))
    plain = [line for line in debug.splitlines(keepends=True) if line not in told]
    at, written = 0, 0
    with into.open("wb") as file:
        while written < size:
            record = chance.choice(pool)
            upto = at + every - record.count(b"\n")
            between = plain[at:upto] + plain[: max(0, upto - len(plain))]
            written += file.write(record + b"".join(between))
            at = upto % len(plain)
    return into


def different(into: Path, count: int) -> Path:
    """A log with `count` different fallbacks, in PyTorch's own words."""
    with into.open("wb") as file:
        for number in range(count):
            file.write(
                b"V1130 00:29:06.251000 4674 torch/_dynamo/symbolic_convert.py:1] [0/0] [__graph_breaks] "
                b"Graph break in user code at /app/model_%d.py:%d\n" % (number // 100, number)
            )
    return into
