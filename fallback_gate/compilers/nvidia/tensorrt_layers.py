r"""Room 3: TensorRT's list of layers: what was built for the DLA, and what for the GPU.

    [I] [TRT] ---------- Layers Running on DLA ----------
    [I] [TRT] [DlaLayer] {ForeignNode[/stem/Conv.../neck/Relu]}
    [I] [TRT] ---------- Layers Running on GPU ----------
    [I] [TRT] [GpuLayer] SOFTMAX: /head/Softmax

Up to TensorRT 7 a section is one line with all names, separated by commas. Before a text stands the logger:
`[W] [TRT]` in trtexec, `[TRT] [W]` in Python, `WARNING: [TRT]:` in DeepStream, `[TensorRT] WARNING:` in Python
up to TensorRT 7; the time stamp may stand there more than once. A layer's name holds blanks, brackets and
dots; a fused layer joins names (`a + PWN(b, c)`). Copies that TensorRT puts between the engines are no layers
of the model.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

MOST_LAYERS = 20_000
_MOST_PARTS = 64

_NAMED = r"[A-Z]{4,8}:[\w.-]{1,80}:"  # as `logging` writes what a program's own ILogger hands on
HEAD = rf"(?:^(?:{_NAMED})?|\]:? |[A-Z]: )"  # a message opens its line, or follows the logger
LOGGER = Pattern(
    r"^(?:\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\] ){0,4}"
    rf"(?:\[[VIWEF]\] \[TRT\]|\[TRT\] \[[VIWEF]\]|[A-Z]{{4,8}}: \[TRT\]:|\[TensorRT\] [A-Z]{{4,8}}:|{_NAMED}) ?"
)
_SECTION = Pattern(r"^-{5,20} Layers [Rr]unning on (?P<engine>DLA|GPU)\b")
_LAYER = Pattern(r"^\[(?P<engine>Dla|Gpu)Layer\] (?:(?P<type>[A-Z][A-Z_0-9]{1,40}): )?(?P<name>.*\S)")
_COPY = Pattern(
    r"^(?:Reformatting CopyNode|reshape_(?:before|after)_)|(?: copy| (?:to|from) nvm)(?: finish)?$"
)


@dataclass(slots=True)
class Layers:
    """What the list says: the layers for the GPU with their types and lines, whether any is for the DLA."""

    dla: bool = False
    gpu: list[tuple[str, str, Line]] = field(default_factory=list)
    whole: bool = (
        False  # both sections are there, that of the GPU says who is in it, and something follows them
    )


def parts(name: str) -> tuple[str, ...]:
    """The layers of the model that a fused layer joins: `a + PWN(b, c)` is a, b and c."""
    found: dict[str, None] = {}
    for part in name[:4000].replace("PWN(", "").replace(" + ", ", ").split(", "):
        while part.endswith(")") and part.count(")") > part.count("("):
            part = part[:-1]
        if part and len(found) < _MOST_PARTS:
            found[part] = None
    return tuple(found)


def is_copy(name: str, kind: str = "") -> bool:
    """Whether a layer only moves or reshapes data at the border of two engines."""
    return kind == "COPY" or bool(_COPY.search(name))


def layers(record: Record) -> Layers:
    """Read the list whose first line is the record."""
    found, engine, none = Layers(), "DLA", False
    for line in record.following(MOST_LAYERS):
        text = LOGGER.sub("", line.text).strip()
        section = _SECTION.match(text)
        layer = _LAYER.match(text)
        if section:
            engine = section["engine"]
        elif layer and layer["engine"] == "Dla":
            found.dla = True
        elif text.startswith("No layer is running on "):
            none = engine == "GPU"
        elif layer:
            found.gpu.append((layer["name"], layer["type"] or "", line))
        elif text and text.endswith(",") and LOGGER.match(line.text):
            found.dla = found.dla or engine == "DLA"
            if engine == "GPU":
                found.gpu += [(name, "", line) for name in _listed(text)]
        elif text or (engine == "GPU" and (none or found.gpu)):
            found.whole = engine == "GPU" and bool(none or found.gpu) and not _goes_on(record, line)
            break
    return found


def _goes_on(record: Record, end: Line) -> bool:
    """Whether a layer stands on the line below the list's end, with which it changed places."""
    below = False
    for line in record.following(MOST_LAYERS):
        if below:
            return _LAYER.match(LOGGER.sub("", line.text).strip()) is not None
        below = line.at == end.at
    return False


def _listed(text: str) -> list[str]:
    """The names of a section that is one line: split at the commas outside of brackets."""
    names, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in "({[":
            depth += 1
        elif letter in ")}]":
            depth = max(0, depth - 1)
        elif letter == "," and not depth:
            names.append(text[start:at].strip())
            start = at + 1
    return [name for name in names if name]


def named(report: Report, name: str, *others: str) -> Report:
    """The report, for a layer of this name."""
    names = tuple(dict.fromkeys(said for said in (name, *others) if said))
    return report._replace(op=name, names=names, layer=name, scope=Scope.OPERATOR)


def left_to_gpu(rule: Rule, record: Record, match: Match[str]) -> Iterator[Report]:
    """The layers for the GPU in a list that has layers for the DLA, so that the DLA was asked for."""
    listed = layers(record)
    if not listed.dla:
        return
    report = by_groups(rule, record, match)
    for name, kind, line in listed.gpu:
        if is_copy(name, kind):
            continue
        for part in parts(name):
            yield named(report, part, name, kind)._replace(
                position=record.position_at(line.at), text=line.text, hint=True, reason="listed for the GPU"
            )
