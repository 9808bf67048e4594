"""A folder of structured traces (TORCH_TRACE), a file for each rank, made from real ones: the same each time.

Whole traces of `sample_logs/` follow each other in a file, as if one process compiled one model after the
other. Changed in each copy, and alike within it, are the numbers of frames, which a process counts on, the
times, the process, the rank, and the folder of the model; the hash of each payload follows, since tlparse
passes over a payload whose hash is wrong.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable
from pathlib import Path
from re import Match

from benchmarks.debug_log import MODELS, RANKS, SAMPLES, SEED, sample, text_of

TRACES = (
    "recorded-h200/a_full.log.traces/dedicated_log_torch_trace_rlb_0wd5.log.gz",
    "recorded-h200/f_eagerbackend.log.traces/dedicated_log_torch_trace_2qspmjdi.log.gz",
    "torch/trace-clean.2.9.1.log.gz",
    "torch/trace-fallback-kernels.2.13.log.gz",
    "torch/trace-graph-breaks.2.13.log.gz",
)
FRAMES = 16  # more than a copy has
VARIES = re.compile(
    rb"(?<=^V)\d{4} \d\d:\d\d:\d\d\.\d{6} \d+(?= )"  # time and process id of a record
    rb'|"frame_id": \d+|(?<="compile_id": ")\d+(?=/)'  # the frame, in a record and in a payload
    rb"|(?<=/app/)\w+(?=/)",  # the folder of the model
    re.MULTILINE,
)
_PAYLOAD = re.compile(rb'("has_payload": ")[0-9a-f]{32}("[^\n]*\n)((?:\t[^\n]*\n)+)')
_STAMP = re.compile(rb"\d{4} \d\d(:\S+ )\d+")


def change(rank: int, number: int, chance: random.Random) -> Callable[[bytes], bytes]:
    """What copy `number` in the trace of a rank has in place of a value."""
    hour, process = b"1130 %02d" % (number % 24), b"%d" % (41_000 + rank)
    folder = b"model_%02d" % chance.randrange(MODELS)

    def changed(value: bytes) -> bytes:
        if stamp := _STAMP.fullmatch(value):
            return hour + stamp[1] + process
        if value.startswith(b'"frame_id"'):
            return b'"rank": %d, "frame_id": %d' % (rank, int(value.split()[1]) + FRAMES * number)
        return b"%d" % (int(value) + FRAMES * number) if value.isdigit() else folder

    return changed


def hashed(text: bytes) -> bytes:
    """The trace with the right MD5 of each payload: of its lines, without the tab that opens each."""

    def right(match: Match[bytes]) -> bytes:
        payload = match[3][1:-1].replace(b"\n\t", b"\n")
        return (
            match[1] + hashlib.md5(payload, usedforsecurity=False).hexdigest().encode() + match[2] + match[3]
        )

    return _PAYLOAD.sub(right, text)


def make(folder: Path, size: int) -> Path:
    """Traces of at least `size` bytes in all, whole to the last record."""
    folder.mkdir(parents=True)
    chance = random.Random(SEED)
    samples = [sample(text_of(SAMPLES / name), VARIES) for name in TRACES]
    for rank in range(RANKS):
        number = 0
        with (folder / f"dedicated_log_torch_trace_rank_{rank}_{rank:08x}.log").open("wb") as file:
            while file.tell() < size / RANKS:
                file.write(hashed(chance.choice(samples).copy(change(rank, number, chance))))
                number += 1
    return folder
