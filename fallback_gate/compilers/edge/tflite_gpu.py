"""Room 3: the list that TensorFlow Lite's GPU delegate prints of operators that it refuses: a header, rows, a split line.

    ERROR: Following operations are not supported by GPU delegate:
    GATHER_ND: Operation is not supported.
    90 operations will run on the GPU, and the remaining 30 operations will run on the CPU.

The rows have a shape that other lines share: they count only between the header and the first line of another
shape. An operator stands there once for each reason, not for each node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Marker, Rule, Sighting
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import BEHIND, Pattern
from fallback_gate.scan.record import Line, Record

NAME = "tflite"
SEEN = "TensorFlow Lite 1.15 to 2.21, LiteRT (source and public threads)"

_WHEN = r"(?:\d{4}-)?\d\d-\d\d [\d:.]{8,20} {1,6}(?:[+-]\d{4} {1,6})?\d{1,7} {1,6}\d{1,7} "
_LOGCAT = rf"(?:(?:{_WHEN})?(?:[VDIWE]/tflite: |[VDIWE] tflite *: |ERROR: )|{_WHEN}[VDIWE] [\w.$]{{1,60}} {{0,20}}: {{1,8}})?"
_ROW = Pattern(
    rf"^\s*{_LOGCAT}(?!INFO|ERROR|WARNING|VERBOSE)(?:CUSTOM )?(?P<op>[A-Z][A-Za-z0-9_]{{1,80}}):(?: (?P<reason>.*))?$"
)
_ROW_ALONE = Pattern(
    rf"^\s*{_LOGCAT}(?P<op>[A-Z][A-Z0-9_]{{2,80}}|(?<=CUSTOM )\w{{2,80}}): (?P<reason>(?:Operation is |OP is |Op |Max version |Expected |[A-Z_]+ )\S.*)$"
)
_SPLIT = Pattern(r"\boperations will run on the GPU, and\b")


def rows(record: Record) -> Iterator[tuple[Line, Match[str] | None]]:
    """The rows below the GPU delegate's header; at the end its split line, with no match."""
    for line in record.following(shared.MOST):
        if _SPLIT.search(line.text):
            yield line, None
            return
        row = _ROW.match(line.text)
        if row:
            yield line, row
        elif line.text.strip():
            return


def gpu_list(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One report for each row; one that names nothing where there is none."""
    report, found = by_groups(rule, record, match), 0
    for line, row in rows(record):
        if row:
            found += 1
            yield report._replace(
                op=row["op"],
                names=(row["op"],),
                position=record.position_at(line.at),
                text=line.text,
                reason=(row["reason"] or "").strip()[:400] or None,
            )
    if not found:
        yield report._replace(scope=Scope.UNKNOWN)


def gpu_list_end(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Whether the list is whole: its split line stands below it."""
    whole = any(row is None for _, row in rows(record))
    yield Sighting(marker.id, record.position, ("whole" if whole else "cut",))


HEADER = r"(?:Following|Next) operations are not supported by GPU delegate:" + BEHIND
GPU = Rule(
    id="tflite/gpu-unsupported",
    compiler=NAME,
    anchor=("operations are not supported by GPU delegate:",),
    pattern=HEADER,
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The GPU delegate refuses the operator, this version of it or these shapes: it runs on the CPU.",
    help="The row gives the reason; convert the model again without the operator, or with an older version of it.",
    seen_in=SEEN,
    matches=(
        "ERROR: Following operations are not supported by GPU delegate:",
        "ERROR: Following operations are not supported by GPU delegate:\nGATHER_ND: Operation is not supported.\nDEQUANTIZE: \n\n90 operations will run on the GPU, and the remaining 30 operations will run on the CPU.",
        "java.lang.IllegalArgumentException: Internal error: Failed to apply delegate: Next operations are not supported by GPU delegate:\n    ARG_MAX: Operation is not supported.\n    First 2 operations will run on the GPU, and the remaining 200 on the CPU.",
    ),
    ignores=("grep 'operations are not supported by GPU delegate:' device.log",),
    read=gpu_list,
)


def by_number(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """An operator that is named by its number alone."""
    yield by_groups(rule, record, match)._replace(op=f"builtin {match['code']}", names=(match["code"],))


GPU_CODE = Rule(
    id="tflite/gpu-code",
    compiler=NAME,
    anchor=("cannot be handled by this delegate",),
    pattern=r"(?:^|WARNING: |tflite *: )(?:op code #)?(?P<code>\d{1,6}) (?P<reason>cannot be handled by this delegate)",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=GPU.meaning,
    help="The number is that of BuiltinOperator in the schema of TensorFlow Lite; take a later release.",
    seen_in="TensorFlow Lite 1.13 (its documentation and public threads), WARNING",
    matches=(
        "WARNING: op code #42 cannot be handled by this delegate.",
        "WARNING: 25 cannot be handled by this delegate.  Only the first 30 ops will run on the GPU, and the remaining 1 on the CPU",
    ),
    ignores=("setLogLevel cannot be handled by this delegate",),
    read=by_number,
)


def split(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The numbers, and the rows above them where the list lost its header: else its rows tell."""
    if record.is_near(GPU.anchor[0].encode(), behind=False):
        return
    yield from shared.hinted(rule, record, match)
    report = by_groups(rule, record, match)._replace(scope=Scope.OPERATOR, at_least=False)
    for line in record.preceding(shared.MOST):
        row = _ROW_ALONE.match(line.text)
        if not row:
            return
        yield report._replace(
            op=row["op"],
            names=(row["op"],),
            position=record.position_at(line.at),
            text=line.text,
            reason=row["reason"].strip()[:400],
        )


GPU_SPLIT = Rule(
    id="tflite/gpu-split",
    compiler=NAME,
    anchor=("will run on the GPU, and ",),
    pattern=r"(?P<reason>(?:(?:[Oo]nly the f|F)irst )?\d{1,9} op(?:eration)?s will run on the GPU, and the remaining (?!0 )\d{1,9} (?:operations will run )?on the CPU"
    r"|No operations will run on the GPU, and all [1-9]\d{0,8} operations will run on the CPU)",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.UNKNOWN,
    meaning="So many operators of the model run on the CPU; the lines above it name them.",
    help="Keep the lines above it in the log.",
    seen_in="TensorFlow Lite 1.13 to 2.21 (source and public threads)",
    matches=(
        "90 operations will run on the GPU, and the remaining 30 operations will run on the CPU.",
        "First 2 operations will run on the GPU, and the remaining 249 on the CPU.",
        "No operations will run on the GPU, and all 31 operations will run on the CPU.",
    ),
    ignores=("12 operations will run on the GPU, and the remaining 0 operations will run on the CPU.",),
    at_least=True,
    read=split,
)


GPU_LIST = Marker(
    id="tflite/gpu-list",
    compiler=NAME,
    anchor=GPU.anchor,
    pattern=HEADER,
    shows="The GPU delegate's list of refused operators is whole, or cut.",
    seen_in=SEEN,
    matches=GPU.matches,
    read=gpu_list_end,
)
