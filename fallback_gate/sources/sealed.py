"""Room 1: readers that check a seal while its log streams through them; nothing is read twice.

A log whose first line is a header is hashed on its way; header and trailer go on as blanks, so that no
stage behind takes a word in them for the compiler's, and every line keeps its number. A log that only
looks as if it had been sealed (a trailer without its header, a header inside the envelope of a CI system)
is passed on as it is and ends in `Unreadable`: its seal can't be verified, and it must not count as a log
that never had one.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterator

from fallback_gate.errors import Unreadable
from fallback_gate.sources import seal
from fallback_gate.sources.reader import Buffer, Chunks, Reader, chunks
from fallback_gate.sources.seal import Seal, Trace

TAIL = 1024  # bytes at the end in which a trailer's hash is looked for
_ENDED = re.compile(rb"fallback_gate_(?:hmac_)?sha256\W{1,12}[0-9a-f]{64}\W{1,8}[^\n]{0,400}\n?\Z")
_WRAPPED = (
    "a sealed log that something wrote anew (a CI system's time stamps, an editor, another tool): its seal "
    "can't be verified; give the file that `record` wrote"
)


def ended(tail: bytes) -> bool:
    """Whether a text that ends like this has the end of a seal, if without its header."""
    return bool(_ENDED.search(tail))


class Unsealed:
    """The reader of a log whose first line is no header."""

    seal: Seal | None = None

    def __init__(self, text: Reader, head: bytes) -> None:
        self._text = text
        self._wrapped = seal.HEADER.encode() in head.partition(b"\n")[0]
        self._tail = b""

    def readinto(self, buffer: Buffer, /) -> int:
        """As the text's; raises `Unreadable` at the end where a part of a seal is there."""
        count = self._text.readinto(buffer)
        if count:
            self._tail = (self._tail + bytes(memoryview(buffer)[max(0, count - TAIL) : count]))[-TAIL:]
        elif self._wrapped or ended(self._tail):
            why = _WRAPPED if self._wrapped else f"its first line is gone, or it is {_WRAPPED}"
            raise Unreadable(f"the seal is broken: {why}")
        return count


class Sealed:
    """The reader of a log whose first line is a header; `seal` is there at the end, if it is whole."""

    def __init__(self, text: Reader, key: bytes | None) -> None:
        self.seal: Seal | None = None
        self._text = text
        self._key = key
        self._plain = hashlib.sha256()
        self._keyed = seal.hasher(key) if key else None
        self._bytes = self._lines = 0
        self._chunks = Chunks(self._blocks())

    def readinto(self, buffer: Buffer, /) -> int:
        """As the text's; raises `Unreadable` at the end where the seal is broken or the run failed."""
        return self._chunks.readinto(buffer)

    def _blocks(self) -> Iterator[bytes]:
        first, held, torn = b"", b"", False
        for chunk in chunks(self._text):
            data = held + chunk
            cut = data.rfind(b"\n", 0, len(data) - 1) + 1
            if not cut and len(data) > seal.LONGEST:
                cut, torn = len(data), True  # no trailer is that long
            block, held = data[:cut], data[cut:]
            if not block:
                continue
            self._take(block)
            if not first:
                first, _, block = block.partition(b"\n")
                yield b" " * len(first) + b"\n"
            yield block
        whole = held.endswith(seal.END)
        yield b" " * (len(held) - 1) + b"\n" if whole else held
        self.seal = self._verified(first, b"" if torn else held)
        if self.seal.problem:
            raise Unreadable(self.seal.problem)

    def _take(self, block: bytes) -> None:
        self._plain.update(block)
        if self._keyed:
            self._keyed.update(block)
        self._bytes += len(block)
        self._lines += block.count(b"\n")

    def _verified(self, first: bytes, last: bytes) -> Seal:
        """The seal; raises `Unreadable` where it is broken."""
        header = seal.read(first, seal.HEADER)
        trailer = seal.read(last, seal.TRAILER) if last.endswith(seal.END) else None
        if trailer is None:
            raise Unreadable(
                "the seal is broken: the log has no trailer, so it was cut, or `record` was killed"
            )
        if header is None or header.get(seal.HEADER) != seal.FORM or trailer.get(seal.TRAILER) != seal.FORM:
            raise Unreadable("the seal is broken: its header can't be read, or is of another version")
        told = last[-len(seal.END) - seal.HEX : -len(seal.END)].decode("ascii", "replace")
        opened = last[: -len(seal.END) - seal.HEX]
        keyed = opened.endswith(f'"{seal.HMAC}": "'.encode())
        if not keyed and not opened.endswith(f'"{seal.SHA256}": "'.encode()):
            raise Unreadable("the seal is broken: its trailer does not end in a hash")
        if keyed and self._keyed is None:
            raise Unreadable(
                f"its seal is an HMAC, which needs the key: set {seal.KEY} as when it was recorded"
            )
        if self._keyed is not None and not keyed:
            raise Unreadable(
                f"its seal was made without a key, and {seal.KEY} is set: anyone could have made it"
            )
        running = self._keyed or self._plain
        running.update(opened)
        if not hmac.compare_digest(running.hexdigest().encode(), told.encode("utf-8", "replace")):
            raise Unreadable(f"the seal is broken: {self._difference(trailer, len(first) + 1)}")
        if seal.commitment(str(trailer.get("secret"))) != header.get("commitment"):
            raise Unreadable("the seal is broken: its trailer was not written by the recorder")
        found = seal.joined(header, trailer)
        if found is None:
            raise Unreadable("the seal is broken: its header or trailer does not say what it must")
        self._plain.update(last if keyed else last[len(opened) :])
        return found._replace(lines=self._lines + 1, sha256=self._plain.hexdigest())

    def _difference(self, trailer: dict[str, object], header: int) -> str:
        """What is other than the trailer says, in a sentence."""
        found = {"lines": self._lines - 1, "bytes": self._bytes - header}
        for unit, count in found.items():
            told = trailer.get(unit)
            if isinstance(told, int) and told != count:
                return f"{count} {unit} stand between header and trailer, and {told} were recorded"
        hint = f", or {seal.KEY} is another key" if self._keyed else ""
        return f"a byte of the log is not what was recorded{hint}"


class Expected:
    """The reader of a trace that a seal covers."""

    seal: Seal | None = None

    def __init__(self, text: Reader, trace: Trace) -> None:
        self._text, self._trace = text, trace
        self._hash, self._bytes = hashlib.sha256(), 0

    def readinto(self, buffer: Buffer, /) -> int:
        """As the text's; raises `Unreadable` at the end where it is not what was sealed."""
        count = self._text.readinto(buffer)
        if count:
            self._hash.update(memoryview(buffer)[:count])
            self._bytes += count
        elif (self._bytes, self._hash.hexdigest()) != (self._trace.bytes, self._trace.sha256):
            raise Unreadable(
                f"the seal is broken: this trace is not the one that was sealed ({self._bytes:,} bytes, and "
                f"{self._trace.bytes:,} were recorded)"
            )
        return count


def watched(
    text: Reader, head: bytes, key: bytes | None, trace: Trace | None
) -> Sealed | Unsealed | Expected:
    """The reader that checks a text which starts with these bytes."""
    if trace is not None:
        return Expected(text, trace)
    if head.startswith(seal.OPENING.encode()):
        return Sealed(text, key)
    return Unsealed(text, head)
