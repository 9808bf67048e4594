"""Room 6: the lines of a log around each one that proves something, for the reports that show them.

Each log is read once more, up to the last line that is wanted; one that can be read only once has none.
Bounded: the first `MOST` lines of a log that prove something, `AROUND` lines on each side, `LONGEST`
bytes of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fallback_gate.errors import Unreadable
from fallback_gate.model import Decision, Finding, ProcessVerdict
from fallback_gate.model.inputs import Excerpt
from fallback_gate.sources import Source
from fallback_gate.sources.envelope import GOES_ON, feeds

AROUND = 3
MOST = 300
LONGEST = 400
_READ = 1 << 20


def excerpts(
    findings: Iterable[Finding], processes: Iterable[ProcessVerdict], sources: Mapping[str, Source]
) -> dict[tuple[str, int], Excerpt]:
    """The excerpts by log and line: blocked events first, then the other events, then the proofs."""
    wanted: dict[str, dict[int, None]] = {}
    for finding in sorted(findings, key=lambda finding: finding.decision is not Decision.BLOCKED):
        if finding.event.line is not None:
            wanted.setdefault(finding.event.log, {})[finding.event.line] = None
    for process in processes:
        for compiler in process.compilers:
            for proof in compiler.proof.values():
                if proof.line is not None:
                    wanted.setdefault(process.log, {})[proof.line] = None
    found = {}
    for log, numbers in wanted.items():
        source = sources.get(log)
        if source is None or source.once:
            continue
        proving = sorted(list(numbers)[:MOST])
        text = _lines(source, {n for line in proving for n in range(line - AROUND, line + AROUND + 1)})
        for line in proving:
            around = ((n, text[n]) for n in range(line - AROUND, line + AROUND + 1) if n in text)
            found[log, line] = tuple(around)
    return found


def _lines(source: Source, wanted: set[int]) -> dict[int, str]:
    """The text of these lines, cut, by their numbers; what comes after a log became unreadable is missing."""
    last = max(wanted)
    found: dict[int, str] = {}
    try:
        for number, line in _numbered(source, wanted):
            if number in wanted:
                found.setdefault(number, line.rstrip(b"\r\x1f").decode("utf-8", "surrogateescape"))
            if number >= last:
                break
    except Unreadable:
        pass
    return found


def _numbered(source: Source, wanted: set[int]) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers; those of a read in which none is wanted are counted, not cut."""
    buffer = bytearray(_READ)
    line, head = 1, b""  # the line that goes on into the next read, and its first bytes
    last = b""  # byte of the read before
    with source.open() as stream, memoryview(buffer) as view:
        while count := stream.readinto(view):
            ended = feeds(buffer, 0, count) - (last == GOES_ON and buffer.startswith(b"\n"))
            last, before = bytes(view[count - 1 : count]), last
            if wanted.isdisjoint(range(line, line + ended + 1)):
                line += ended
                head = b""
                continue
            *whole, rest = bytes(view[:count]).split(b"\n")
            for text in whole:
                yield line, (head + text[:LONGEST])[:LONGEST]
                line += (text or before)[-1:] != GOES_ON
                head = before = b""
            head = (head + rest[:LONGEST])[:LONGEST]
    if head:
        yield line, head
