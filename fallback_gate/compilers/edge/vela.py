r"""vela: Arm's compiler for Ethos-U: operators that stay on the CPU beside the NPU.

    Warning (supported operators) operator: DEQUANTIZE, ofm: 'PartitionedCall:0'
    Reason: Unsupported opType
    Network summary for lite-int8
    CPU operators = 2 (6.5%)

**What falls back.** An operator that the NPU lacks, or whose type, shape or attribute it can't take, runs on the
CPU by TensorFlow Lite Micro's kernel; the network is cut in two around it.

**At which setting it speaks.** By default, on standard output: one warning for each operator, in versions up to 4
and for TOSA in other words, and the two numbers at the end. `--show-cpu-operations` lists them once more.

**When it is silent.** Never as far as its source tells: each operator that is left is named above the numbers.

**What proves the end.** `Network summary for` with the numbers of operators below it, of the last network in the log.

Seen in 5.2.0 (run); older words in its source: https://gitlab.arm.com/artificial-intelligence/ethos-u/ethos-u-vela.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.compilers.shared import hinted
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import BEHIND, Pattern
from fallback_gate.scan.record import Record

NAME = "vela"
SETTING = "vela MODEL.tflite --show-cpu-operations, with the whole of its standard output"
_HELP = "Change the type, shape or attribute that the reason names, or move the operator to an end of the network."
_CPU = r"^(?P<cpu>CPU) operators = (?P<count>\d{1,9}) \([\d.]{1,8}%\)\s*$"
_NO_NPU = Pattern(r"^NPU operators = 0 \(")


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One operator, and the tensor that it makes; the reason is on the line after it."""
    told = match.groupdict()
    op = told["new"] or told["old"] or told["only"]
    node = told["ofm"] or told["node"] or told["single"]
    after = next((line.text.strip() for line in record.following(1)), "")
    reason = (
        after.removeprefix("Reason: ").removeprefix("- ") if after.startswith(("Reason: ", "- ")) else None
    )
    yield by_groups(rule, record, match)._replace(
        op=op, names=(op, node), layer=node, site=node, reason=(reason or match[0])[:300]
    )


REFUSED = Rule(
    id="vela/on-cpu",
    compiler=NAME,
    anchor=(
        "(supported operators) operator: ",
        "is not supported on the NPU",
        "Placing on CPU instead",
        "is a CPU only op",
        "is not a NPU op",
    ),
    pattern=r"^(?:Warning \(supported operators\) operator: (?P<new>\w{1,80}), ofm: '(?P<ofm>[^']{1,300})'"
    r"|Warning: (?:Unsupported TensorFlow Lite semantics for )?(?P<old>[A-Z]\w{0,80}) '(?P<node>[^']{1,300})'"
    r"(?: is not supported on the NPU(?:\. Placing on CPU instead)?|\. Placing on CPU instead)"
    r"|Info: (?P<only>[A-Z]\w{0,80}) '(?P<single>[^']{1,300})' is (?:a CPU only|not a NPU) op)" + BEHIND,
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operator runs on the CPU: the NPU stops before it, and starts again after it.",
    help=_HELP,
    seen_in="5.2.0 (run), 3 to 5 (source)",
    matches=(
        "Warning (supported operators) operator: QUANTIZE, ofm: 'tfl.quantize'\nReason: Operation has tensor with unsupported DataType Float32 (serving_default_x:0)",
        "Warning: ADD 'add_1' is not supported on the NPU. Placing on CPU instead\n - Tensors must be of type: int16, int32, int8, uint8",
        "Warning: Unsupported TensorFlow Lite semantics for CONV_2D 'conv_1'. Placing on CPU instead",
        "Info: CUSTOM 'MatrixInverse' is a CPU only op",
        "Warning: ARGMAX 'argmax' is not supported on the NPU",
    ),
    ignores=(
        "aten::nms is not supported on the NPU",
        "Warning: Op CONV_2D 'conv_1' has asymmetric weights.",
    ),
    shared_anchor=True,
    read=refused,
)

