r"""Room 3: which kernel OpenVINO's CPU plugin ran for each node: the executed graph, the one place that tells.

    /layer0/ew1/Gather   Status.EXECUTED      layerType: Gather      execType: ref_any_f32     realTime (ms): 0.211 ...

is a row of `benchmark_app -pc`. A program prints the same of `compiled.get_runtime_model()`, one node a line,
under a header that names the columns:

    executed graph: layerType primitiveType runtimePrecision name
      Gather                   ref_any_f32                  f32    /layer0/ew1/Gather
      Reference                ref_f32                      f32    /layer0/attn/GateAttn

A graph that the program prints in a form of its own is read too, line by line, where the line has `primitiveType`
with its value (also the XML that `openvino.serialize` writes); `openvino_told` reads the forms without that key:

    DFT_4 {'layerType': 'DFT', 'primitiveType': 'ref_any_f32'}

Whether such a form shows all of a graph is told by `openvino_graphs`. `NOT_RUN` means no more than that the mean time
rounds to 0 microseconds: a small node that runs is told so, and its kernel counts. `ref_*` is a naive loop; the layer
type Reference is an operator that has its `evaluate()` only. Everything else is no fallback: `jit_*`, `brgemm_*`,
`gemm_mlas_*`, and `unknown_*` or `undef`, where no kernel runs. A loop or a condition is one row; what runs in its
body stands nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isclose
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Marker, Rule, Sighting, compiled
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import BEHIND, Pattern
from fallback_gate.scan.record import Line, Record

NAME = "openvino"
LONGEST = 50_000  # lines of one printed graph
MOST_KEYS = 30  # of one node, each on a line of its own

ROW = Pattern(
    r"^\s{1,8}(?P<type>[A-Z]\w{0,60})\s+(?P<how>[a-z]\w{0,60})\s+(?P<precision>[a-z]\w{0,20})\s+(?P<name>\S.*)$"
)
_COUNTED = Pattern(r"\bStatus\.\w+\s|\b(?:EXECUTED|NOT_RUN|OPTIMIZED_OUT)\s")
_TIMED = Pattern(r"\bexecType: ?\S+\s+realTime(?: \(ms\))?: ?(?P<time>\d+(?:\.\d+)?)")
_TOTAL = Pattern(r"^Total (?:CPU )?time:\s*(?:(?P<time>\d+(?:\.\d+)?) milliseconds)?")
_ROUNDED = {"rel_tol": 1e-5, "abs_tol": 0.0009}  # milliseconds, printed to the microsecond
_NUMBER = Pattern(r"_\d+$")
_BODY = Pattern(r"\blayerType: ?(?P<type>\w{1,60})")
_VALUE = r"[\x22']?\s{0,3}(?:=>?|:)\s{0,3}[\x22']?"  # from a key to its value, in Python, JSON, XML or YAML
_TYPE_TOLD = Pattern(rf"\blayerType{_VALUE}(?P<type>[A-Z]\w{{0,60}})")
_NAMES_TOLD = Pattern(rf"\boriginalLayersNames{_VALUE}(?P<name>[^\s\x22',]{{1,300}})")
_NAME_TOLD = Pattern(rf"\b(?:name|friendly_name){_VALUE}(?P<name>[^\s\x22',]{{1,300}})")
_LAYER = Pattern(r"<layer\b.{0,400}? name=\x22(?P<name>[^\x22]{1,300})\x22 type=\x22(?P<type>\w{1,60})\x22")
_KEY = Pattern(r"^\s*(?:[\x22']\w{1,60}[\x22']\s?: |(?:- )?\w{1,60}: \S)")
_FIRST = Pattern(r"\s{0,40}(?P<name>\w[^\s\x22'{<,;|]{0,300})")
KERNEL = r"(?<![\w.])ref(?:_any)?_(?:bf16|f16|f32|f64|I8|i8|i16|i32|i64|u8|u32|u64|boolean)\b"
WITH_BODY = {"TensorIterator", "Loop", "If"}


def operator(kind: str, layer: str) -> str:
    """The operator of a node: its layer type, or for the types that tell none what its own name ends in."""
    last = _NUMBER.sub("", layer.rpartition("/")[2])
    return last if kind in ("Reference", "Subgraph") and last and not last.endswith(".") else kind


def named(report: Report, kind: str, layer: str, how: str) -> Report:
    """The report of a node that runs on a reference kernel."""
    op = operator(kind, layer)
    names = tuple(name for name in dict.fromkeys((op, layer)) if name)
    return report._replace(
        op=op, names=names, layer=layer or None, site=layer or None, reason=f"layer type {kind}, kernel {how}"
    )


def counted(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One row of the performance counters."""
    yield named(by_groups(rule, record, match), match["type"], match["name"], match["how"])


