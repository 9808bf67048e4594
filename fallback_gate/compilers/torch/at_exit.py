"""Room 3: what stands before PyTorch's records at exit: whether an exception ended the program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from re import Match

from fallback_gate.compilers import ending
from fallback_gate.compilers.rule import Marker, Sighting
from fallback_gate.compilers.torch.log import opened, parse
from fallback_gate.scan.record import Record

MOST_BETWEEN = 16  # records of PyTorch's between the program's last line and its list at exit


def raised(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """That an exception ended the program: its traceback is the last that was written before PyTorch's records
    at exit. torch.distributed puts the rank in front of it, and nothing in front of those.
    """
    log = opened(record.text, match, None)
    if log and log.prefix and stands_behind_an_exception(record):
        yield Sighting(marker.id, record.position, (), log.pid, None, log.when)


def stands_behind_an_exception(record: Record) -> bool:
    """Whether a traceback is the last that was written before a record at exit."""
    return record.is_near(b"Traceback (most", behind=False) and ending.raised(_not_pytorchs(record))


def _not_pytorchs(record: Record) -> Iterator[str]:
    """The lines before a record at exit that are none of PyTorch's, nearest first; a few of its own may stand between."""
    between = 0
    for text, _ in record.preceding(ending.NEAR + ending.FAR, ranks=True):
        if parse(text):
            between += 1
            if between > MOST_BETWEEN:
                return
        else:
            yield text
