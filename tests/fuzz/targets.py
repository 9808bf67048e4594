"""Fuzzing: what is fed, by name: a family of readers, or another thing that reads what others wrote.

A target takes an input and raises where something does not hold. Errors that the gate means to give are none.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import NamedTuple

import zstandard

from fallback_gate import policy as policies
from fallback_gate.compilers import READERS
from fallback_gate.compilers.book import Book
from fallback_gate.errors import GateError, Unreadable
from fallback_gate.instruments import bench, counters, numerics
from fallback_gate.instruments.evidence import Evidence
from fallback_gate.instruments.trace import reading
from fallback_gate.judging.weigh import judge as judge_evidence
from fallback_gate.model import Outcome
from fallback_gate.policy.entry import Policy
from fallback_gate.verdict import baseline_file, past_report, waiver
from tests.fuzz import corpus, invariants, mutate
from tests.fuzz.judging import TODAY, judged, put
from tests.test_wrapped import WRAPPINGS, wrapped

TRACE = "x.log.traces/dedicated_log_torch_trace_x.log"


_TEXT = (mutate.lines, mutate.lines, mutate.bytes_of)
_TREES = (mutate.values, mutate.values, mutate.bytes_of)


class Target(NamedTuple):
    """One thing that is fed: its seeds, what takes an input, and how seeds are changed."""

    seeds: Callable[[], Sequence[bytes]]
    feed: Callable[[bytes], None]
    mutations: Sequence[mutate.Mutate] = _TEXT


def feed_log(
    data: bytes,
    others: Callable[[], Sequence[bytes]],
    held: Sequence[tuple[invariants.Invariant, int]] = invariants.LOG,
) -> None:
    """One log, held against two of the invariants, which the input itself chooses."""
    chance = random.Random(zlib.crc32(data))
    for invariant in chance.choices(*zip(*held, strict=True), k=2):
        invariant(data, chance, others())


def feed_trace(data: bytes) -> None:
    """A structured trace, whole and in pieces."""
    judged(data, "dedicated_log_torch_trace_x.log")


def feed_archive(data: bytes) -> None:
    """A packed log passes only if the packing's own reader gets all of it, and as plain text it passes too."""
    verdict = judged(data, "run.zip" if data.startswith(b"PK") else "compile.log.gz")
    if verdict.outcome is not Outcome.PASS:
        return
    texts = _unpacked(data)
    assert texts is not None, "it passes, and its own reader refuses it"
    assert any(judged(text).outcome is Outcome.PASS for text in texts), "it passes, and its text does not"


def _unpacked(data: bytes) -> list[bytes] | None:
    if data.startswith(b"PK"):
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                return [archive.read(info) for info in archive.infolist()]
        except (zipfile.BadZipFile, zlib.error, ValueError, NotImplementedError, OSError, EOFError):
            return None
    readers = (gzip.decompress, lzma.decompress, bz2.decompress, _unpacked_zstandard)
    if not data.startswith((b"\x1f\x8b", b"\xfd7zXZ", b"]\0\0", b"BZh", b"(\xb5/\xfd")):
        return [data]
    for reader in readers:
        try:
            return [reader(data)]
        except (OSError, EOFError, lzma.LZMAError, zlib.error, ValueError, zstandard.ZstdError):
            continue
    return None


def _unpacked_zstandard(data: bytes) -> bytes:
    with zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True) as reader:
        return reader.read()


def feed_policy(data: bytes) -> None:
    """A policy, a waiver, a baseline or a report of before: read, or refused with each mistake in a line."""
    path = put(data, "policy.yaml")
    for load in (partial(policies.load, today=TODAY), waiver.load, baseline_file.load, past_report.read):
        try:
            loaded = load(path)
            if isinstance(loaded, Policy) and loaded.rules:
                Book(READERS, loaded.rules)
        except GateError as wrong:
            told = str(wrong)
            assert told.strip()
            assert len(told) < 1 << 20, "an error of a megabyte"


def feed_instrument(data: bytes) -> None:
    """A file of an instrument: evidence that can be judged, or refused."""
    path = put(data, "measured.json")
    for read in (_trace, counters.read, lambda path: bench.read([path])):
        try:
            said = read(path)
        except (GateError, Unreadable):
            continue
        if said is not None:
            judge_evidence([said], "builtin:strict", today=TODAY)


def _trace(path: str) -> Evidence | None:
    reading.read(path)
    return None


def feed_tensors(data: bytes) -> None:
    """A file of tensors, held against itself."""
    path = put(data, "tensors.npy")
    with suppress(GateError):
        judge_evidence([numerics.read(path, path)], "builtin:strict", today=TODAY)


@cache
def _wrapped() -> tuple[bytes, ...]:
    """Small logs in envelopes, two deep."""
    chance = random.Random(0)
    small = sorted({log for some in corpus.logs().values() for log in some}, key=len)
    texts = [text for text in small if invariants.is_text(text) and 200 < len(text) < 8000][:40]
    found = [wrapped(text, tuple(chance.sample(list(WRAPPINGS), chance.randint(1, 2)))) for text in texts]
    return tuple(found + [wrapped(texts[0], (name,)) for name in WRAPPINGS])


@cache
def _family(name: str) -> tuple[bytes, ...]:
    return corpus.logs()[name]


TARGETS: dict[str, Target] = {
    **{
        name: Target(partial(_family, name), partial(feed_log, others=partial(_family, name)))
        for name in corpus.FAMILIES
    },
    "envelope": Target(_wrapped, partial(feed_log, others=_wrapped, held=invariants.WRAPPED)),
    "traces": Target(corpus.traces, feed_trace),
    "archives": Target(corpus.archives, feed_archive, (mutate.bytes_of,)),
    "policy": Target(corpus.policies, feed_policy, _TREES),
    "instruments": Target(corpus.instruments, feed_instrument, _TREES),
    "tensors": Target(corpus.tensors, feed_tensors, (mutate.bytes_of,)),
}


def mutated(target: Target, chance: random.Random, seed: bytes) -> bytes:
    """A seed, changed as suits it."""
    return chance.choice(target.mutations)(chance, seed, target.seeds())
