r"""Room 3: code of the user that MindSpore's graph mode hands to the Python interpreter, in a graph's midst, or refuses.

    [ERROR] PIPELINE(11,7f00,python):... CheckInterpretNodeLineInfos] Found unsupported syntax in graph mode, those codes would be fallen back to Python interpreter:
     After Optimizer Phase (total: 1)
    # No. 1:
    Script: __call_func_str__(__input_0__,)

    In file /app/net.py:14, 12~22
            w = np.sort(z)
                ^~~~~~~~~~

What the list names after parsing alone was folded into a constant: the interpreter ran once, while it compiled. The
script is MindSpore's own wrapping; the code that is underlined is the user's.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match
from typing import NamedTuple

from fallback_gate.compilers.ascend.names import named, process_id
from fallback_gate.compilers.rule import Marker, Rule, Sighting
from fallback_gate.model import Kind, Location, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "mindspore"
MOST_LINES = 2000
_ITEM = Pattern(r"^\s*# ?(?:No\. )?\d{1,6}:")
PLACE = Pattern(r"\bIn file (?P<file>[^()\n]{1,400}?)(?:\((?P<line>\d{1,9})\)|:(?P<row>\d{1,9})\b)")
_CALL = Pattern(r"(?P<call>[A-Za-z_][\w.]{0,200})\(")
_NAMED = Pattern(r"^(?!(?:None|True|False)\b)(?P<call>[A-Za-z_][\w.]{0,200})")
_CARETS = Pattern(r"^ *(?P<under>\^~*)\s*$")
RECORD = Pattern(r"^\[(?:ERROR|WARNING|INFO|DEBUG|CRITICAL)\] \w{1,32}\(\d")
_RULER = Pattern(r"^\s*-{3,}\s*$|^ ?After \w+ Phase")
_OPTIMIZED = Pattern(r"^ ?After Optimizer Phase \(total: (?P<left>\d{1,9})\)")


class _Item(NamedTuple):
    """One piece of code: where it stands, what the user wrote there, what is called, and MindSpore's own script."""

    at: int
    text: str
    place: Location | None
    code: str | None
    call: str | None


def called(code: str | None, under: str | None) -> str | None:
    """What the code calls: where a part of it is underlined, that, unless it is a constant."""
    if under and (found := _NAMED.match(under)):
        return found["call"]
    return found["call"] if code and (found := _CALL.search(code)) else None


def location(place: Match[str]) -> Location:
    """The place that `PLACE` found."""
    return Location(place["file"], int(place["line"] or place["row"]))


def files(place: Location | None) -> tuple[str, ...]:
    """The file of a place, where it tells one."""
    return (place.file,) if place and place.file else ()


def _item(lines: list[tuple[str, int]]) -> _Item:
    place = next((found for text, _ in lines if (found := PLACE.search(text))), None)
    code = under = script = None
    for text, _ in lines:
        if text.startswith("Script: "):
            script = text.removeprefix("Script: ").strip()
        elif carets := _CARETS.match(text):
            under = code and code[slice(*carets.span("under"))]
        elif code is None and text.strip() and not (PLACE.search(text) or _ITEM.match(text)):
            code = text.rstrip()
    where = location(place) if place else None
    call = called(code, under)
    return _Item(lines[0][1], lines[0][0], where, code.strip() if code else script, call)


def _listed(record: Record) -> tuple[list[_Item], bool]:
    """The pieces of code that stay with the interpreter, and whether none is left after optimizing."""
    items: list[list[tuple[str, int]]] = []
    left, blank = None, 0
    for line in record.following(MOST_LINES):
        if RECORD.match(line.text):
            break
        if found := _OPTIMIZED.match(line.text):
            items, left = [], int(found["left"])
        elif _ITEM.match(line.text):
            items.append([])
        elif not items and not line.text.strip() and left is None:
            blank += 1
            if blank > 1:  # what PowerShell puts behind the first line of stderr ends with one
                break
        elif items and (_RULER.match(line.text) or len(items[-1]) > 20):
            continue
        if items:
            items[-1].append((line.text, line.at))
    return [_item(lines) for lines in items], left == 0


