r"""Room 1: the seal of a recorded log: its first line, its last line, and the hash that ties them together.

    {"fallback_gate_header": 1, "tool": "0.1.0", "settings": {...}, "commitment": "<sha256>", ...}
    ... what the command printed, byte for byte, then one closing record for each process ...
    {"fallback_gate_trailer": 1, "exit_status": 0, "lines": 93, ..., "fallback_gate_sha256": "<sha256>"}

The hash covers every byte of the file before it, the trailer's own included, so that by hand
`head -c -67 compile.log | sha256sum` gives it (64 digits, a quote, a brace and a line feed are left out;
for an HMAC use a tool that takes a key). Only the first and the last line of a file count: text in between
that looks like one is what the command printed. It can't add a trailer of its own to a log whose recorder
died either: the header holds the SHA-256 of a number that the recorder shows in its trailer only.

With a key the hash is an HMAC-SHA256. Without one, whoever can write the file can seal it anew: a seal shows
damage, and tampering by those who do not have the key.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from fallback_gate.model import environment
from fallback_gate.model.environment import Environment

HEADER = "fallback_gate_header"
TRAILER = "fallback_gate_trailer"
SHA256 = "fallback_gate_sha256"
HMAC = "fallback_gate_hmac_sha256"
OPENING = f'{{"{HEADER}": '  # what a header starts with
FORM = 1
KEY = "FALLBACK_GATE_SEAL_KEY"
HEX = 64
END = b'"}\n'
LONGEST = 8 << 20  # bytes of a header or trailer


class Hash(Protocol):
    """What `hashlib` and `hmac` share."""

    def update(self, data: bytes | bytearray | memoryview, /) -> None:
        """Take in bytes."""

    def hexdigest(self) -> str:
        """The hash so far."""


class Trace(NamedTuple):
    """A structured trace that the log's seal covers: its name from the log's folder, and what is in it."""

    name: str
    bytes: int
    sha256: str


class Seal(NamedTuple):
    """What a whole seal says. `exit_status`: of the command, 128+n for signal n. `settings`: variables in
    force. `left_open`: a process outlived the command and may have printed more. `closings`: lines before
    the trailer that are closing records; `unread`: files that should have been such. `weaker`: what the
    user's own settings and the end of the run take from the proof, a sentence each; `off` are those of them
    by which a compiler was switched off. `lines` and `sha256` are those of the whole log. `environment`:
    the machine and the packages as the recorder found them."""

    exit_status: int
    settings: Mapping[str, str]
    traces: tuple[Trace, ...] = ()
    rank: int | None = None
    expect_ranks: int | None = None
    closings: int = 0
    unread: int = 0
    left_open: bool = False
    keyed: bool = False
    weaker: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    lines: int = 0
    sha256: str = ""
    environment: Environment = Environment()

    @property
    def problem(self) -> str | None:
        """Why the log, though whole, is not that of a whole run; None where it is."""
        if self.exit_status:
            return (
                f"the recorded command failed with exit status {self.exit_status}: what it would have "
                "compiled after that is not in the log"
            )
        if self.left_open:
            return (
                "a process that the recorded command left behind still held its output: what it printed "
                "later is not in the log"
            )
        if self.unread:
            return (
                f"{self.unread} closing record{'s' * (self.unread > 1)} could not be read: what became of a "
                "process is not in the log"
            )
        return None


def hasher(key: bytes | None) -> Hash:
    """The hash of a new seal."""
    return hmac.new(key, digestmod=hashlib.sha256) if key else hashlib.sha256()


def key_of(environ: Mapping[str, str]) -> bytes | None:
    """The key that the environment holds, if it does."""
    return environ.get(KEY, "").encode("utf-8", "surrogateescape") or None


def commitment(secret: str) -> str:
    """What the header holds of the number that only the trailer shows."""
    return hashlib.sha256(secret.encode()).hexdigest()


def header(facts: Mapping[str, Any]) -> bytes:
    """The first line of a sealed log."""
    return line({HEADER: FORM, **facts}).encode() + b"\n"


def trailer(facts: Mapping[str, Any], running: Hash, keyed: bool) -> bytes:
    """The last line; `running` has taken in all bytes before it."""
    opened = f'{line({TRAILER: FORM, **facts})[:-1]}, "{HMAC if keyed else SHA256}": "'.encode()
    running.update(opened)
    return opened + running.hexdigest().encode() + END


def line(facts: Mapping[str, Any]) -> str:
    """JSON on one line in ASCII, in which no CI runner that shows it finds a command."""
    return json.dumps(facts, ensure_ascii=True).replace("##", "#\\u0023")


def read(line: bytes, mark: str) -> dict[str, Any] | None:
    """The facts of a header or trailer; None for a line that is none."""
    if not line.startswith(b'{"' + mark.encode() + b'": '):
        return None
    try:
        facts = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return facts if isinstance(facts, dict) else None


def joined(first: Mapping[str, Any], last: Mapping[str, Any]) -> Seal | None:
    """What a header and a trailer say together; None where one does not say what it must."""
    try:
        return Seal(
            exit_status=int(last["exit_status"]),
            settings={str(name): str(value) for name, value in first["settings"].items()},
            traces=tuple(
                Trace(str(one["name"]), int(one["bytes"]), str(one["sha256"])) for one in last["traces"]
            ),
            rank=_number(first.get("rank")),
            expect_ranks=_number(first.get("expect_ranks")),
            closings=int(last["closings"]),
            unread=int(last["closings_unread"]),
            left_open=bool(last["left_open"]),
            keyed=HMAC in last,
            off=tuple(str(one) for one in first["off"]),
            weaker=tuple(str(one) for one in (*first["weaker"], *last["notes"])),
            environment=environment.read(first.get("environment"), ""),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 1 << 20 else None
