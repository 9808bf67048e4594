"""Room 3: what stands below a record of PyTorch's structured trace: lines that start with a tab."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from fallback_gate.scan.record import Line, Record


def payload(record: Record, limit: int) -> Iterator[Line]:
    """The lines of the record's payload, without their tab."""
    tabbed = takewhile(lambda line: line.text.startswith("\t"), record.following(limit))
    return (Line(line.text[1:], line.at) for line in tabbed)


def is_whole(record: Record) -> bool:
    """Whether the wrapper below a record stands as it was written, up to what its function returns: something
    put before each line hides its calls, and so do blanks that were squeezed."""
    view, begins, around = record.view, record.end, record.envelope
    if around.stream:  # one that only its own line tells stands before the others, too
        return next(payload(record, 1), None) is not None and around.branch in (None, *view.branches)
    ends = view.buffer.find(b"\nV", begins, view.end)
    code = bytes(view.buffer[begins : ends if ends >= 0 else view.end].rstrip(b"\n"))
    function = code.find(b"def call(")
    if function < 0:
        return b"csrc/inductor/" in code  # C++, of which nothing is proven
    if code.count(b"\n") > code.count(b"\n\t") or b"\n\t\t" in code or b"\n\t    " not in code[function:]:
        return False
    return code.rfind(b"return (") > function
