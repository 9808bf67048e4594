"""The picture of the rooms: from the layers that `pyproject.toml` states and the imports in the code."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import grimp
from importlinter.api import read_configuration
from jinja2 import Environment

ROOT = Path(__file__).parent.parent
PACKAGE = "fallback_gate"
GROUND = ("errors", "patterns", "model")  # which all rooms know: arrows to them would say nothing
ROW, TALL, WIDE, GAP = 62, 42, 296, 70  # pixels: a row, a box, and what is between two columns
_ENVIRONMENT = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
SVG = _ENVIRONMENT.from_string("""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{ width }} {{ height }}" role="img" \
font-family="sans-serif">
<title>The rooms of the package: each knows only rooms below it</title>
<style>
.box { fill: #fff; stroke: #57606a; } .room { fill: #ddf4ff; stroke: #0969da; }
.name { font-size: 14px; font-weight: bold; fill: #1f2328; } .story { font-size: 10.5px; fill: #57606a; }
.line { fill: none; stroke: #8c959f; marker-end: url(#tip); }
</style>
<defs><marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto">
<path d="M0 0 6 3 0 6z" fill="#8c959f"/></marker></defs>
<rect width="{{ width }}" height="{{ height }}" fill="#f6f8fa"/>
{% for line in lines %}
<path class="line" d="{{ line }}"/>
{% endfor %}
{% for box in boxes %}
<rect class="{{ box.look }}" x="{{ box.x }}" y="{{ box.y }}" width="{{ wide }}" height="{{ tall }}" rx="6"/>
<text class="name" x="{{ box.x + 10 }}" y="{{ box.y + 17 }}">{{ box.name }}</text>
<text class="story" x="{{ box.x + 10 }}" y="{{ box.y + 32 }}">{{ box.story }}</text>
{% endfor %}
</svg>
""")


class Box(NamedTuple):
    """One room in the picture."""

    name: str
    story: str
    x: int
    y: int

    @property
    def look(self) -> str:
        """Its class of style: the seven rooms of the one-way flow stand out."""
        return "room" if self.story.startswith("Room ") else "box"


def layers() -> list[list[str]]:
    """The rooms, from the door down, as the first contract of import-linter has them."""
    stated = read_configuration(str(ROOT / "pyproject.toml"))["contracts_options"][0]
    return [row.split(" : ") for row in stated["layers"]]


def imports(rooms: Sequence[str]) -> Mapping[tuple[str, str], int]:
    """How many imports lead from one room into another."""
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    found: dict[tuple[str, str], int] = {}
    for room in rooms:
        for module in {f"{PACKAGE}.{room}", *graph.find_descendants(f"{PACKAGE}.{room}")}:
            for other in graph.find_modules_directly_imported_by(module):
                name = other.split(".")[1] if "." in other else room
                if name != room:
                    found[room, name] = found.get((room, name), 0) + 1
    return found


def needed(edges: Mapping[tuple[str, str], int], order: Sequence[str]) -> list[tuple[str, str]]:
    """The edges that no other way round makes plain: the transitive reduction."""
    reach: dict[str, set[str]] = {}
    kept = []
    for room in reversed(order):  # from the ground up: what is below is known
        reach[room] = set()
        for other in order[order.index(room) + 1 :]:  # the nearest first
            if (room, other) in edges and other not in reach[room]:
                kept.append((room, other))
                reach[room] |= {other} | reach[other]
    return kept


def picture() -> str:
    """The rooms as SVG: the walks on the left, the seven rooms in the middle, annex and side door right."""
    rows = [[room for room in row if room != "__main__"] for row in layers()]
    order = [room for row in rows for room in row]
    boxes = {box.name: box for box in _boxes([row for row in rows if row])}
    edges = [edge for edge in needed(imports(order), order) if edge[1] not in GROUND]
    return SVG.render(
        width=3 * WIDE + 4 * GAP,
        height=max(box.y for box in boxes.values()) + TALL + 18,
        wide=WIDE,
        tall=TALL,
        boxes=[
            box._replace(story=textwrap.shorten(box.story, 56, placeholder=" …")) for box in boxes.values()
        ],
        lines=[_line(boxes[a], boxes[b]) for a, b in edges],
    )


def _boxes(rows: Sequence[Sequence[str]]) -> Iterator[Box]:
    y, below = 14, [room for row in rows for room in row if room in GROUND]
    for row in rows:
        told = [(room, _story(room)) for room in row if room not in GROUND]
        columns = [
            1 if story.startswith("Room ") else 2 if story.startswith("THE ") else 0 for _, story in told
        ]
        for at, ((room, story), column) in enumerate(zip(told, columns, strict=True)):
            yield Box(room, story, GAP + column * (WIDE + GAP), y + ROW * columns[:at].count(column))
        y += ROW * max((columns.count(column) for column in columns), default=0)
    for at, room in enumerate(below):
        yield Box(room, _story(room), GAP + at * (WIDE + GAP), y + 10)


def _story(room: str) -> str:
    """The first sentence of a room's own docstring."""
    folder = ROOT / PACKAGE / room
    file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
    told = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return re.split(r"(?<=\w)\.\s", told.splitlines()[0])[0].rstrip(".")


def _line(a: Box, b: Box) -> str:
    """From a room to one that it knows: around the boxes of the same column, straight into another."""
    ay, by = a.y + TALL // 2, b.y + TALL // 2
    if a.x == b.x:
        if b.y - a.y <= ROW:
            return f"M{a.x + WIDE // 2} {a.y + TALL}V{b.y}"
        side = a.x + WIDE
        return f"M{side} {ay}C{side + GAP * 0.7:.0f} {ay} {side + GAP * 0.7:.0f} {by} {side} {by}"
    start, end = (a.x + WIDE, b.x) if a.x < b.x else (a.x, b.x + WIDE)
    middle = (start + end) // 2
    return f"M{start} {ay}C{middle} {ay} {middle} {by} {end} {by}"


def table() -> str:
    """Which room knows which, and by how many imports, as Markdown."""
    order = [room for row in layers() for room in row if room != "__main__"]
    edges = imports(order)
    head = ["", *order[1:]]
    rows = [[f"**{a}**", *(str(edges.get((a, b), "")) for b in order[1:])] for a in order if a not in GROUND]
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "".join("| " + " | ".join(line) + " |\n" for line in lines)
