"""Fuzzing: what holds for every log, whatever stands in it. Each raises `AssertionError` where it does not."""

from __future__ import annotations

import gzip
import json
import random
import re
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from typing import Any

from fallback_gate.model import Outcome, Verdict
from fallback_gate.reports import FORMATS
from fallback_gate.sources.envelope_forms import STAMPED_NAME
from tests.fuzz.judging import judged, judged_apart, judged_in_pieces
from tests.test_wrapped import WRAPPINGS, wrapped

SECONDS = 3.0  # of CPU for one input of at most 64 KiB, on a slow machine under a fuzzer's instruments
NOISE = (
    b"step 17/100 loss 0.25",
    b"INFO 11-30 00:29:06 [loader.py:12] Loading weights took 1.5 seconds",
    b"",
    b"    at some_function (file.cc:12)",
    b"100%|##########| 10/10 [00:01<00:00]",
)
_IN_BRACKETS = re.compile(rb"^" + STAMPED_NAME.encode(), re.MULTILINE)
_BINARY = frozenset(range(32)) - {9, 10}
Invariant = Callable[[bytes, random.Random, Sequence[bytes]], None]


def told(verdict: Verdict, *, lines: bool = True, reasons: bool = True) -> list[Any]:
    """The outcome and what each event says; positions only where lines stay in their place."""
    events = sorted(
        repr((e.kind.value, e.compiler, e.op, e.scope.value, e.count, e.sites, e.location, e.reason if reasons else None, e.stack, e.ranks))
        + (repr(e.lines) if lines else "")
        for e in (finding.event for finding in verdict.findings)
    )  # fmt: skip
    return [verdict.outcome, verdict.exit_code, *events]


def names(verdict: Verdict) -> set[tuple[str, str, str]]:
    """What fell back."""
    return {(f.event.compiler, f.event.kind.value, f.event.op) for f in verdict.findings}


def is_text(data: bytes) -> bool:
    """Whether it holds nothing that an envelope or a terminal gives a meaning to."""
    return _BINARY.isdisjoint(data) and data.isascii()


def in_time(data: bytes, chance: random.Random, others: Sequence[bytes]) -> None:
    """No traceback, no hang."""
    began = time.process_time()
    judged(data)
    took = time.process_time() - began
    assert took < SECONDS, f"{took:.1f} s for {len(data):,} bytes"


def whatever_the_pieces(data: bytes, chance: random.Random, others: Sequence[bytes]) -> None:
    """How many bytes come at a time changes nothing."""
    stored, text = chance.choice((1 << 20, 4096, 517)), chance.choice((1 << 20, 4096, 301))
    same(judged(data), judged_in_pieces(data, stored, text))


def whatever_the_process(data: bytes, chance: random.Random, others: Sequence[bytes]) -> None:
    """A worker reads the same."""
    same(judged(data), judged_apart(data))


def whatever_the_packing(data: bytes, chance: random.Random, others: Sequence[bytes]) -> None:
    """Packed, it says the same; what looks packed or like an archive itself is another matter."""
    if data[:2] in (b"\x1f\x8b", b"PK", b"BZ", b"(\xb5", b"\xfd7", b"]\0") or not data:
        return
    same(judged(data), judged(gzip.compress(data, 1), "compile.log.gz"))


def with_lines_added(data: bytes, chance: random.Random, others: Sequence[bytes]) -> None:
    """Lines of a program between those of a compiler take no fallback away; what they tear apart proves nothing."""
    if not is_text(data):
        return
    before = judged(data)
    if not before.findings:
        return
    text = data.split(b"\n")
    for _ in range(chance.randint(1, 5)):
        at = chance.randrange(len(text) + 1)
        text[at:at] = [chance.choice(NOISE)]
    after = judged(b"\n".join(text))
    gone = {name[:2] for name in names(before)} - {name[:2] for name in names(after)}
    assert not gone or not after.proven, f"lines were added, and these are gone: {gone}"
    assert after.outcome is not Outcome.PASS, "lines were added, and it passes"


