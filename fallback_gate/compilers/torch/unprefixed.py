"""Room 3: PyTorch's records where TORCH_LOGS_FORMAT is empty: no prefix, no process id, nothing but the message.

A message that somebody quotes looks the same on its first line. What tells it is the line below, as PyTorch writes it:
the reason of a graph break, the function that hit a limit, the error that a frame was given up for, the number of a
graph above its code.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from re import Match

from fallback_gate.compilers.torch.log import RAISED, LogRecord, until_next
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

BREAK = Pattern(r"Graph Break Reason: \S")
LIMIT = Pattern(r"\s+function: '.{1,300}' \(.{1,500}:\d{1,9}\)\s*$")
FRAME = Pattern(r'  File "[^"]{1,500}", line \d{1,9}')
CODE = Pattern(r"# AOT ID: \['\d")
GIVEN_UP = Pattern(r"due to:\s*$")
_CODE_ENDS = 'if __name__ == "__main__":'
_NEXT = ("Graph break in user code at ", "Graph break (user stack suppressed ")


def unprefixed(
    record: Record, match: Match[str], below: Pattern, artifact: str | None = None
) -> LogRecord | None:
    """The record whose message the match opens at the start of a line, if the line below goes on as PyTorch's does."""
    if match.start():
        return None
    second = next(record.following(1), None)
    if second is None or not below.match(second.text):
        return None
    return LogRecord("", record.text, "W", None, "", artifact)


def rest_of_old_break(record: Record, limit: int) -> Iterator[str]:
    """The further lines of a graph break up to 2.7: the user's frames, then a traceback to the error that it ends in."""
    for line in record.following(limit):
        inside = line.text.startswith(("  ", "Traceback (most recent call last)"))
        if inside or RAISED.match(line.text):
            yield line.text
        if not inside:
            return


def of_old_break(record: Record) -> bool:
    """Whether an error ends such a traceback: the program went on."""
    for line in record.preceding(200):
        if not line.text.startswith(("  ", "Traceback (most recent call last)")):
            return line.text.startswith("Graph break: ") and line.text.rstrip().endswith("from user code at:")
    return False


def rest_of_break(record: Record, limit: int) -> Iterator[Line]:
    """The further lines of a graph break: up to the next one, or to what follows the user's frames."""
    framed = False
    for line in record.following(limit):
        said = line.text
        if said.startswith(_NEXT) or (framed and said.strip() and not said.startswith(" ")):
            return
        framed |= said.startswith("User code traceback:")
        yield line


def rest_of_code(record: Record, limit: int) -> Iterator[Line]:
    """The further lines of a generated wrapper: up to what runs it as a script."""
    return takewhile(lambda line: not line.text.startswith(_CODE_ENDS), until_next(record, limit))
