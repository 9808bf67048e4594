"""The same facts from both: what tlparse took out of a folder of traces holds what our report says of it."""

from __future__ import annotations

import re
from pathlib import Path

from fallback_gate import check
from fallback_gate.model import Kind

_PLACE = re.compile(r"Graph break .*?in user code at (\S+?):(\d+)\s")
_CALL = re.compile(r"^\s*[\w, ]+ = torch\.ops\.(\w+)\.(\w+)\.\w+\(", re.MULTILINE)


def breaks_of_tlparse(out: Path) -> set[tuple[str, int]]:
    """Where graphs broke: the first line of each text that tlparse took out of a trace."""
    texts = (path.read_text(encoding="utf-8") for path in out.rglob("dynamo_graph_break_reason*"))
    places = (_PLACE.match(text) for text in texts)
    return {(place[1], int(place[2])) for place in places if place}


def operators_of_tlparse(out: Path) -> set[str]:
    """Operators without a kernel: calls of them in the generated code that tlparse took out of a trace."""
    texts = (path.read_text(encoding="utf-8") for path in out.rglob("inductor_output_code*"))
    return {f"{call[1]}::{call[2]}" for text in texts for call in _CALL.finditer(text)}


def same(folder: Path, out: Path) -> str:
    """A sentence that says that both found the same. Raises `SystemExit` where they did not."""
    events = [finding.event for finding in check([folder], "builtin:strict", environ={}).findings]
    places = [event.location for event in events if event.kind is Kind.GRAPH_BREAK]
    ours = {(place.file, place.line) for place in places if place}
    operators = {event.op for event in events if event.kind is Kind.OP_FALLBACK}
    for what, mine, theirs in (
        ("graph breaks", ours, breaks_of_tlparse(out)),
        ("operators", operators, operators_of_tlparse(out)),
    ):
        if mine != theirs:
            raise SystemExit(f"{what} differ from tlparse's: {sorted(map(str, mine ^ theirs))[:10]}")
    return f"Both find the same {len(ours)} places where graphs break and {len(operators)} operators."


def written(out: Path) -> int:
    """The bytes of all files in a folder."""
    return sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