def with_another_log(data: bytes, chance: random.Random, others: Sequence[bytes]) -> None:
    """A log before or behind it takes no fallback away, but where it breaks a seal or a form, and says so."""
    other = chance.choice(others)
    if not is_text(data) or not is_text(other) or not other:
        return
    first, second = (data, other) if chance.random() < 0.5 else (other, data)
    both = judged(first.removesuffix(b"\n") + b"\n" + second)
    gone = (names(judged(data)) | names(judged(other))) - names(both)
    lost = {name[:2] for name in gone} - {name[:2] for name in names(both)}
    assert not lost or not both.proven, f"gone: {gone}"
    assert both.outcome is not Outcome.PASS or not gone, f"gone, and it passes: {gone}"


def in_an_envelope(data: bytes, chance: random.Random, others: Sequence[bytes]) -> None:
    """What a CI system or container puts around each line changes nothing."""
    if not is_text(data) or not data.strip():
        return
    name = chance.choice(
        [n for n, w in WRAPPINGS.items() if not (w.rank or w.moves or n.startswith("progress"))]
    )
    if "json" in name and b'{"log"' in data:
        return  # one in the other is nothing that a machine writes
    if name == "Jenkins" and _IN_BRACKETS.search(data):
        return  # behind its stamp such a name is a branch, and no part of the line
    data = data.removesuffix(b"\n") + b"\n"
    a, b = told(judged(data)), told(judged(wrapped(data, (name,))))
    assert a == b, f"in the envelope of {name}:\n{difference(a, b)}"


def of_two_ranks(data: bytes, chance: random.Random, others: Sequence[bytes]) -> None:
    """In which order the lines of two ranks come changes nothing but which of two equal reasons is told."""
    other = chance.choice(others)
    if not is_text(data) or not is_text(other) or b"rank" in data + other or not data.strip():
        return
    queues = [
        [b"[rank%d]:" % rank + line for line in text.split(b"\n")] for rank, text in enumerate((data, other))
    ]
    apart = b"\n".join([*queues[0], *queues[1]])
    mixed = []
    while queues[0] or queues[1]:
        mixed.append(
            (queues[0] if queues[0] and (not queues[1] or chance.random() < 0.5) else queues[1]).pop(0)
        )
    a, b = (told(judged(text), lines=False, reasons=False) for text in (apart, b"\n".join(mixed)))
    assert a == b, f"interleaved:\n{difference(a, b)}"


def in_every_report(data: bytes, chance: random.Random, others: Sequence[bytes]) -> None:
    """Each report can be read by who reads it, and says the same exit code."""
    verdict = judged(data)
    reports = {name: render(verdict) for name, render in FORMATS.items()}
    assert json.loads(reports["json"])["exit_code"] == verdict.exit_code
    assert ElementTree.fromstring(reports["junit"]).tag == "testsuites"
    for name in ("sarif", "gitlab"):
        json.loads(reports[name])
    for name, report in reports.items():
        report.encode("utf-8")
        assert "\x1b" not in report, f"an escape in {name}"
    assert not any(line.lstrip().startswith("::") for line in reports["text"].splitlines())


def same(one: Verdict, other: Verdict) -> None:
    """Two verdicts on the same bytes."""
    a, b = told(one), told(other)
    assert a == b, difference(a, b)
    assert [bool(log.problem) for log in one.logs] == [bool(log.problem) for log in other.logs]


def difference(a: list[Any], b: list[Any]) -> str:
    """What stands in one and not in the other."""
    return "\n".join(
        [f"- {one}" for one in a if a.count(one) > b.count(one)]
        + [f"+ {one}" for one in b if b.count(one) > a.count(one)]
    )


LOG: tuple[tuple[Invariant, int], ...] = (
    (in_time, 3),
    (whatever_the_pieces, 3),
    (whatever_the_process, 1),
    (whatever_the_packing, 1),
    (with_lines_added, 3),
    (with_another_log, 2),
    (in_an_envelope, 3),
    (of_two_ranks, 2),
    (in_every_report, 1),
)
"""What holds for a log, and how often it is tried beside the others."""
WRAPPED = tuple(one for one in LOG if one[0] not in (in_an_envelope, of_two_ranks))
"""The same for a log in envelopes: no tool wraps what it wrapped itself."""
