r"""Room 3: nodes of OpenVINO on a reference kernel, in whatever form a program prints what it ran.

    seg/search SearchSorted ref_f32 Status.EXECUTED 104
    hash/gather;GatherElements;ref_any_f32;f32;2
    INFO:root:node=hash/gather type=GatherElements exec=ref_any_f32
    {"node_name": "hash/gather", "node_type": "GatherElements", "exec_type": "ref_any_f32", ...}

Such a line has the node's kernel, and mostly its type and its name. `ref_any_*` is a name that nothing else uses;
`ref_f32` may be a variable of anybody, so that the node's status or kernels of other sorts must stand near. What the
forms with a name of their own tell (`openvino_kernels`) is left to these.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from re import Match

from fallback_gate.compilers.matching import by_groups, is_said
from fallback_gate.compilers.rule import Rule, compiled
from fallback_gate.compilers.runtimes.openvino_kernels import (
    COUNTED,
    KERNEL,
    NAME,
    ROW,
    TOLD,
    element,
    named,
    operator,
    several,
)
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

MOST = 1000  # nodes of one line
_CLOSING = '{"fallback_gate_closing": '  # such a record has a reader of its own
_OTHER_KERNELS = (
    b"ref_any_",
    b"unknown_f",
    b"unknown_i",
    b"unknown_I",
    b"unknown_b",
    b"jit_",
    b"brgemm_",
    b"undef",
)
_CELLS = re.compile(r"[\s;,|\x22'{}()\[\]=]+")
_TYPE = Pattern(r"(?!\w{0,80}_\d{1,9}$)[A-Z][A-Za-z]\w{0,60}$")  # a name ends in a number, a type does not
_RAN = Pattern(r"(?<![\w.])(?:Status\.)?(?:EXECUTED|NOT_RUN)\b")
_NAME = Pattern(
    r"\b(?:node_?[nN]ame|friendly_?[nN]ame|layer_?[nN]ame|name|node|layer)[\x22']?\s{0,3}[:=]\s{0,3}[\x22']?(?P<name>[^\s\x22',;|]{1,300})"
)
_COUNT = Pattern(r"[\x22'](?P<how>ref_any_\w{1,40})[\x22']: ?(?P<count>[1-9]\d{0,8})[,}]")


def told(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The nodes of one line, each with its type and its name where they are told."""
    text = record.text
    if text.startswith(_CLOSING):
        return
    if not several(text) and (
        "OPTIMIZED_OUT" in text or ROW.match(text) or _is_told(COUNTED, text) or _is_told(TOLD, text)
    ):
        return
    ran = _RAN.search(text) is not None
    if not ran and "ref_any_" not in text and not any(map(record.is_near, _OTHER_KERNELS)):
        return
    report, counted = by_groups(rule, record, match), _COUNT.search(text)
    if counted:
        yield report._replace(
            scope=Scope.UNKNOWN, reason=f"kernel {counted['how']}, {counted['count']} times"
        )
        return
    for how, around in _nodes(record):
        kind, name = _type(around, how), _NAME.search(around)
        layer = name["name"] if name else _before(around, kind)
        if "OPTIMIZED_OUT" not in around and (kind or (ran and layer)):
            yield named(report, kind or operator("Reference", layer), layer, how)


def _is_told(other: Rule, text: str) -> bool:
    """Whether another rule reports the line's node."""
    match = compiled(other.pattern).search(text)
    return match is not None and is_said(text, match)


def _nodes(record: Record) -> Iterator[tuple[str, str]]:
    """Each kernel, and the text that tells of its node: its object, or all of the line."""
    text = record.text
    for at, kernel in enumerate(compiled(KERNEL).finditer(text)):
        if at == MOST:
            return
        begin, end = text.rfind("{", 0, kernel.start()), text.find("}", kernel.end())
        yield kernel[0], text[begin : end + 1] if 0 <= begin < end else element(record)


def _type(around: str, how: str) -> str | None:
    """The node's type: the word like a type that is nearest to the kernel, one before it first."""
    before, _, behind = around.partition(how)
    words = [*reversed(_CELLS.split(before)), *_CELLS.split(behind)]
    return next((word for word in words if _TYPE.match(word) and word not in _NO_TYPES), None)


_NO_TYPES = {"EXECUTED", "NOT_RUN", "None", "True", "False", "DEBUG", "INFO", "WARNING"}


def _before(around: str, kind: str | None) -> str:
    """What stands in the cell before the type, or before the status if none is told; nothing where that is the first."""
    cells = _CELLS.split(around.strip())
    if kind:
        cells = [cell for cell in cells if not _RAN.match(cell)]
        at = cells.index(kind)
    else:
        at = next((at for at, cell in enumerate(cells) if _RAN.search(cell)), 0)
    return cells[at - 1] if at else ""


FREE = Rule(
    id="openvino/reference-kernel-free",
    compiler=NAME,
    anchor=(
        "ref_any_",
        "ref_f32",
        "ref_f16",
        "ref_bf16",
        "ref_i64",
        "ref_i32",
        "ref_i16",
        "ref_i8",
        "ref_I8",
        "ref_u8",
        "ref_u32",
        "ref_u64",
        "ref_f64",
        "ref_boolean",
    ),
    pattern=rf"(?:[\x22'](?:\w{{1,40}}[\x22']\s?: ?[\x22'])?)?{KERNEL}",
    kind=Kind.REFERENCE_KERNEL,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=COUNTED.meaning,
    help=COUNTED.help,
    seen_in="2024.6 to 2026.4 (run), printed by programs",
    matches=(
        "hash/gather;GatherElements;ref_any_f32;f32;2",
        "DFT_4 Status.EXECUTED DFT ref_any_f32 25",
        "DFT_4;Status.EXECUTED;DFT;ref_any_f32;0.025;0.025;",
        "Bucketize_87;Status.NOT_RUN;Bucketize;ref_any_f32;0.000;0.000",
        "draw                Multinomial          ref_any_f32              Status.EXECUTED 19",
        "INFO:root:node=la/inverse type=Inverse exec=ref_any_f32",
        '{"node_name": "hash/gather", "node_type": "GatherElements", "exec_type": "ref_any_f32", "us": 2}',
        '["/a/b", "DFT", "ref_any_f32", 2]',
        "Counter({'unknown_f32': 9, 'jit_avx512_f32': 1, 'ref_any_f32': 1})",
        "9\tq/roll\tRoll\tref_I8\n10\tResult_12\tOutput\tunknown_I8",
        "Slice_13 Slice ref_f32 7\nspec/relu Eltwise jit_avx512_f32 3",
    ),
    ignores=(
        "MatMul ref_f32 max difference 1e-3",
        "act Relu ref_any_f32 Status.OPTIMIZED_OUT 0",
        "ref_any_of_these = Counter()",
        "  Gather                   ref_any_f32                  f32    /layer0/ew1/Gather",
        "Relu_5;Status.NOT_RUN;Relu;undef;0.000;0.000",
        "QUERY EXECUTED by ref_counting, 3 rows",
    ),
    read=told,
)