def several(text: str) -> bool:
    """Whether the line has the kernels of several nodes."""
    return len(compiled(KERNEL).findall(text)) > 1


def told(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A node on a reference kernel, in a form of the program's own: its type and its name, where they are told.

    A line with several nodes is left to `openvino_told`.
    """
    report, text = by_groups(rule, record, match), record.text
    if several(text):
        return
    around = element(record)
    kind, names = _TYPE_TOLD.search(around) or _LAYER.search(around), _NAMES_TOLD.search(text)
    before = _FIRST.match(text[: match.start()]) or _NAME_TOLD.search(around)
    layer = (names or before or {"name": ""})["name"]
    if kind or layer:
        yield named(report, kind["type"] if kind else operator("Reference", layer), layer, match["how"])
    else:
        yield report._replace(scope=Scope.UNKNOWN, reason=f"kernel {match['how']}")


def element(record: Record) -> str:
    """The line, with what belongs to it: the XML element it is in, or the other keys of its object in JSON or YAML."""
    if record.text.lstrip().startswith("<data "):
        return "".join(line.text for line in record.preceding(1)) + record.text
    if not _KEY.search(record.text):
        return record.text
    lines = [record.text]
    for nearby, first in ((record.preceding(MOST_KEYS), True), (record.following(MOST_KEYS), False)):
        for line in () if first and _begins_item(record.text) else nearby:
            begins = _begins_item(line.text)
            if not _KEY.search(line.text) or (begins and not first):
                break
            lines.append(line.text)
            if begins:
                break
    return "\n".join(lines)


def _begins_item(text: str) -> bool:
    """Whether a node of a YAML list begins with the line."""
    return text.lstrip().startswith("- ")


def rows(record: Record) -> Iterable[tuple[Match[str], Line]]:
    """The rows under the header of a printed graph."""
    for line in record.following(LONGEST):
        found = ROW.match(line.text)
        if not found:
            return
        yield found, line


def printed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The nodes of a printed graph that ran on a reference kernel."""
    report = by_groups(rule, record, match)
    for row, line in rows(record):
        if row["how"].startswith("ref") or row["type"] == "Reference":
            yield named(report, row["type"], row["name"].strip(), row["how"])._replace(
                position=record.position_at(line.at), text=line.text
            )


def graph_printed(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Whether a printed graph is whole: its last row is the model's output; and whether it shows all bodies.

    Where shapes are dynamic a kernel is picked by the first request: before it, some nodes have none.
    """
    last, nested, early = "", False, False
    for row, _ in rows(record):
        last = row["type"]
        nested = nested or last in WITH_BODY
        early = early or row["how"].startswith("undef")
    state = "cut" if last != "Output" else "early" if early else "nested" if nested else "whole"
    yield Sighting(marker.id, record.position, (state, str(record.position)))


def counters_printed(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Whether a table of counters is whole: each row has its kernel, and it ends in the sum of its times."""
    nested = False
    times: list[float] = []
    for line in record.following(LONGEST):
        if total := _TOTAL.search(line.text):
            whole = times and (total["time"] is None or isclose(sum(times), float(total["time"]), **_ROUNDED))
            state = "cut" if not whole else "nested" if nested else "whole"
            yield Sighting(marker.id, record.position, (state, str(record.position)))
            return
        row = _TIMED.search(line.text)
        if not row or not _COUNTED.search(line.text):
            break
        times.append(float(row["time"]))
        body = _BODY.search(line.text)
        nested = nested or (body is not None and body["type"] in WITH_BODY)
    yield Sighting(marker.id, record.position, ("cut", str(record.position)))


_ONE = "/layer0/ew1/Gather   Status.EXECUTED      layerType: Gather               execType: ref_any_f32          realTime (ms): 0.211      cpuTime (ms): 0.211"
_TABLE = f"[ INFO ] Performance counts for 0-th infer request\n{_ONE}\nTotal time:     0.211 milliseconds"
_GRAPH = """executed graph: layerType primitiveType runtimePrecision name
  Gather                   ref_any_f32                  f32    /layer0/ew1/Gather
  Reference                ref_f32                      f32    /layer0/attn/GateAttn
  Output                   unknown_f32                  f32    logits/sink_port_0"""
_EARLY = """executed graph: layerType primitiveType runtimePrecision name
  Input                    unknown_f32                  f32    sweep
  FullyConnected           undef_bf16                   bf16   MatMul_4
  Output                   unknown_f32                  f32    Result_15"""
_HELP = (
    "Give the node shapes and types that a JIT kernel takes (4-byte indices, static axes), or replace the operator; "
    "an operator with evaluate() only needs an implementation as a C++ extension."
)

COUNTED = Rule(
    id="openvino/reference-kernel-counted",
    compiler=NAME,
    anchor=("execType: ref",),
    pattern=r"(?:^|(?<=\s))(?P<name>[^\s\x22]{1,300})\s+(?:Status\.)?(?:EXECUTED|NOT_RUN)\s+layerType: ?(?P<type>\w{1,60})\s+execType: ?(?P<how>ref\w{0,60})\b",
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The CPU plugin has no optimised kernel for the node as it is: a naive loop computes it.",
    help=_HELP,
    seen_in="2024.6 to 2026.4 (run), benchmark_app -pc",
    # Both rows are of one node that ran each time: a mean below a microsecond is told as NOT_RUN.
    matches=(
        _ONE,
        "Bucketize_87         Status.EXECUTED      layerType: Bucketize            execType: ref_any_f32          realTime (ms): 0.025      cpuTime (ms): 0.025",
        "Bucketize_87         Status.NOT_RUN       layerType: Bucketize            execType: ref_any_f32          realTime (ms): 0.000      cpuTime (ms): 0.000",
    ),
    ignores=(
        "MVN_8    Status.EXECUTED   layerType: MVN    execType: jit_avx512_f32    realTime (ms): 0.023",
        "encoder/relu         Status.NOT_RUN       layerType: Relu                 execType: undef                realTime (ms): 0.000",
        "/act/Relu    Status.OPTIMIZED_OUT    layerType: Relu   execType: ref_f32    realTime (ms): 0.000",
    ),
    read=counted,
)

PRINTED = Rule(
    id="openvino/reference-kernel",
    compiler=NAME,
    anchor=("layerType primitiveType runtimePrecision name",),
    pattern=r"layerType primitiveType runtimePrecision name" + BEHIND,
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.OPERATOR,
    meaning=COUNTED.meaning,
    help=_HELP,
    seen_in="2026.4 (run), get_runtime_model() printed by the program",
    matches=(_GRAPH,),
    read=printed,
)

TOLD = Rule(
    id="openvino/reference-kernel-told",
    compiler=NAME,
    anchor=("primitiveType",),
    pattern=rf"[\x22']?\bprimitiveType{_VALUE}(?P<how>ref(?:_\w{{1,60}})?)\b",
    kind=Kind.REFERENCE_KERNEL,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=COUNTED.meaning,
    help=_HELP,
    seen_in="2024.6 to 2026.4 (run), rt_info and the saved XML, printed by programs",
    matches=(
        "DFT_4 {'execTimeMcs': '72', 'layerType': 'DFT', 'primitiveType': 'ref_any_f32'}",
        '<data execOrder="2" execTimeMcs="72" originalLayersNames="DFT_4" primitiveType="ref_any_f32" runtimePrecision="f32" />',
        '{"name": "DFT_4", "layerType": "DFT", "primitiveType": "ref_any_f32"}',
        "  primitiveType = ref_any_f32",
        "- name: route/gather_nd\n  layerType: GatherND\n  primitiveType: ref_any_f32",
    ),
    ignores=(
        _GRAPH,
        "Relu_5 {'layerType': 'Subgraph', 'primitiveType': 'jit_avx512_f32'}",
        _ONE,
    ),
    read=told,
)

RULES = (COUNTED, PRINTED, TOLD)
MARKERS = (
    Marker(
        id="openvino/graph-printed",
        compiler=NAME,
        anchor=PRINTED.anchor,
        pattern=PRINTED.pattern,
        shows="The executed graph was printed: whole, whole but for the body of a loop or a condition, before it was executed, or cut.",
        seen_in=PRINTED.seen_in,
        matches=(_GRAPH, _EARLY),
        read=graph_printed,
    ),
    Marker(
        id="openvino/counters-printed",
        compiler=NAME,
        anchor=("Performance counts for ",),
        pattern=r"Performance counts for (?:\d{1,9}-th infer request|.{1,40} infer request)",
        shows="The performance counters of a request were printed: whole, without the body of a loop or a condition, or cut.",
        seen_in=COUNTED.seen_in,
        matches=(_TABLE,),
        ignores=("Performance counts for all teams",),
        read=counters_printed,
    ),
)
