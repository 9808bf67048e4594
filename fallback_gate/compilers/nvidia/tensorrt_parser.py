r"""Room 3: nodes that TensorRT's ONNX parser can't read, by the parser itself or in Polygraphy's table.

    [I] ===== Summary =====
        Operator | Count   | Reason                              | Nodes
        ---------------------------------------------------------------------
        GateAttn |       2 | In node 0 (...): INVALID_NODE: ...  | [[2, 3], [7, 8]]

The parser's message has many lines; the first one names the node's type and output, one of the last says why.
`polygraphy inspect capability` asks the parser without building: its table has a row for each operator and
reason, without partitioning one for each node (`Stack trace | Operator | Node | Reason`).
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.nvidia import tensorrt_layers as layers
from fallback_gate.compilers.rule import Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import BEFORE, BEHIND, Pattern
from fallback_gate.scan.record import Record

NAME = "tensorrt"
MOST_ROWS = 5_000
_HELP = "Write a plugin for the operator, rewrite it at export, or cut the model there on purpose."
_FAULT = Pattern(
    r"(?:\[\d{1,3}\] )?(?P<why>Assertion failed: .*\S|(?:UNSUPPORTED|INVALID)_NODE.*\S|Invalid Node - .*\S)"
    r"|^\s*\[\d{1,3}\] (?P<other>.*\S)"
)

_BY_OPERATOR = Pattern(
    r"^\s*(?P<op>[\w.:]{1,80})\s*\| +\d{1,9} \| (?P<reason>.*\S)\s+\| (?P<nodes>\[\[[\d, \[\]]{1,2000})"
    + BEHIND
)
_RULED = Pattern(rf"^[\s-]*{BEHIND}")
_BY_NODE = Pattern(r"^\s*[^|]{0,400}\| (?P<op>[\w.:]{1,80})\s*\| (?P<node>[^|]{0,300})\| (?P<reason>.*\S)")


def of_node(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A node that the parser refuses: the reason stands behind its dump."""
    report = layers.named(by_groups(rule, record, match), match["op"], (match.groupdict().get("out") or ""))
    for line in record.following(80):
        text = layers.LOGGER.sub("", line.text)
        fault = _FAULT.search(text)
        if fault and "While parsing" not in text:
            report = report._replace(reason=(fault["why"] or fault["other"])[:300])
            break
        if rule.anchor[0] in text or "Parsing model failed" in text:
            break
    yield report._replace(layer=match.groupdict().get("out"))


PARSER = Rule(
    id="tensorrt/parser-refused",
    compiler=NAME,
    anchor=("While parsing node number ",),
    pattern=r"While parsing node number \d{1,6} \[(?P<op>\w{1,80})(?: -> \"(?P<out>[^\"]{1,300})\")?\]:"
    + BEHIND,
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The ONNX parser can't bring this node into TensorRT: there is no engine, or one without the node.",
    help=_HELP,
    seen_in="7 to 10 (source of onnx-tensorrt, public threads), ERROR",
    matches=(
        '[01/01/2026-00:00:00] [E] [TRT] ModelImporter.cpp:720: While parsing node number 66 [Einsum -> "onnx::Transpose_231"]:',
        "ERROR: While parsing node number 12 [Resize]:\n--- Begin node ---\n[8] Assertion failed: scales.is_weights()",
    ),
    ignores=(
        "While parsing node number 3 [see above] we found",
        "[I] [TRT] No importer registered for op: GateMix. Attempting to import as plugin.",
    ),
    read=of_node,
)


def of_table(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The rows of Polygraphy's table; its head tells which of the two it is."""
    report, row_of = by_groups(rule, record, match), None
    for line in record.following(MOST_ROWS):
        if row_of is None:
            row_of = _BY_NODE if "Stack trace" in line.text else _BY_OPERATOR
            if "Operator" not in line.text or "Reason" not in line.text:
                return
            continue
        row = row_of.match(line.text)
        if row is None:
            if not _RULED.match(line.text):
                return
            continue
        told = row.groupdict()
        node = (told.get("node") or "").strip()
        yield layers.named(report, told["op"], node)._replace(
            position=record.position_at(line.at),
            text=line.text,
            layer=node or None,
            reason=told["reason"][:300],
            site=told.get("nodes") or node or None,
        )


TABLE = Rule(
    id="tensorrt/unsupported-node",
    compiler=NAME,
    anchor=("===== Summary =====",),
    pattern=rf"^{BEFORE}\[I\] ===== Summary ====={BEHIND}",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="TensorRT can't take this operator of the ONNX model: it is left to another runtime, or there is no engine.",
    help=_HELP,
    seen_in="polygraphy inspect capability of TensorRT 8.5 to 10 (source), INFO",
    matches=(
        "[I] ===== Summary =====\n"
        "    Operator | Count   | Reason                                              | Nodes\n"
        "    ---------------------------------------------------------------------------------\n"
        '    Fake     |       1 | In node 0: INVALID_NODE: creator && "Plugin not found" | [[2, 3]]',
    ),
    ignores=("[I] ===== Summary ===== of the run", "===== Summary ====="),
    read=of_table,
)

RULES = (PARSER, TABLE)
