"""Room 1: reports of our own, which are no logs though they quote them.

A report that is written to a file ends with a mark: one line with the SHA-256 of all bytes before it. A file
that a folder or a pattern holds is left out by that mark alone: text that stands in a log can't know the hash
of all that is printed around it, and whoever can write the whole file could as well have taken it away. One
byte more, less or other, and the file is read like any log.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import BinaryIO, Final

_FORMS: Final = {"html": "<!-- {} -->", "junit": "<!-- {} -->", "markdown": "<!-- {} -->", "text": "{}"}
"""The formats whose reports quote log lines as they are, and how each says what it does not show."""
_MARK: Final = re.compile(rb"\n(?:<!-- )?fallback-gate report sha256:([0-9a-f]{64})(?: -->)?\n\Z")
_LONGEST: Final = 128  # bytes of a mark


def marked(name: str, report: bytes) -> bytes:
    """A report of the format `name`, with its mark where it needs one; `report` ends with a line feed."""
    if name not in _FORMS:
        return report
    mark = f"fallback-gate report sha256:{hashlib.sha256(report).hexdigest()}"
    return report + _FORMS[name].format(mark).encode() + b"\n"


def is_report(file: BinaryIO) -> bool:
    """Whether an open file on disk is such a report, whole and untouched. Raises `OSError`."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _LONGEST))
    tail = file.read(_LONGEST)
    found = _MARK.search(tail)
    if found is None:
        return False
    left = size - (len(tail) - found.start() - 1)
    digest = hashlib.sha256()
    file.seek(0)
    while left and (block := file.read(min(left, 1 << 20))):
        digest.update(block)
        left -= len(block)
    return not left and digest.hexdigest().encode() == found[1]
