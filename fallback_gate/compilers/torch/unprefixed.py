"""Room 3: PyTorch's records where TORCH_LOGS_FORMAT is empty: no prefix, no process id, nothing but the message; or
where a format of the program's own names neither PyTorch's logger nor its file (`[12:00:01: DEBUG/MainProcess] ...`).

A message that somebody quotes looks the same on its first line. What tells it is the line below, as PyTorch writes it:
the reason of a graph break, the function that hit a limit, the error that a frame was given up for, the number of a
graph above its code.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from re import Match

from fallback_gate.compilers.torch.log import RAISED, LogRecord, parse, until_next
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

BREAK = Pattern(r"Graph Break Reason: \S")
LIMIT = Pattern(r"\s+function: '.{1,300}' \(.{1,500}:\d{1,9}\)\s*$")
FRAME = Pattern(r'  File "[^"]{1,500}", line \d{1,9}')
CODE = Pattern(r"# AOT ID: \['\d")
GIVEN_UP = Pattern(r"due to:\s*$")
_LONGEST_LEAD = 200
_LEAD = Pattern(r"(?=.*(?:\d\d:\d\d|\b(?i:debug|info|warn(?:ing)?|error)\b|Thread))[^\"'`#]+$")
_CODE_ENDS = 'if __name__ == "__main__":'
_NEXT = ("Graph break in user code at ", "Graph break (user stack suppressed ")


def unprefixed(
    record: Record, match: Match[str], below: Pattern, artifact: str | None = None
) -> LogRecord | None:
    """The record whose message the match opens at the start of a line, or behind a time, a level or a thread, if the
    line below goes on as PyTorch's does."""
    if not leads(record.text, match.start()):
        return None
    second = next(record.following(1), None)
    if second is None or not below.match(second.text):
        return None
    return LogRecord("", record.text[match.start() :], "W", None, "", artifact)


def leads(text: str, end: int) -> bool:
    """Whether nothing, or what a format of the program's own writes, stands before a message."""
    return not end or (end <= _LONGEST_LEAD and bool(_LEAD.match(text[:end])) and not parse(text))


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
    for line in until_next(record, limit):
        said = line.text
        if any(words in said for words in _NEXT) or (framed and said.strip() and not said.startswith(" ")):
            return
        framed |= said.startswith("User code traceback:")
        yield line


def rest_of_code(record: Record, limit: int) -> Iterator[Line]:
    """The further lines of a generated wrapper: up to what runs it as a script."""
    return takewhile(lambda line: not line.text.startswith(_CODE_ENDS), until_next(record, limit))


def flush_left(lines: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Lines without the blanks that all of them begin with: rich prints a message in a column."""
    margin = min((len(said) - len(said.lstrip(" ")) for said, _ in lines if said.strip()), default=0)
    return [Line(said[margin:], at) for said, at in lines] if margin else lines