def interpreted(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One report for each piece of code; where none is listed in a known form, one that names nothing.

    A script without a place fetches a name for a call that is listed with its own.
    """
    report = named(rule, record, match)
    listed, folded = _listed(record)
    placed = [item for item in listed if item.place]
    known = placed or [item for item in listed if item.code]
    for item in known:
        yield report._replace(
            op=item.call or "*",
            names=(item.call,) if item.call else (),
            scope=Scope.SITE if item.call or item.place else Scope.UNKNOWN,
            reason=item.code or report.reason,
            location=item.place,
            files=files(item.place),
            position=record.position_at(item.at),
            text=item.text,
        )
    if not known and not folded:
        yield report


INTERPRETED = Rule(
    id="mindspore/interpreted-code",
    compiler=NAME,
    anchor=("back to Python interpreter:",),
    pattern=r"(?<!\bMakeInterpretNode\] )(?P<reason>Found unsupported syntax in [Gg]raph mode, those codes would be (?:fallen|fell) back to Python interpreter):",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.UNKNOWN,
    meaning="The graph compiler does not know this code: the Python interpreter runs it, with a stop of the graph.",
    help="Rewrite the code with mindspore.ops, or move it out of construct and of functions under jit.",
    seen_in="2.10 (run) INFO, or ERROR with MS_DEV_FALLBACK_DUMP_NODE=1; 1.5 to 1.9 WARNING (source; 1.5 ERROR)",
    matches=(
        "Found unsupported syntax in Graph mode, those codes would be fallen back to Python interpreter:",
        "[WARNING] PIPELINE(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/pipeline/jit/pipeline.cc:123] CheckInterpretNodeLineInfos] Found unsupported syntax in Graph mode, those codes would be fallen back to Python interpreter:\n\t#1: In file /app/net.py(31)\n        a = np.array([1, 2, 3])",
        "[ERROR] PIPELINE(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/frontend/jit/ps/pipeline.cc:329] CheckInterpretNodeLineInfos] Found unsupported syntax in graph mode, those codes would be fallen back to Python interpreter:\n----------------------------------------\n After Parser Phase (total: 1)\n----------------------------------------\n# No. 1:\nIn file /app/net.py:31, 12~23\n        a = x.asnumpy()\n            ^~~~~~~~~~~",
    ),
    ignores=(
        'expected_msg = "Found unsupported syntax in graph mode, those codes would be fallen back to Python interpreter"',
        "[INFO] PARSER(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/frontend/jit/ps/parse/parse.cc:4372] MakeInterpretNode] Found unsupported syntax in graph mode, those codes would be fallen back to Python interpreter:",
    ),
    shared_anchor=True,
    read=interpreted,
)


_SYNTAX = Pattern(r"^(?:# \d{1,3} )?\s*In file |^# In file ")


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The construct, and the innermost place that the lines below show."""
    place = None
    for line in record.following(60):
        if RECORD.match(line.text):
            break
        if _SYNTAX.match(line.text) and (found := PLACE.search(line.text)):
            place = location(found)
    construct = match["op"] or match["attribute"]
    report = named(rule, record, match, construct)
    yield report._replace(reason=match["reason"] or match["strict"], location=place, files=files(place))


REFUSED = Rule(
    id="mindspore/unsupported-syntax",
    compiler=NAME,
    anchor=("Error: Unsupported expression ", "Error: Unsupported statement ", "Error: In JIT strict mode, "),
    pattern=r"^(?:RuntimeError|TypeError|SyntaxError|NotImplementedError): (?P<reason>Unsupported (?:expression|statement) '(?P<op>\w{1,60})')\."
    r"|^(?:Attribute|Runtime|Type)Error: (?P<strict>In JIT strict mode, cannot get attributes (?P<attribute>\w{1,120})\b)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.SITE,
    meaning="The graph compiler does not take this syntax, and may not leave it to the interpreter: the graph is not compiled.",
    help="Rewrite it with what graph mode knows, or allow the interpreter (jit_syntax_level LAX).",
    seen_in="2.10 (run), an exception",
    matches=(
        "RuntimeError: Unsupported expression 'Set'.",
        "AttributeError: In JIT strict mode, cannot get attributes asnumpy or the Tensor[Float32] object has no attribute: 'asnumpy'. You can use os.environ['MS_DEV_JIT_SYNTAX_LEVEL'] = '2' to enable the JIT lax mode to support the current syntax.",
    ),
    shared_anchor=True,
    ignores=(
        "ValueError: Unsupported expression 'Set'.",
        "RuntimeError: Unsupported expression in the query",
    ),
    read=refused,
)

RULES = (INTERPRETED, REFUSED)


def counted(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """A sighting of the process that the line names; how often it came is what counts."""
    yield Sighting(marker.id, record.position, (), process_id(record))


PARSED = Marker(
    id="mindspore/handed-over",
    compiler=NAME,
    anchor=("MakeInterpretNode] Found unsupported syntax in graph mode",),
    pattern=r"\] MakeInterpretNode\] Found unsupported syntax in graph mode",
    shows="The parser handed code to the interpreter; the list that follows the compile tells whether it stayed there.",
    seen_in="2.10 (run), INFO",
    matches=(
        "[INFO] PARSER(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/frontend/jit/ps/parse/parse.cc:4372] MakeInterpretNode] Found unsupported syntax in graph mode, those codes would be fallen back to Python interpreter:",
    ),
    read=counted,
)
LISTED = Marker(
    id="mindspore/listed",
    compiler=NAME,
    anchor=("CheckInterpretNodeLineInfos] Found unsupported syntax in ",),
    pattern=r"\] CheckInterpretNodeLineInfos\] Found unsupported syntax in ",
    shows="What the compile of a graph left to the interpreter is listed.",
    seen_in="2.10 (run)",
    matches=(INTERPRETED.matches[1].partition("\n")[0],),
    read=counted,
)
MARKERS = (PARSED, LISTED)
