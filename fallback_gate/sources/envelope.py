r"""Room 1: what CI, containers and launchers put around a line, taken off and kept for what it tells.

The forms stand in `envelope_forms`. They are taken off one after the other, in whatever order they were put
on, so a torchrun rank inside a Kubernetes line inside a GitHub Actions log is no special case. ANSI colours
go first. Docker's `json-file` driver is the one envelope that encloses the line (`{"log": "...\n", ...}`),
and Ray's count of dropped repetitions (` [repeated 3x across cluster]`) the one that ends it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from itertools import islice
from typing import NamedTuple

from fallback_gate.patterns import Pattern
from fallback_gate.sources.envelope_forms import STAMPED_NAME, Form
from fallback_gate.sources.envelope_names import FORMS

__all__ = [
    "BARE",
    "FILLER",
    "FORMS",
    "GOES_ON",
    "RESETS",
    "Envelope",
    "Form",
    "all_feeds",
    "feeds",
    "is_glog",
    "unwrap",
]


class Envelope(NamedTuple):
    """What was around a line: the rank, the stream (all facts together) that tells writers apart, the host
    (machine, pod or container) and the branch of a parallel build."""

    rank: int | None = None
    stream: tuple[str, ...] = ()
    host: str | None = None
    branch: str | None = None


BARE = Envelope()
FILLER = b"\x1c"  # a line that stands for a piece of one, where that was made whole
GOES_ON = b"\x1f"  # ends a line that is not the last of those on one physical line
RESETS = (b"[0m", b"[0;0m")  # how a colour ends
_GOES_ON = GOES_ON.decode()
_RESETS = tuple(code.decode() for code in RESETS)

_DEEPEST = 8  # envelopes around one line
_MOST_BRANCHES = 256
_BRANCH = re.compile(rb"\[Pipeline\] \{ \(Branch: ([^)\r\n]{1,80})\)")
_FACT = re.compile(r"\(\?P<(\w+)>")

# A code that another writer's text cut short loses only itself: `\x1b[3` before `W1130 ...` or `[rank0]:`.
_ANSI = Pattern(
    r"\x1b(?:"
    r"\[[0-?]*(?:(?=\[|[VDIWEC]\d{4} )|[ !]?[@-~]|(?=[^@-~ !])|$)"  # colours and cursor moves
    r"|[]_P^X][^\x07\x1b]*(?:\x07|\x1b\\)"  # strings: titles, links, Buildkite's time stamps
    r"|[ -/]*[0-~])"
)
_STAMPED_NAME = Pattern(STAMPED_NAME)
_RESET = Pattern(
    r"(?:#033|\^\[)?\[0(?:;0)?m$"
)  # the end of a colour whose escape character was lost or spelled out
_REPEATED = Pattern(r"(?:\[\d{1,2}m)? \[repeated \d+x across cluster\](?:\[0m)?[^\[\]]*$")


class _Taken(NamedTuple):
    """An envelope that was found: where it ends, and the facts that it tells, by name."""

    end: int
    facts: list[tuple[str, str]]


class _Forms:
    """Some forms as one pattern; `needs` is the text without which none of them can match."""

    def __init__(self, forms: Iterable[Form], needs: str = "") -> None:
        self.needs = needs
        self._facts: dict[int, list[tuple[str, int]]] = {}
        parts, group = [], 0
        for form in forms:
            group += 1
            names = _FACT.findall(form.pattern)
            self._facts[group] = [(name, group + at) for at, name in enumerate(names, 1)]
            parts.append(f"({_FACT.sub('(', form.pattern)})")
            group += len(names)
        self._pattern = Pattern("|".join(parts))

    def match(self, line: str) -> _Taken | None:
        """The envelope at the start of the line."""
        match = self._pattern.match(line)
        if match is None:
            return None
        told = self._facts[match.lastindex or 0]
        return _Taken(match.end(), [(name, match[at]) for name, at in told if match[at] is not None])


_QUICK = _Forms(form for form in FORMS if not form.needs)
_SLOW = tuple(_Forms((form,), form.needs) for form in FORMS if form.needs)


def is_glog(line: str) -> bool:
    """Whether the line opens as glog's records do, and PyTorch's: the level's letter, month and day."""
    return line[1:5].isdigit() and line[0] in "VDIWEC"


