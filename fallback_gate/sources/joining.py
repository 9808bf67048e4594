r"""Room 1: lines that an envelope cut into pieces, put together.

- Kubernetes' runtime and Docker's json-file driver cut long lines every 16 KiB. All pieces but the last are
  marked (`P` in place of `F`; a `log` that does not end in `\n`), and pieces of stdout and stderr mix.
- GitLab's runner marks what goes on with the stream's last line by a `+`.

A whole line takes the place of its first piece, and a `FILLER` line stands for each other piece. What is
waiting for its end is bounded by `MOST_HELD`: beyond it, the pieces stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import NamedTuple

from fallback_gate.sources.envelope import FILLER, docker_record, unwrap
from fallback_gate.sources.reader import LONGEST

MOST_HELD = 4 << 20  # bytes
_LONG = 12 << 10  # bytes of a quoted line that would not fit in what patterns see of a line
_FAR = 1024  # bytes from the start of a line in which its envelopes stand
Step = Callable[[Iterable[bytes]], Iterator[bytes]]

_CRI = re.compile(rb"\d\d:\d\d:\d\d\S* (std(?:out|err)) ([PF])(?::\S+)? ")
_GITLAB = re.compile(rb"\d\d:\d\d:\d\d\S* (\d\d[OE])([ +])")
_JSON = re.compile(rb'\{"log": ?"')


def cutters(head: bytes) -> list[Step]:
    """The steps that put pieces together, in a text with these first bytes: the outermost envelope first."""
    found: list[tuple[int, Step]] = []
    for pattern, step in ((_CRI, _cri_joined), (_GITLAB, _gitlab_joined), (_JSON, _docker_joined)):
        if match := pattern.search(head):
            found.append((match.start() - head.rfind(b"\n", 0, match.start()), step))
    steps = [step for _, step in sorted(found, key=itemgetter(0))]
    if _docker_joined in steps[:-1]:
        steps.insert(steps.index(_docker_joined) + 1, unquoted)
    return steps


class _Piece(NamedTuple):
    """A piece of a line: whose it is, whether it goes on with that writer's last line, whether more follows
    (None: only the next piece tells), its text, and what opens a line that it is the first piece of."""

    key: tuple[str, ...]
    goes_on: bool
    more: bool | None
    text: bytes
    opening: bytes


@dataclass(slots=True)
class _Joiner:
    """Lines that wait for the rest of one of them, each as a list of its parts."""

    lines: list[list[bytes]] = field(default_factory=list)
    held: int = 0  # bytes in `lines`
    open: dict[tuple[str, ...], tuple[int, bytes | None]] = field(default_factory=dict)
    """Whose line may go on: which it is, and what to write in its place once it does."""

    def add(self, line: bytes, piece: _Piece | None) -> None:
        """Take a line, which is perhaps a piece of one."""
        if piece is None:
            self._append(line)
            return
        at, opening = self.open.get(piece.key, (-1, None))
        if at >= 0 and piece.goes_on:
            if opening is not None:
                self.lines[at][:] = [opening]
            self.lines[at].append(piece.text)
            self.held += len(piece.text)
            self._append(FILLER)
            opening = None
        else:
            at, opening = len(self.lines), piece.opening
            self._append(line if len(line) < _LONG else opening)
        if piece.more is False:
            self.open.pop(piece.key, None)
        else:
            self.open[piece.key] = at, opening

    def _append(self, line: bytes) -> None:
        self.lines.append([line])
        self.held += len(line)

    def ready(self, *, everything: bool = False) -> list[bytes]:
        """The lines before the first that may go on."""
        if everything or self.held > MOST_HELD:
            self.open.clear()
        upto = min((at for at, _ in self.open.values()), default=len(self.lines))
        out = [b"".join(parts) for parts in self.lines[:upto]]
        self.lines = self.lines[upto:]
        self.held -= sum(map(len, out))
        self.open = {key: (at - upto, opening) for key, (at, opening) in self.open.items()}
        return out


def _joined(
    blocks: Iterable[bytes], read: Callable[[bytes], _Piece | None], may_hold: Callable[[bytes], bool]
) -> Iterator[bytes]:
    """Pieces put together. A block that by a cheap look may hold none passes as it is."""
    joiner = _Joiner()
    end = b"\n"
    for block in blocks:
        endless = len(block) > LONGEST and not block.endswith(b"\n")
        if endless or (not joiner.lines and not may_hold(block)):
            yield from (line + b"\n" for line in joiner.ready(everything=True))
            yield block
            continue
        end = b"\n" if block.endswith(b"\n") else b""
        for line in block.removesuffix(b"\n").split(b"\n"):
            joiner.add(line, read(line))
        if lines := joiner.ready(everything=not end):
            yield b"\n".join(lines) + end
    if joiner.lines:
        yield b"\n".join(joiner.ready(everything=True)) + end


def _around(line: bytes, end: int, before: bytes = b"") -> tuple[str, ...] | None:
    """The writer that the first bytes of a line name; None where more than envelopes is in them.

    `before`: what stands behind these bytes, for envelopes that look ahead.
    """
    text, envelope = unwrap((line[:end] + before).decode("utf-8", "replace"))
    return envelope.stream if text == before.decode() else None


def _cri(line: bytes) -> _Piece | None:
    """A line of Kubernetes' runtime."""
    match = _CRI.search(line, 0, _FAR)
    writer = _around(line, match.end()) if match else None
    if not match or writer is None:
        return None
    line = line.removesuffix(b"\r")
    return _Piece((*writer, match[1].decode()), True, match[2] == b"P", line[match.end() :], line)


def _gitlab(line: bytes) -> _Piece | None:
    """A line of GitLab's runner."""
    match = _GITLAB.search(line, 0, _FAR)
    writer = _around(line, match.end()) if match else None
    if not match or writer is None:
        return None
    line = line.removesuffix(b"\r")
    return _Piece((*writer, match[1].decode()), match[2] == b"+", None, line[match.end() :], line)


def _docker(line: bytes) -> _Piece | None:
    """A line of Docker's json-file driver: put together, it is plain text."""
    at = line.find(b'{"log"', 0, _FAR)
    writer = _around(line, at, b'{"log"') if at >= 0 else None
    if writer is None:
        return None
    said = docker_record(line[at:])
    if said is None:
        return None
    text, stream = said
    part = text.removesuffix("\n").replace("\n", " ").encode("utf-8", "replace")
    return _Piece((*writer, str(stream)), True, not text.endswith("\n"), part, line[:at] + part)


def _may_hold_docker(block: bytes) -> bool:
    """Whether fewer strings end in a line feed than there are lines, or a line is long."""
    if block.count(b'\\n"') < block.count(b"\n") + (not block.endswith(b"\n")):
        return True
    at = 0
    while at + _LONG < len(block):
        feed = block.rfind(b"\n", at, at + _LONG)
        if feed < 0:
            return True
        at = feed + 1
    return False


def _cri_joined(blocks: Iterable[bytes]) -> Iterator[bytes]:
    return _joined(blocks, _cri, lambda block: b" stdout P" in block or b" stderr P" in block)


def _gitlab_joined(blocks: Iterable[bytes]) -> Iterator[bytes]:
    return _joined(blocks, _gitlab, bool)


def _docker_joined(blocks: Iterable[bytes]) -> Iterator[bytes]:
    return _joined(blocks, _docker, _may_hold_docker)


def unquoted(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Docker's lines as plain text: other envelopes stand in them."""
    for block in blocks:
        lines = ((line, _docker(line)) for line in block.split(b"\n"))
        yield b"\n".join(piece.opening if piece else line for line, piece in lines)
