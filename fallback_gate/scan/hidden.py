r"""Room 2: messages that the scan can't see, since something stands within the words that it waits for.

    fall#033[01;31mback to eager     a colour code whose escape character another program spelled out
    fall[31mback[0m to eager         or dropped
    fall<b>back</b> to eager         the markup of a page
    *** to eager                     a secret that a CI system masked

What was there can be told in part: a text without such codes has more anchors, and a mask stands where the
rest of one would be. It costs nothing where none of `SIGNS` is in a text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from fallback_gate.patterns import GLOG

# What ends a colour, and how grep begins one; what CI systems write for a secret.
CODES = (b"[0m", b"[01;", b"[39m", b"[22m")
MASKS = (b"***", b"EDACTED", b"edacted", b"MASKED]", b"FILTERED]", b"xxxxx")
MARKUP = (b"</b>", b"</em>", b"</mark>", b"</span>", b"&#39;", b"&#x27;", b"&lt;", "\u2019".encode())
SIGNS = (*CODES, *MASKS, *MARKUP)
WHY = "colour codes, markup or masks stand within messages and may hide some: give the log as it was written"
FEWEST = 6  # letters of an anchor that must stand around a mask
_LEAST = 2  # letters that a mask stands for
_KEY = FEWEST // 2  # of those around it, so many stand on one side
_AROUND = 80  # bytes beside a mask that are looked at
_NEAR = 300  # and beside any sign

# How the escape character is written: in C, Python and JSON, by rsyslog, cat, less, browsers and viewers.
_SPELLED = (
    rb"\x1b|\\{1,2}(?:x1[bB]|u001[bB]|0?33|e)|#(?:033|x1[bB])|\^\[|<(?:0x1[bB]|ESC)>|ESC|&#(?:27|x1[bB]);|%1[bB]"
    rb"|\xe2\x90\x9b|\xef\xbf\xbd"
)
_AFTER = rb"\[\d{0,3}(?:;\d{1,3}){0,8}[mK]"
_CODES = (
    re.compile(rb"(?:%s)?%s" % (_SPELLED, _AFTER)),
    re.compile(rb"[?. ]" + _AFTER),  # or it was replaced
)
_COLOUR = re.compile(r"\[\d{1,2}(?:;\d{1,3}){0,8}m|</(?:b|em|mark|span)>")
_ESCAPED = {
    **dict.fromkeys((b"&#39;", b"&#x27;", b"&apos;", "\u2019".encode()), b"'"),
    **{b"&lt;": b"<", b"&gt;": b">", b"&quot;": b'"', b"&nbsp;": b" ", b"&amp;": b"&"},
}
_TAG = re.compile(rb"</?(?:b|em|mark|span)(?: [^<>\n]{0,200})?>")
_MASK = re.compile(
    rb"(?<!\*)\*{3,4}(?!\*)|[\[<(](?:REDACTED|redacted|MASKED|FILTERED)[^\]>)\s]{0,20}[\]>)]|REDACTED|(?<!x)x{5,12}(?!x)"
)
_GLOG = re.compile(GLOG.encode() + rb"\.\d")
_VALUE = re.compile(r"(?i)(?:[:=] ?|//|\b(?:basic|bearer|token) )[^\w\s]?\*{3,}")
_OPENS = rb"(?m)(?:^[ \t]*|\\n|\] )\*{3,} "
_BANNER = re.compile(_OPENS + rb"[^*\n]{1,200}\*{3,}(?:\\n|\s*$)")
_OPENED = re.compile(_OPENS)


class Excerpt(NamedTuple):
    """What stands around a sign, on its line, and whether that is one of glog's form: such a record has many,
    each with the whole prefix."""

    text: bytes
    is_glog: bool


def hides(
    excerpts: Sequence[Excerpt], anchors: Sequence[str], anchors_in: Callable[[bytes], Counter[int]]
) -> bool:
    """Whether an anchor may stand beside a sign and not be seen, or a line of a record is not as written.

    `anchors_in` counts them by place, and phrases behind them.
    """
    text = b"\n".join(excerpt.text for excerpt in excerpts)
    seen = anchors_in(text)
    for bare in without_codes(text):
        if min(anchors_in(bare) - seen, default=len(anchors)) < len(anchors):
            return True
    if any(behind_masks(text, tuple(anchors))):
        return True
    records = (one.text.decode("utf-8", "replace") for one in excerpts if one.is_glog)
    return any(map(is_spoilt, records))  # of a record's many lines, few have an anchor


def excerpts(places: Iterable[int], text: bytearray, start: int, stop: int) -> Iterator[Excerpt]:
    """What stands around these places, in order, in a part of a text."""
    known = start
    for place in places:
        if known <= place < stop:
            first, last = max(start, place - _NEAR), min(stop, place + _NEAR)
            begins, ends = text.rfind(b"\n", first, place) + 1 or first, text.find(b"\n", place, last)
            line = text.rfind(b"\n", start, place) + 1 or start
            is_glog = _GLOG.search(text, line, min(line + _NEAR, place)) is not None
            yield Excerpt(bytes(text[begins : ends if ends >= 0 else last]), is_glog)
            known = min(place + _NEAR // 2, ends) if ends >= 0 else place + _NEAR // 2


def without_codes(data: bytes) -> Iterator[bytes]:
    """What the text may be without colour codes, however their escape character is written, and markup."""
    for codes in _CODES if any(code in data for code in CODES) else ():
        bare = codes.sub(b"", data)
        if len(bare) < len(data):
            yield bare
    if any(sign in data for sign in MARKUP):
        data = _TAG.sub(b"", data)
        for written, meant in _ESCAPED.items():
            data = data.replace(written, meant)
        yield data


def is_spoilt(text: str) -> bool:
    """Whether a line with a sign is not as it was written; a setting's masked value is as good."""
    return _COLOUR.search(text) is not None or has_mask(_VALUE.sub("", text))