def _take(line: str, branches: tuple[str, ...]) -> _Taken | None:
    """The envelope at the start of a line that is no record of glog's form, if there is one."""
    for branch in branches if line[:1] == "[" else ():
        if line.startswith(f"[{branch}] "):
            return _Taken(len(branch) + 3, [("branch", branch)])
    taken = _QUICK.match(line)
    if taken is None:
        for form in _SLOW:
            if form.needs in line and (taken := form.match(line)):
                break
    return taken


def plain(line: str) -> str:
    """The line without ANSI codes."""
    return _ANSI.sub("", line) if "\x1b" in line else line


def branches(head: bytes) -> tuple[str, ...]:
    """The parallel branches that a Jenkins log which starts with these bytes announces."""
    found = (name.decode("utf-8", "replace") for name in _BRANCH.findall(head))
    return tuple(islice(dict.fromkeys(found), _MOST_BRANCHES))


def unwrap(line: str, branches: tuple[str, ...] = ()) -> tuple[str, Envelope]:
    """Take all envelopes off a line (given without its line feed).

    `branches`: names in brackets that are known to be envelopes, which the line alone would not tell.
    """
    line = line.removesuffix(_GOES_ON).removesuffix("\r").removeprefix("\ufeff")
    if "\x1b" in line:
        line = _ANSI.sub("", line)
    if line.endswith(_RESETS):
        line = _RESET.sub("", line)
    if is_glog(line):
        return line, BARE  # most lines of most logs
    taken = _take(line, branches)
    if taken is None and not line.startswith('{"'):
        return line, BARE
    rank: int | None = None
    local: int | None = None
    host: str | None = None
    branch: str | None = None
    stream: tuple[str, ...] = ()
    stamped = False
    for _ in range(_DEEPEST):
        if taken:
            stamped = line[0] == "[" and line[1:5].isdigit()
            line = line[taken.end :]
            for name, value in taken.facts:
                stream += (value,)
                if name == "rank":
                    rank = int(value)
                elif name == "local":
                    local = int(value)
                elif name == "host":
                    host = value
                elif name == "branch":
                    branch = value
        elif stamped and (unknown := _STAMPED_NAME.match(line)):
            line, stamped = line[unknown.end() :], False  # it may be the program's own: not another writer
        else:
            inner = _json_line(line) if line.startswith('{"') else None
            if inner is None:
                break
            line = inner
        taken = None if is_glog(line) else _take(line, branches)
    if " across cluster]" in line and stream:
        line = _REPEATED.sub("", line)
    if not stream:
        return line, BARE
    return line, Envelope(rank if rank is not None else local, stream, host, branch)


def all_feeds(data: bytes | bytearray, start: int, end: int) -> int:
    """The line feeds between two places. `count` looks at each byte, `replace` leaps from feed to feed."""
    part = data if end - start == len(data) else data[start:end]
    return len(part) - len(part.replace(b"\n", b""))


def feeds(data: bytes | bytearray, start: int, end: int) -> int:
    """The line feeds between two places that end a physical line."""
    before = max(0, start - 1)
    inner = data.count(GOES_ON + b"\n", before, end) if data.find(GOES_ON, before, end) >= 0 else 0
    return all_feeds(data, start, end) - inner


def _json_line(line: str) -> str | None:
    """The text inside a line of Docker's json-file driver, or None for another line."""
    if '"log"' not in line[:4096]:
        return None
    said = docker_record(line)
    return None if said is None else plain(said[0].removesuffix("\n").removesuffix("\r"))


def docker_record(line: str | bytes) -> tuple[str, object] | None:
    """Text and stream of a line of Docker's json-file driver; None for another line."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    text = record.get("log") if isinstance(record, dict) else None
    return (text, record.get("stream")) if isinstance(text, str) else None
