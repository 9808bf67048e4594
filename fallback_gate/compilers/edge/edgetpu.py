r"""edgetpu: the Edge TPU compiler (Coral): operators that are not mapped and run on the CPU.

    Edge TPU Compiler version 16.0.384591198
    Number of operations that will run on CPU: 3
    Operator                       Count      Status
    DEQUANTIZE                     2          Operation is working on an unsupported data type

**What falls back.** An operator that is not mapped runs on the CPU, and so does most of what comes after it.

**At which setting it speaks.** The numbers by default; the table with `-s` (`--show_operations`), and always in
the compiler's own file `MODEL_edgetpu.log`.

**When it is silent.** Without the table, the numbers name no operator.

**What proves the end.** `Compilation succeeded!` below the compiler's first line: the numbers, and the table
where one is asked for, stand before it.

Wording seen in public logs of 2.0 to 16.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

NAME = "edgetpu"
SEEN = "edgetpu_compiler 2.0 to 16.0 (public logs)"
SETTING = "edgetpu_compiler -s"
LONGEST = 2000  # lines of one run of the compiler

_FIRST = "Edge TPU Compiler version "
_TABLE = Pattern(r"^\s*Operator\s{1,60}Count\s{1,60}Status\s*$")
_ROW = Pattern(r"^\s*(?P<op>[A-Za-z]\w{0,80})\s+(?P<count>\d{1,9})\s+(?P<status>[A-Z]\S.*\S)\s*$")
_NUMBER = Pattern(r"Number of operations that will run on CPU: (?P<count>\d{1,9})\s*$")
_PARTLY = Pattern(
    r"not all operations are supported by the Edge TPU|operations that will run on Edge TPU: \d"
)
_EMPTY = Pattern(r"^\s*Total number of operations: 0\s*$")
_BEGIN = Pattern(r"^\s*(?:Started a compilation timeout timer|Input model: )")
_END = Pattern(r"^\s*Compilation (?P<how>succeeded|failed)!")


@dataclass(slots=True)
class Run:
    """What one run of the compiler prints."""

    left: list[tuple[Line, str, int, str]] = field(default_factory=list)  # line, operator, count, status
    numbers: list[tuple[Line, int]] = field(default_factory=list)  # operations on the CPU, for each model
    failed: list[Line] = field(default_factory=list)
    ended: str = ""  # how the last model ended
    owed: bool = (
        False  # a number of operations on the CPU, which is printed below what says that there are some
    )

    empty: bool = False  # a model of no operations shows nothing of the one that is served

    @property
    def unnamed(self) -> bool:
        """Whether more operations are on the CPU than rows name."""
        return sum(count for _, count in self.numbers) > sum(count for _, _, count, _ in self.left)


def run(record: Record) -> Run:
    """Read on from the compiler's first line to the next run: it may compile several models."""
    found, table, working = Run(), False, True
    for line in record.following(LONGEST):
        if _FIRST in line.text:
            break
        if working and (end := _END.match(line.text)):
            found.ended, working = "cut" if found.owed or found.empty else end["how"], False
            if end["how"] == "failed":
                found.failed.append(line)
        elif _BEGIN.match(line.text):
            found.ended, working = "", True
        elif _EMPTY.match(line.text):
            found.empty = True
        elif number := _NUMBER.search(line.text):
            found.numbers.append((line, int(number["count"])))
            found.owed = False
        elif _PARTLY.search(line.text):
            found.owed = True
        elif _TABLE.match(line.text):
            table = True
        elif table and (row := _ROW.match(line.text)):
            if row["status"] != "Mapped to Edge TPU":
                found.left.append((line, row["op"], int(row["count"]), row["status"]))
        elif line.text.strip():
            table = False
    return found


