"""Room 5: globs that look like regular expressions, and the globs that are meant.

A glob that is written as a regular expression is valid and matches next to nothing: `.*attn.*` asks for two
dots. What it means as a glob is worked out for messages alone; no entry is ever read that way.
"""

from __future__ import annotations

import re

KEYS = ("op", "function", "file")
MOST = 20  # globs that one expression may be spelled out to

# `.*` inside a name is a glob too (`aten.*`), and so is a backslash in a path (`model\decoder.py`).
_SURE = re.compile(r"^[.][*+]|^\^|\$$|[.][+]|\]\+|\(\?:|[^\s|]\|[^\s|]")
_ESCAPED = {"file": re.compile(r"\\[wdsWDS][*+]|\\[.]\w+\$?$")}
_ESCAPED_NAME = re.compile(r"\\[wdsbWDSB.]")
_ANY = re.compile(r"(?:\\[wdsWDS]|[.]|\[[^\]]+\])[*+]\??|\\[wdsWDS]")
_GROUP = re.compile(r"\((?:\?:)?([^()]*\|[^()]*)\)")


def looks_regular(key: str, glob: str) -> bool:
    """Whether the glob of a key is almost certainly a regular expression."""
    if key not in KEYS:
        return False
    return bool(_SURE.search(glob) or _ESCAPED.get(key, _ESCAPED_NAME).search(glob))


def meant(glob: str) -> tuple[str, ...]:
    """The globs that match what this text finds as a regular expression; none where that can't be told."""
    found = [glob]
    while (at := next((i for i, text in enumerate(found) if _GROUP.search(text)), None)) is not None:
        group = _GROUP.search(found[at])
        assert group is not None
        before, after = found[at][: group.start()], found[at][group.end() :]
        found[at : at + 1] = [f"{before}{one}{after}" for one in group[1].split("|")]
        if len(found) > MOST:
            return ()
    each = [_one(one) for text in found for one in text.split("|")]
    return tuple(dict.fromkeys(each)) if all(each) and len(each) <= MOST else ()


def _one(text: str) -> str:
    starts, ends = text.startswith("^"), text.endswith("$")
    text = _ANY.sub("*", text.removeprefix("^").removesuffix("$"))
    text = re.sub(r"\\[bBAZ]", "", text)
    text = re.sub(r"\\(\W)", r"\1", text)
    if starts != ends:
        text = f"{text}*" if starts else f"*{text}"
    return re.sub(r"\*+", "*", text)
