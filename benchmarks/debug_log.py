"""A debug log of any size, made from real ones: the same bytes each time.

Whole logs of `sample_logs/` follow each other, drawn by a fixed seed: nineteen in twenty are debug logs of
PyTorch, which are large, the others short logs of other compilers. No two copies are alike. What differs
from process to process and from model to model is changed in each copy, and alike within it: times, process
ids (of eight ranks), the numbers of frames, addresses, hashes, the sizes of tensors, and the folder of the
model. So a line is seldom seen twice, and each copy still is what its compiler writes.
"""

from __future__ import annotations

import gzip
import random
import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

SAMPLES = Path(__file__).resolve().parents[1] / "sample_logs"
SEED = 7
RANKS = 8
MODELS = 16
DEBUG = (
    "moe-decoder-h200/fixed.debug.log.gz",
    "moe-decoder-h200/custom-op.debug.log.gz",
    "moe-decoder-h200/disabled.debug.log.gz",
    "torch/backward-operator-debug.2.7.1.log.gz",
    "torch/clean-debug-warm-cache.2.14.1.log.gz",
    "torch/fallback-kernels-hidden-by-cache.2.14.1.log.gz",
    "torch/ranks-one-breaks.2.14.1.log.gz",
    "torch/suppressed-errors.2.14.1.log.gz",
)
OTHERS = (
    *("executorch", "iree", "jax", "litert", "nvidia", "onnxruntime", "openvino", "rknn"),
    *("tensorflow", "tilelang", "torch_xla", "transformers", "triton", "tvm"),
)
COLOURED = re.compile(rb"[\0\x1b]")  # it would bring its form into all that follows
SHARE_OF_DEBUG = 0.95  # of the copies; of the bytes it is nearly all

VARIES = re.compile(
    rb"(?<=^[VDIWEC])\d{4} \d\d:\d\d:\d\d\.\d{6} \d+(?= )"  # time and process id of a PyTorch record
    rb"|(?<=\[)\d+(?=/\d+[\]_])"  # the frame in a compile id: [0/1], [0/1_2]
    rb"|\b0x[0-9a-f]{6,16}\b"  # an address
    rb"|\b[a-z2-7]{50,53}\b|\b[0-9a-f]{32,64}\b"  # a hash in base 32 or 16
    rb"|(?<=[\[( ])(?<!line )\d{3,5}(?=[,\])])"  # a size in a shape or a stride
    rb"|(?<=/app/)\w+(?=/)",  # the folder of the model
    re.MULTILINE,
)
_STAMP = re.compile(rb"\d{4} \d\d(:\S+ )\d+")
_HEX, _BASE32 = b"0123456789abcdef", b"abcdefghijklmnopqrstuvwxyz234567"


def text_of(log: Path) -> bytes:
    """The text of a sample."""
    data = log.read_bytes()
    return gzip.decompress(data) if log.suffix == ".gz" else data


class Sample(NamedTuple):
    """A real log, cut where copies differ: text, value, text, value, ..., text."""

    pieces: list[bytes]
    values: tuple[bytes, ...]  # each once, in an order that no hash decides

    def copy(self, change: Callable[[bytes], bytes]) -> bytes:
        """The log with each value changed, and alike wherever it stands."""
        changed = {value: change(value) for value in self.values}
        pieces = self.pieces.copy()
        pieces[1::2] = map(changed.__getitem__, pieces[1::2])
        return b"".join(pieces)


def sample(text: bytes, varies: re.Pattern[bytes] = VARIES) -> Sample:
    """Cut a log at what differs from copy to copy."""
    pieces: list[bytes] = []
    done = 0
    for match in varies.finditer(text):
        pieces += (text[done : match.start()], match[0])
        done = match.end()
    return Sample(
        [*pieces, text[done:] + b"\n" * (not text.endswith(b"\n"))], tuple(dict.fromkeys(pieces[1::2]))
    )


def change(number: int, chance: random.Random) -> Callable[[bytes], bytes]:
    """What copy `number` has in place of a value."""
    hour = f"{datetime(2026, 11, 1) + timedelta(hours=number // RANKS):%m%d %H}".encode()
    process = str(41_000 + 77 * (number % RANKS)).encode()
    folder = b"model_%02d" % chance.randrange(MODELS)

    def changed(value: bytes) -> bytes:
        if stamp := _STAMP.fullmatch(value):
            return hour + stamp[1] + process
        if value.startswith(b"0x"):
            return b"0x%0*x" % (len(value) - 2, chance.getrandbits(4 * (len(value) - 2)))
        if len(value) >= 32:
            letters = _HEX if set(value) <= set(_HEX) else _BASE32
            return bytes(chance.choices(letters, k=len(value)))
        if not value.isdigit():
            return folder
        if len(value) < 3:
            return b"%d" % (int(value) + number // RANKS)
        return b"%d" % chance.randrange(10 ** (len(value) - 1), 10 ** len(value))

    return changed


def copies(seed: int) -> Iterator[bytes]:
    """Copy after copy, without end."""
    chance = random.Random(seed)
    debug = [sample(text_of(SAMPLES / name)) for name in DEBUG]
    others = [
        sample(text_of(log))
        for folder in OTHERS
        for log in sorted((SAMPLES / folder).iterdir())
        if ".log" in log.suffixes and not COLOURED.search(text_of(log))
    ]
    number = 0
    while True:
        kind = debug if chance.random() < SHARE_OF_DEBUG else others
        yield chance.choice(kind).copy(change(number, chance))
        number += 1


class Grown:
    """A log that grows: to `size` bytes, less the rest of a line; what was there stays."""

    def __init__(self, path: Path, seed: int = SEED) -> None:
        self.path = path
        self._copies = copies(seed)
        self._rest = b""
        self._written = 0
        path.write_bytes(b"")

    def grow(self, size: int) -> Path:
        """Write up to `size` bytes in all."""
        with self.path.open("ab") as file:
            while self._written < size:
                text = self._rest or next(self._copies)
                room = size - self._written
                end = len(text) if len(text) <= room else text.rfind(b"\n", 0, room) + 1
                file.write(text[:end])
                self._written += end
                self._rest = text[end:]
                if self._rest:
                    break
        return self.path