COUNTED = Rule(
    id="vela/operators-on-cpu",
    compiler=NAME,
    anchor=("CPU operators = ",),
    pattern=r"^(?P<reason>CPU operators = [1-9]\d{0,8} \([\d.]{1,8}%\))" + BEHIND,
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="So many operators of the network run on the CPU; the warnings above the summary name them.",
    help="Compile with the whole of vela's output in the log, and --show-cpu-operations.",
    seen_in="5.2.0 (run)",
    matches=("CPU operators = 2 (6.5%)",),
    ignores=("CPU operators = 0 (0.0%)",),
    at_least=True,
    read=hinted,
)


def counted(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The number of a network's operators on the CPU; `none` where none is on the NPU either."""
    none = match["count"] == "0" and any(_NO_NPU.match(line.text) for line in record.following(6))
    yield Sighting(marker.id, record.position, ("none" if none else match["count"], str(record.position)))


MARKERS = (
    Marker(
        id="vela/summary",
        compiler=NAME,
        anchor=("Network summary for ",),
        pattern=r"^Network summary for (?P<name>\S.{0,200})$",
        shows="A network was compiled to its end.",
        seen_in="5.2.0 (run)",
        matches=("Network summary for lite-int8",),
    ),
    Marker(
        id="vela/counted",
        compiler=NAME,
        anchor=("CPU operators = ",),
        pattern=_CPU,
        shows="How many operators of the network run on the CPU.",
        seen_in="5.2.0 (run)",
        matches=("CPU operators = 0 (0.0%)", "CPU operators = 2 (6.5%)"),
        read=counted,
    ),
    Marker(
        id="vela/told",
        compiler=NAME,
        anchor=("(supported operators) operator: ", "Placing on CPU instead"),
        pattern=r"^Warning(?: \(supported operators\) operator: |: .{1,400}\. Placing on CPU instead)",
        shows="A network is being compiled.",
        seen_in="5.2.0 (run), 3 to 5 (source)",
        matches=(
            "Warning (supported operators) operator: QUANTIZE, ofm: 'tfl.quantize'",
            "Warning: ADD 'add_1' is not supported on the NPU. Placing on CPU instead",
        ),
    ),
)
REQUIRED = frozenset({Kind.DEVICE_FALLBACK})


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Each summary has its numbers, and no warning stands behind the last."""
    summaries, numbers = evidence.counts.get("vela/summary", 0), evidence.counts.get("vela/counted", 0)
    last = evidence.last.get("vela/counted", -1)
    if not summaries or summaries != numbers or last < evidence.last.get("vela/told", -1):
        why = "the log does not show the summary of each network, with its number of operators on the CPU"
        return {Kind.DEVICE_FALLBACK: Proof(State.UNPROVEN, why, None, SETTING)}
    counts = [count for count, _ in evidence.of("vela/counted")]
    if "none" in counts:
        why = "a network of no operators was compiled, which shows nothing of the one that is served"
        return {Kind.DEVICE_FALLBACK: Proof(State.UNPROVEN, why, None, SETTING)}
    on_cpu = sum(map(int, counts))
    if 0 < evidence.rules.get(REFUSED.id, 0) < on_cpu:
        why = "fewer operators are named than the summaries count on the CPU"
        return {Kind.DEVICE_FALLBACK: Proof(State.UNPROVEN, why, None, SETTING)}
    why = "each network was compiled to its end, and what is left to the CPU stands above its summary"
    return {Kind.DEVICE_FALLBACK: Proof(State.PROVEN, why, evidence.first("vela/counted"))}


READER = Reader(
    name=NAME,
    rules=(REFUSED, COUNTED),
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="no: each operator is named, and their number",
    seen_in="5.2.0 (run), 3 to 5 (source)",
)
