"""What the tests of this room share: reading a stream to its end, from a file or from memory."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from io import BytesIO

import pytest

from fallback_gate.errors import Unreadable
from fallback_gate.sources.reader import FileReader
from fallback_gate.sources.stream import Stream

Read = Callable[..., tuple[bytes, str]]


def _drain(stream: Stream, size: int = 1 << 16) -> tuple[bytes, str]:
    """All text of a stream in reads of `size` bytes, and why it ended early ('' if it did not)."""
    text, buffer = bytearray(), bytearray(size)
    with stream:
        try:
            while count := stream.readinto(buffer):
                text += buffer[:count]
        except Unreadable as failure:
            return bytes(text), str(failure)
    return bytes(text), ""


@pytest.fixture(scope="session")
def drain() -> Read:
    return _drain


@pytest.fixture(scope="session")
def decode() -> Read:
    """The text that these stored bytes mean, and why it ended early."""

    def decode(stored: bytes, size: int = 1 << 16, limit: int = 1 << 40) -> tuple[bytes, str]:
        return _drain(Stream(lambda: nullcontext(FileReader(BytesIO(stored))), limit), size)

    return decode
