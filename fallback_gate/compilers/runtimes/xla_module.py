r"""Room 3: a printed HLO module, of which the instructions name places in the user's code by number.

    FileLocations
    5 {file_name_id=2 function_name_id=5 line=9 end_line=9 column=15 end_column=109}
    ...
    %pure_callback.1 = ... custom-call(%x.1), ..., metadata={... stack_frame_id=5}

The tables stand at the head of the module, which may be far above: they are kept as they are, and read when
the first instruction asks. Seen since JAX 0.8; before, an instruction names file and
line itself. `parent_frame_id` counts from 1 for "no parent", so that it is one more than the frame's number;
should a release print 0 there, the number is the frame's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from re import Match

from fallback_gate.model import Location
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record
from fallback_gate.scan.view import ALLOWANCE_BYTES, Exhausted
from fallback_gate.scan.window import BEHIND
from fallback_gate.sources.envelope import unwrap

HEAD = r"^(?:(?:HloModule |module @)(?P<module>[\w.<>-]{1,200})|(?P<table>FileNames|StackFrames)\s{0,9}$)"
DEEPEST = 100  # frames of one stack
_NAMES = 256 * 1024  # bytes of the names of files and functions
_GAP = 4 * 1024  # bytes without a row, behind which a table has ended
_ROW = Pattern(
    r'(?P<id>\d{1,9}) (?:"(?P<name>(?:[^"\\]|\\.){0,1000})"'
    r"|\{file_name_id=(?P<file>\d{1,9}) function_name_id=(?P<function>\d{1,9}) line=(?P<line>\d{1,9})\b"
    r"|\{file_location_id=(?P<location>\d{1,9})(?: parent_frame_id=(?P<parent>\d{1,9}))?\b)"
)


class _Tables:
    """What the rows say, by their numbers."""

    def __init__(self, lines: Iterator[str]) -> None:
        files: dict[str, str] = {}
        functions: dict[str, str] = {}
        names = files
        self.locations: dict[str, Location] = {}
        self.frames: dict[int, tuple[str, int]] = {}  # its location, its parent
        self.root: int | None = None  # what a frame without a parent says
        for line in lines:
            row = _ROW.match(line)
            if row is None:
                if self.frames:
                    return
                names = functions if line.startswith("FunctionNames") else names
            elif row["name"] is not None:
                names[row["id"]] = re.sub(r"\\(.)", r"\1", row["name"])
            elif row["file"] is not None:
                place = Location(files.get(row["file"]), int(row["line"]), functions.get(row["function"]))
                self.locations.setdefault(row["id"], place)
            else:
                parent = int(row["parent"] or 0)
                self.root = parent if self.root is None else self.root
                self.frames[int(row["id"])] = row["location"], parent


@dataclass(slots=True)
class Module:
    """One module: its name, and the bytes of the log that hold its tables."""

    name: str = ""
    tables: bytes = b""
    _read: _Tables | None = None

    def frames(self, number: int, record: Record) -> tuple[Location, ...]:
        """The stack that an instruction names, innermost first; empty where the tables do not tell it."""
        if self._read is None:
            self._read = _Tables(lines_of(self.tables, record))
        read, found = self._read, list[Location]()
        while number in read.frames and len(found) < DEEPEST:
            location, parent = read.frames[number]
            if location not in read.locations:
                break
            found.append(read.locations[location])
            if read.root not in (0, 1) or parent == read.root:
                break
            number = parent - read.root
        return tuple(found)


def keep(record: Record, match: Match[str]) -> None:
    """Keep what a line of a module's head opens, for the instructions below. Raises `Exhausted`."""
    kept, writer = record.view.kept, record.envelope.stream
    if match["module"]:
        kept.put("xla module", writer, Module(match["module"]))
        return
    module = kept.get("xla module", writer)
    if isinstance(module, Module):
        rows, first = (
            (b"file_name_id=", _NAMES) if match["table"] == "FileNames" else (b"file_location_id=", _GAP)
        )
        kept.put("xla module", writer, Module(module.name, module.tables + _table(record, rows, first)))


def module_of(record: Record) -> Module:
    """The module that an instruction stands in. Raises `Exhausted` where a part of a log does not show it."""
    module = record.view.kept.get("xla module", record.envelope.stream)
    if module is None and record.view.late:
        raise Exhausted("what stands before this part of it decides")
    return module if isinstance(module, Module) else Module()


def _table(record: Record, rows: bytes, first: int) -> bytes:
    """The lines below up to the last that holds a row, the first of them within so many bytes."""
    buffer, at, stop = record.view.buffer, record.end, min(record.view.end, record.start + BEHIND)
    end, reach = at, min(stop, at + first)
    while (row := buffer.find(rows, end, reach)) >= 0:
        end = row + len(rows)
        reach = min(stop, end + _GAP)
    record.view.spend((reach - at) // ALLOWANCE_BYTES)
    end = buffer.find(b"\n", end, stop) if end > at else at
    return bytes(buffer[at : stop if end < 0 else end]) + b"\n"


def lines_of(block: bytes, record: Record) -> Iterator[str]:
    """The lines that the record's writer wrote."""
    mine, branches = record.envelope, record.view.branches
    branches = (mine.branch, *branches) if mine.branch else branches
    for line in block.decode("utf-8", "replace").split("\n"):
        text, envelope = unwrap(line, branches)
        if envelope.stream == mine.stream:
            yield text