def has_mask(text: str) -> bool:
    """Whether something in a line was masked; asterisks around a line or a sentence are none."""
    return _MASK.search(_OPENED.sub(b"", _BANNER.sub(b"", text.encode()))) is not None


def behind_masks(data: bytes, literals: tuple[str, ...]) -> Iterator[bytes]:
    """The literals of which a mask may stand for the middle, the start or the end."""
    begins, ends = _by_ends(literals)
    data, seen = _BANNER.sub(b"", data), set()
    for mask in _MASK.finditer(data):
        before = data[max(data.rfind(b"\n", 0, mask.start()) + 1, mask.start() - _AROUND) : mask.start()]
        behind = data[mask.end() : mask.end() + _AROUND].partition(b"\n")[0]
        if (before, behind) not in seen:
            seen.add((before, behind))
            yield from _around(before, behind, begins, ends)


def _around(
    before: bytes,
    behind: bytes,
    begins: Mapping[bytes, Iterable[bytes]],
    ends: Mapping[bytes, Iterable[bytes]],
) -> Iterator[bytes]:
    """The literals that begin at the end of the text before a mask, or end at the start of what is behind."""
    for at in range(len(before) - _KEY + 1):
        for literal in begins.get(before[at : at + _KEY], ()):
            left = len(before) - at
            if literal.startswith(before[at:]) and _fits(literal, left, _common_end(literal[left:], behind)):
                yield literal
    for at in range(_KEY, len(behind) + 1):
        for literal in ends.get(behind[at - _KEY : at], ()):
            if literal.endswith(behind[:at]) and _fits(literal, _common_start(literal[:-at], before), at):
                yield literal


def _fits(literal: bytes, left: int, right: int) -> bool:
    return FEWEST <= left + right <= len(literal) - _LEAST


def _common_end(literal: bytes, behind: bytes) -> int:
    """How many letters of a literal's end the text behind a mask starts with."""
    return next((n for n in range(len(literal), 0, -1) if behind.startswith(literal[-n:])), 0)


def _common_start(literal: bytes, before: bytes) -> int:
    """How many letters of a literal's start the text before a mask ends with."""
    return next((n for n in range(len(literal), 0, -1) if before.endswith(literal[:n])), 0)


@lru_cache(maxsize=1)
def _by_ends(literals: tuple[str, ...]) -> tuple[dict[bytes, list[bytes]], dict[bytes, list[bytes]]]:
    """The literals by their first and by their last letters."""
    begins: dict[bytes, list[bytes]] = {}
    ends: dict[bytes, list[bytes]] = {}
    for literal in map(str.encode, literals):
        if b"***" in literal:
            continue  # as written
        begins.setdefault(literal[:_KEY], []).append(literal)
        ends.setdefault(literal[-_KEY:], []).append(literal)
    return begins, ends
