r"""torchair.inductor: the Inductor extension of torchair (inductor-npu-ext): operators that it does not lower.

    [2026-01-01 00:00:00] [RANK0] [INFO] Fallback 2x aten.cumsum.default(Tensor(...)) -> Tensor(...)  # reason: input dtype ...
    Fallback aten ops:
        aten.cumsum.default: 2, reason: input dtype torch.int64 not supported

**What falls back.** An operator outside the list that the extension lowers, of a data type that it does not
take, or with strides for which it expects eager to be faster, runs through its eager kernel.

**At which setting it speaks.** `TORCH_COMPILE_DEBUG=1`: a line for each operator that was lowered or not,
when the process exits. A summary of the model lists the same under two headers: rows under `Supported ops:`
and `Unsupported ops:` look alike and count nothing here; `Unsupported ops` is about the fused code.

**When it is silent.** By default: the logger is at ERROR.

**What proves the end.** Nothing: the list has no last line, so one that was cut off looks whole.

Wording from torchair's source of 2026.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.model.names import operator
from fallback_gate.patterns import BEFORE, BEHIND, Pattern
from fallback_gate.scan.record import Record

NAME = "torchair.inductor"
MOST_ROWS = 2000
_SEEN = "torchair of 2026 (source)"
_LOG = "[2026-01-01 00:00:00] [RANK0] [INFO] "
_ROW = Pattern(rf"^{BEFORE}(?P<op>[\w.:]{{1,256}}): (?P<count>\d{{1,9}}), reason: (?P<reason>.*)$")


def _rank(record: Record, said: str) -> int:
    """The rank: what stands around the line knows better, since the extension says 0 where it knows none."""
    return int(said) if record.rank is None else record.rank


def at_exit(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One operator with its arguments, which tell its sites apart; the reason ends before two flags."""
    report = by_groups(rule, record, match)
    reason = match["reason"].partition(", has_lowering=")[0].strip()
    yield report._replace(reason=reason, rank=_rank(record, match["rank"]), site=match["site"])


FALLBACK = Rule(
    id="torchair-inductor/fallback",
    compiler=NAME,
    anchor=("[INFO] Fallback ",),
    pattern=r"\[RANK(?P<rank>\d{1,6})\] \[INFO\] Fallback \d{1,9}x (?P<op>[\w.:]{1,256})(?P<site>\([^#]{0,4000}?) {0,4}# reason: (?P<reason>.*)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The extension did not lower the operator: it runs through its eager kernel, outside the fusion.",
    help="The reason tells the data type, stride or list that kept it out.",
    seen_in=f"{_SEEN}, INFO, with TORCH_COMPILE_DEBUG=1",
    matches=(
        _LOG
        + "Fallback 2x aten.cumsum.default(Tensor(torch.int64, shape=(4, 8), stride=(8, 1), npu:0), 1) -> Tensor(torch.int64, shape=(4, 8), stride=(8, 1), npu:0)  # reason: input dtype torch.int64 not in (torch.float32,), has_lowering=True, has_decompose=False",
    ),
    ignores=(_LOG + "Lowered 1x aten.add.Tensor(Tensor(torch.float32)) -> Tensor(torch.float32)",),
    read=at_exit,
)


def rows(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The rows under the header, to the first line of another form."""
    for line in record.following(MOST_ROWS):
        row = _ROW.match(line.text)
        if row is None:
            return
        op = operator(row["op"])
        yield by_groups(rule, record, match)._replace(
            op=op,
            names=tuple(dict.fromkeys((op, row["op"]))),
            reason=row["reason"].strip(),
            position=record.position_at(line.at),
            text=line.text,
        )


SUMMARY = Rule(
    id="torchair-inductor/summary",
    compiler=NAME,
    anchor=("Fallback aten ops:",),
    pattern=rf"^{BEFORE}Fallback aten ops:{BEHIND}",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The model's summary lists an operator that the extension did not lower.",
    help="The reason tells the data type, stride or list that kept it out.",
    seen_in=f"{_SEEN}, the summary of a model",
    matches=(
        "Fallback aten ops:\n    aten.cumsum.default: 2, reason: input dtype torch.int64 not supported",
    ),
    ignores=("Fallback aten ops: none", "Fallback aten ops:"),
    read=rows,
)

MARKERS = (
    Marker(
        id="torchair-inductor/lowered",
        compiler=NAME,
        anchor=("[INFO] Lowered ",),
        pattern=r"\[RANK(\d{1,6})\] \[INFO\] Lowered \d{1,9}x [\w.:]{1,256}\(",
        shows="TORCH_COMPILE_DEBUG=1 was set: what was lowered is listed, and after it what was not.",
        seen_in=_SEEN,
        matches=(FALLBACK.ignores[0],),
        read=lambda marker, record, match: (
            Sighting(marker.id, record.position, match.groups(), rank=_rank(record, match[1])),
        ),
    ),
)
REQUIRED = frozenset({Kind.OP_FALLBACK})
SETTING = "TORCH_COMPILE_DEBUG=1, and a marker in the policy for the line that the script prints last"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """The list at exit would show them, but nothing shows that the list is whole."""
    if evidence.first("torchair-inductor/lowered") is None:
        why = "only a list of what was lowered shows that the extension's INFO level was on"
        return {Kind.OP_FALLBACK: Proof(State.UNOBSERVABLE, why, None, SETTING)}
    why = "the list of lowered operators comes before that of fallbacks, and nothing shows its end"
    return {Kind.OP_FALLBACK: Proof(State.UNPROVEN, why, None, SETTING)}


READER = Reader(
    name=NAME,
    rules=(FALLBACK, SUMMARY),
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="yes: its logger is at ERROR",
    seen_in="torchair of 2026 (source)",
)
