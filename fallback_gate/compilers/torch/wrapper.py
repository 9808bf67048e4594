"""Room 3: whether the code that Inductor generated stands in a log, or in a trace, as it was written.

Its calls are told by their lines; where one is lost, or is not as it was, nobody knows what it called.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from fallback_gate.scan.record import Line, Record

_FUNCTION, _RETURNS = b"def call(", b"return ("
_OPENING, _END = b"Output code:", b"Output code written to"  # of a record of output_code
_CPP = (b"csrc/inductor/cpp_wrapper", b"csrc/inductor/aoti")  # of which nothing is proven
_LONGEST = 512 * 1024  # bytes before its function: the kernels
_HEAD = 4 * 1024  # of the function


def payload(record: Record, limit: int) -> Iterator[Line]:
    """The lines of a trace record's payload, without their tab."""
    tabbed = takewhile(lambda line: line.text.startswith("\t"), record.following(limit))
    return (Line(line.text[1:], line.at) for line in tabbed)


def is_printed(record: Record) -> bool:
    """Whether a record of output_code has its function up to what it returns, indented: where blanks were squeezed,
    its calls can't be told. Where another wrapper begins before this one ends, nobody looks."""
    find, begin, stop = record.view.buffer.find, record.end, min(record.view.end, record.end + _LONGEST)
    function, end = find(_FUNCTION, begin, stop), find(_END, begin, stop)
    if end >= 0 and find(_OPENING, begin, end) < 0 and not 0 <= function < find(_RETURNS, function, end):
        return any(find(include, begin, end) >= 0 for include in _CPP)
    return function < 0 or find(b"    ", function + len(_FUNCTION), min(stop, function + _HEAD)) >= 0


def is_written(record: Record) -> bool:
    """Whether the wrapper below a record of a trace is there up to what its function returns: something put before
    each line hides its calls, and so do blanks that were squeezed."""
    view, begins, around = record.view, record.end, record.envelope
    if around.stream:  # one that only its own line tells stands before the others, too
        return next(payload(record, 1), None) is not None and around.branch in (None, *view.branches)
    ends = view.buffer.find(b"\nV", begins, view.end)
    code = bytes(view.buffer[begins : ends if ends >= 0 else view.end].rstrip(b"\n"))
    function = code.find(_FUNCTION)
    if function < 0:
        return any(include in code for include in _CPP)
    if code.count(b"\n") > code.count(b"\n\t") or b"\n\t\t" in code or b"\n\t    " not in code[function:]:
        return False
    return code.rfind(_RETURNS) > function
