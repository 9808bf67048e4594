r"""Room 3: executed graphs and tables of OpenVINO that a program prints whole, in a form of its own.

    | x        | Input    | unknown_f32       |
    | MatMul_4 | MatMul   | brgemm_avx512_f32 |
    | Result_9 | Output   | unknown_f32       |

OpenVINO gives the nodes in the order of their data, its parameters first, so a whole graph begins with an input and
ends in an output, as a table of `get_profiling_info()` begins with a Parameter and ends in a Result. Between them
each line has one node and its kernel: a list that is filtered, sorted by time or cut lacks one of the ends or has
other lines inside, and proves nothing; neither does one whose nodes do not tell their `execOrder`, or with gaps in
it: it may be the first part of more. The JSON of a list of nodes is read alike; the XML that `openvino.serialize`
writes has its reader beside the logs, and in a log proves nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from re import Match

from fallback_gate.compilers.rule import Marker, Sighting, compiled
from fallback_gate.compilers.runtimes.openvino_kernels import LONGEST, NAME, PRINTED, WITH_BODY
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

TOLD = "openvino/graph-told"
_PRECISION = r"(?:bf16|f16|f32|f64|nf4|f4e2m1|f8e[45]m[23]|[iu](?:1|2|4|8|16|32|64)|I8|boolean|string|dynamic|undefined)"
_KERNEL = rf"(?<![\w.])(?:undef(?:ined)?|(?:[a-z][a-z0-9]{{0,30}}_){{1,8}}{_PRECISION})(?!\w)"
_CELLS = re.compile(r"[^\w./-]+")
_BEGINS = frozenset({"Input", "Parameter"})
_ENDS = frozenset({"Output", "Result"})
_EARLY = Pattern(r"(?<![\w.])undef(?:ined)?_")
_RAN = Pattern(r"\b(?:EXECUTED|NOT_RUN|OPTIMIZED_OUT)\b")
_HEADED = Pattern(rf"{PRINTED.pattern}|Performance counts for ")  # these forms have markers of their own
_ORDER = Pattern(r"\bexecOrder\W{1,5}(?P<key>\d{1,6})\b|^\W{0,10}(?P<first>\d{1,6})(?=[\s,;|])")
_KEY = Pattern(r"^\s*\x22\w{1,60}\x22\s?: ")
LONGEST_JSON = 8_000_000  # characters

Node = tuple[frozenset[str], str]  # the words of it, one of which is its type, and all that is told of it


def graph_told(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Whether the graph or the table that begins at the line is whole; nothing where it does not begin there."""
    if record.text.lstrip().startswith("<"):
        return
    if _KEY.match(record.text):
        nodes = list(_of_json(record))
    elif "[{" in record.text:
        nodes = list(_of_objects(record.whole_line()))
    else:
        nodes = _of_rows(record)
    if len(nodes) > 1 and nodes[0][0] & _BEGINS:
        yield Sighting(marker.id, record.position, (_state(nodes), str(record.position)))


def _state(nodes: Sequence[Node]) -> str:
    """`cut`, `unordered` where it may be, `early`, `nested`, or `whole`: an output may stand among the first of more."""
    orders = [found["key"] or found["first"] for _, told in nodes if (found := _ORDER.search(told))]
    if not nodes[-1][0] & _ENDS:
        return "cut"
    if len(orders) < len(nodes):
        return "unordered"
    if sorted(map(int, orders)) != list(range(len(nodes))):
        return "cut"
    if any(_EARLY.search(told) and not _RAN.search(told) for _, told in nodes):
        return "early"
    return "nested" if any(words & WITH_BODY for words, _ in nodes) else "whole"


def _above(record: Record) -> str:
    return next((line.text for line in record.preceding(1)), "")


def _words(text: str) -> frozenset[str]:
    return frozenset(_CELLS.split(text))


def _of_rows(record: Record) -> list[Node]:
    """One node a line; none where the line above is a node, too, or the header of a form that has its own marker."""
    above = _above(record)
    if compiled(_KERNEL).search(above) or _HEADED.search(above):
        return []
    behind = takewhile(compiled(_KERNEL).search, (line.text for line in record.following(LONGEST)))
    return [(_words(text), text) for text in (record.text, *behind)]


def _of_json(record: Record) -> Iterator[Node]:
    """The objects of a list that is printed over several lines: the line is one of the first object."""
    lines = [record.text]
    for line in record.preceding(40):
        lines.insert(0, line.text)
        if line.text.strip()[-1:] == "[":
            break
        if "}" in line.text:
            return  # not the first of the list
    else:
        return
    for line in record.following(40 * LONGEST):
        lines.append(line.text)
        if line.text.lstrip()[:1] == "]":
            break
    yield from _of_objects("\n".join(lines))


def _of_objects(text: str) -> Iterator[Node]:
    """The objects of a JSON list, each with its kernel."""
    text = text[text.find("[") :][:LONGEST_JSON]
    try:
        nodes, _ = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        nodes = None
    if not isinstance(nodes, list):
        return
    for node in nodes:
        told = json.dumps(node)
        if not isinstance(node, dict) or not compiled(_KERNEL).search(told):
            yield frozenset(), told
        else:
            yield frozenset(value for value in node.values() if isinstance(value, str)), told


_ROWS = "x Status.NOT_RUN Parameter unknown_f32 0\nMatMul_4 Status.EXECUTED MatMul brgemm_avx512_bf16 9\nResult_9 Status.NOT_RUN Result unknown_f32 0"
_TABLE = "| x | Input | unknown_f32 |\n| MatMul_4 | MatMul | brgemm_avx512_f32 |\n| Result_9 | Output | unknown_f32 |"
_LIST = '[{"name": "x", "layerType": "Input", "primitiveType": "unknown_f32"}, {"name": "Result_9", "layerType": "Output", "primitiveType": "unknown_f32"}]'

MARKER = Marker(
    id=TOLD,
    compiler=NAME,
    anchor=("unknown_",),
    pattern=rf"\x22?(?<![\w.])(?:unknown|jit\w{{0,40}}|ref(?:_any)?)_{_PRECISION}(?!\w)",
    shows="An executed graph or a table of counters was printed in a form of the program's own: whole, cut, or without an order.",
    seen_in="2024.6 to 2026.4 (run), printed by programs",
    matches=(_ROWS, _TABLE, _LIST),
    ignores=("state = unknown_f32_x",),
    read=graph_told,
)
