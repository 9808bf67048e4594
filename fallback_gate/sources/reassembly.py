r"""Room 1: what an envelope did to a line that can't be undone line by line, undone in the stream.

Colour codes within words hide an anchor from the scan, and so does a line that came in pieces (`joining`) or
that a console broke (`console`). Line feeds still count physical lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from fallback_gate.sources import json_lines
from fallback_gate.sources.joining import Step, cutters, unquoted
from fallback_gate.sources.reader import Reader, whole_lines

_CODE_WITHIN = re.compile(rb"[^\n](?:\x1b|\\u001[bB])\[[0-9;]*[mK][^\r\n]")
_CODE = re.compile(rb"\x1b\[[0-9;:?]*[mKGHJABFhlsu]")
_CODE_SPELLED = re.compile(rb"\\u001[bB]\[[0-9;:?]*[mKGHJABFhlsu]")


def steps(head: bytes, *, console: bool) -> list[Step]:
    """What must be undone in a text that starts with these bytes, in that order; nothing for most logs.

    `console`: the text was UTF-16, which PowerShell writes.
    """
    needed: list[Step] = []
    if json_lines.are_in(head, within=False):
        needed.append(json_lines.plain_lines)
        head = json_lines.plain(head)[0]
    if console or b"NativeCommandError" in head:
        from fallback_gate.sources.console import unbroken, width_of

        if width := width_of(head):
            needed.append(partial(unbroken, width=width))
    joined = cutters(head)
    if joined or needed or _CODE_WITHIN.search(head):
        needed.append(without_codes)  # where other steps are taken, it costs next to nothing
    if joined:
        needed += [*joined, without_codes]  # those that were cut
    if json_lines.are_in(b"".join(unquoted([head])), within=None):
        needed += [unquoted, json_lines.plain_lines, without_codes]
    return needed


def reassemble(reader: Reader, needed: Iterable[Step]) -> Iterator[bytes]:
    """The text, block by block, with the steps taken one after the other."""
    blocks: Iterator[bytes] = whole_lines(reader)
    for step in needed:
        blocks = step(blocks)
    return blocks


def without_codes(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Colours and cursor moves go, in Docker's spelling of the escape character too."""
    for block in blocks:
        if b"\x1b" in block:
            block = _CODE.sub(b"", block)
        if b"\\u001" in block:
            block = _CODE_SPELLED.sub(b"", block)
        yield block