def compiled(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The rows that are not mapped; the numbers where the rows are fewer; a compile that failed."""
    report, said = by_groups(rule, record, match), run(record)
    for line, op, count, status in said.left:
        yield report._replace(
            op=op,
            names=(op,),
            scope=Scope.OPERATOR,
            position=record.position_at(line.at),
            text=line.text,
            reason=f"{count} on the CPU: {status}"[:400],
            site=status,
        )
    for line, count in said.numbers if said.unnamed else ():
        if count:
            why = f"{count} operations run on the CPU"
            yield report._replace(position=record.position_at(line.at), text=line.text, reason=why)
    for line in said.failed:
        yield report._replace(
            kind=Kind.COMPILE_ERROR,
            position=record.position_at(line.at),
            text=line.text,
            reason="the compiler failed",
        )


FIRST = r"^\s*Edge TPU Compiler version (?P<version>[\d.]{1,40})\s*$"
NUMBERS = "Edge TPU Compiler version 16.0.384591198\nModel compiled successfully in 1524 ms.\nNumber of operations that will run on Edge TPU: 264\nNumber of operations that will run on CPU: 3\nSee the operation log file for individual operation details."
NOT_MAPPED = Rule(
    id="edgetpu/not-mapped",
    compiler=NAME,
    anchor=(_FIRST,),
    pattern=FIRST,
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The operator is not mapped to the Edge TPU: it runs on the CPU, and so does most of what follows it.",
    help="The status gives the reason; quantise the operator, or move it to the end of the model.",
    seen_in=SEEN,
    matches=(
        NUMBERS,
        "Edge TPU Compiler version 16.0.384591198\n\nOperator                       Count      Status\n\nDEQUANTIZE                     2          Operation is working on an unsupported data type\nRESHAPE                        10         Mapped to Edge TPU",
        "Edge TPU Compiler version 16.0.384591198\nCompilation failed due to large activation tensors in model.\nCompilation failed!",
    ),
    ignores=(
        "Edge TPU Compiler version 16.0.384591198",
        "Edge TPU Compiler version 16.0.384591198\nOperator   Count   Status\nRESHAPE   10   Mapped to Edge TPU\nCompilation succeeded!",
        "Install the Edge TPU Compiler version 16.0 first",
    ),
    read=compiled,
)


_STATUSES = (
    "More than one subgraph is not supported",
    "Operation is otherwise supported, but not mapped due to some unspecified limitation",
    "Operation is working on an unsupported data type",
    "Operation not supported",
)


def unheaded(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The number, or a row below its table's head, where the compiler's first line is not in the log; else that one
    has read it."""
    headed = False
    for line in record.preceding(LONGEST):
        if _FIRST in line.text:
            return
        headed = headed or _TABLE.match(line.text) is not None
    report = by_groups(rule, record, match)
    if match["op"] and headed:
        yield report._replace(
            scope=Scope.OPERATOR,
            site=match["status"],
            reason=f"{match['count']} on the CPU: {match['status']}",
        )
    elif not match["op"]:
        yield report._replace(hint=True)


UNHEADED = Rule(
    id="edgetpu/not-mapped-row",
    compiler=NAME,
    anchor=("Number of operations that will run on CPU: ", *_STATUSES),
    pattern=r"^\s*(?:(?P<op>[A-Z][A-Z0-9_]{1,80})\s{2,60}(?P<count>\d{1,9})\s{2,60}(?P<status>[A-Z]\S.*\S)|(?P<reason>Number of operations that will run on CPU: [1-9]\d{0,8}))\s*$",
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning=NOT_MAPPED.meaning,
    help=NOT_MAPPED.help,
    seen_in=SEEN,
    matches=("Number of operations that will run on CPU: 153",),
    ignores=(
        "PAD                            1          Mapped to Edge TPU",
        "CONV_2D                        35         More than one subgraph is not supported",
        "Number of operations that will run on CPU: 0",
    ),
    read=unheaded,
)


def ended(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """How the run ended."""
    yield Sighting(marker.id, record.position, (match["version"], run(record).ended or "cut"))


RUN = Marker(
    id="edgetpu/run",
    compiler=NAME,
    anchor=(_FIRST,),
    pattern=FIRST,
    shows="The compiler ran: to its end, or the log is cut.",
    seen_in=SEEN,
    matches=("Edge TPU Compiler version 16.0.384591198",),
    ignores=("Install the Edge TPU Compiler version 16.0 first",),
    read=ended,
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK, Kind.COMPILE_ERROR})


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Each run of the compiler succeeded within the log."""
    said = {how for _, how in evidence.of(RUN.id)}
    if said == {"succeeded"}:
        why = "the compiler succeeded, and prints the operations on the CPU before it says so"
        shown = Proof(State.PROVEN, why, evidence.first(RUN.id))
    else:
        shown = Proof(State.UNPROVEN, "no line shows that the compiler ran to its end", None, SETTING)
    return dict.fromkeys(REQUIRED, shown)


READER = Reader(
    name=NAME,
    rules=(NOT_MAPPED, UNHEADED),
    markers=(RUN,),
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    version=lambda evidence: next((version for version, _ in sorted(evidence.of(RUN.id))), None),
    manual=__doc__,
    silent="partly: a number, which names no operator",
    seen_in="edgetpu_compiler 2.0 to 16.0 (public logs)",
)
