"""vitis_ai: AMD's Vitis AI compiler (XCompiler) and its ONNX Runtime provider: operators on the CPU.

    [UNILOG][WARNING] xir::Op{name = resnet__conv1, type = conv2d-fix} has been assigned to CPU: [DPU only ...].
    [Vitis AI EP] No. of Operators :   CPU     8    NPU  2356 VITIS_EP_CPU    13

**What falls back.** An operator that the DPU or NPU can't take goes to a subgraph on the CPU.

**At which setting it speaks.** WARNING, by default. `DPU prefers ... it will be assigned to CPU` above it is the
reason of the same event.

**When it is silent.** On operators that no device subgraph could ever take, such as a softmax at the end: the
numbers at the end count them, and name none. With a warm cache nothing is compiled, and no number printed.

**What proves the end.** Nothing, for that reason.

Wording seen in public logs of 1.3 to 3.5 and of Ryzen AI 1.1 to 1.7.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "vitis_ai"


def assigned(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The type of the operator, and its name in the graph as the layer."""
    report = by_groups(rule, record, match)
    yield report._replace(
        names=(match["op"], match["layer"]), site=match["layer"], reason=report.reason or "assigned to CPU"
    )


ON_CPU = Rule(
    id="vitis-ai/assigned-to-cpu",
    compiler=NAME,
    anchor=("xir::Op{name = ",),
    pattern=r"xir::Op\{name = (?P<layer>.{1,400}?), type = (?P<op>[\w-]{1,80})\} (?:has been (?:assigned|allocated) to CPU|is partitioned to CPU)"
    r"(?:[\s.]{0,4}(?:as :|:)\s{0,4}(?P<reason>\S.{0,400}))?",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The DPU or NPU can't take the operator: it runs on the CPU, and the graph is split around it.",
    help="The line, or the one above it, gives the limit of the device that was passed.",
    seen_in="Vitis AI 1.3 to 3.5, Ryzen AI 1.x (public logs), WARNING",
    shared_anchor=True,
    matches=(
        "[UNILOG][WARNING] xir::Op{name = Inception3__Conv2d_conv__input_128, type = conv2d-fix} has been assigned to CPU: [DPU only supports pad_left(1) less than kernel_width(1)].",
        "[UNILOG][WARNING] xir::Op{name = Resnet__MaxPool2d_9252, type = pool-fix} has been allocated to CPU.",
        "2026-05-21 14:00:51.0223682 [W:onnxruntime:, PartitionPass.cpp:12537 PartitionPass.cpp] xir::Op{name = (/bert/encoder/layer.8/attention/self/mha, type = qlinear-mha} is partitioned to CPU as :  doesn't supported by target [AMD_AIE2P_4x8_CMC_Overlay].",
    ),
    ignores=(
        "[UNILOG][WARNING] DPU prefers xir::Op{name = conv1, type = conv2d-fix}'s input batch to be 4, but it's 1 now. So it will be assigned to CPU.",
        "[UNILOG][WARNING] xir::Op{name = conv1, type = conv2d-fix} has been assigned to DPU.",
    ),
    read=assigned,
)

_NUMBER = Pattern(r"(?:^|\s)(?P<unit>[A-Z_]{2,20})\s{1,12}(?P<count>\d{1,9})(?=\s|$)")
_MOST_UNITS = 8


def counted(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The numbers of the units that are a CPU: behind the words, or on lines below, in ONNX Runtime's own log."""
    rest = match["rest"]
    if not rest.strip():
        below = (line.text.rpartition("]")[2] for line in record.following(_MOST_UNITS))
        rest = " ".join(text for text in below if _NUMBER.search(text))
    on_cpu = []
    for _ in range(_MOST_UNITS):
        if not (found := _NUMBER.search(rest)):
            break
        if found["unit"].endswith("CPU") and int(found["count"]):
            on_cpu.append(f"{found['unit']} {found['count']}")
        rest = rest[found.end() :]
    if on_cpu:
        report = by_groups(rule, record, match)
        yield report._replace(hint=True, reason=f"operators on the CPU: {', '.join(on_cpu)}")


COUNTED = Rule(
    id="vitis-ai/operators-on-cpu",
    compiler=NAME,
    anchor=("[Vitis AI EP] No. of Operators :",),
    pattern=r"\[Vitis AI EP\] No\. of Operators :(?P<rest>.{0,300})$",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="So many operators of the model run on the CPU: by the provider's own code (VITIS_EP_CPU), or by ONNX Runtime's (CPU).",
    help="Look for the operators that the compiler left in its report (vitisai_ep_report.json in the cache's folder).",
    seen_in="Ryzen AI 1.1 to 1.7 (public logs and its documentation), where the model is compiled",
    matches=(
        "[Vitis AI EP] No. of Operators :   CPU     8    NPU  2356 VITIS_EP_CPU    13 ",
        "[I:onnxruntime:, stat.cpp:198 stat.cpp] [Vitis AI EP] No. of Operators :\n[I:onnxruntime:, stat.cpp:198 stat.cpp]    NPU   398\n[I:onnxruntime:, stat.cpp:198 stat.cpp] VITIS_EP_CPU     2",
    ),
    ignores=("[Vitis AI EP] No. of Operators : VAIML   490",),
    at_least=True,
    read=counted,
)

_WHOLE = {"100", "100.0", "100.00", "100.000"}


def shared_out(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A share below 100 %, or subgraphs that were dropped; not a line whose share is whole."""
    share, dropped = match["share"], match["errors"] or match["more"]
    if (share and share not in _WHOLE) or (dropped and int(dropped)):
        yield by_groups(rule, record, match)._replace(hint=True, reason=match[0].strip())


SHARE = Rule(
    id="vitis-ai/share-of-vaiml",
    compiler=NAME,
    anchor=("by VAIML: ", "(fall back to CPU)"),
    pattern=r"\bNumber of operators (?:supported|offloaded) by VAIML: \d{1,9} ?\((?P<share>\d{1,3}(?:\.\d{1,4})?)%\)"
    r"|\bNumber of subgraphs (?:with compilation errors|below \d{1,3}% GOPs threshold) \(fall back to CPU\): (?P<errors>\d{1,9})\b"
    r"|\bNumber of subgraphs above max number of subgraphs allowed ?\(\d{1,9}\): (?P<more>\d{1,9}) \(fall back to CPU\)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="The compiler of the NPU takes a part of the operators: the others run on the CPU.",
    help=COUNTED.help,
    seen_in="Ryzen AI 1.5 to 1.7, Vitis AI for Versal AI Edge Gen 2 (public logs and tutorials), where the model is compiled",
    matches=(
        "Number of operators supported by VAIML: 1157 (95.699%)",
        "Number of subgraphs with compilation errors (fall back to CPU): 2",
        "Number of subgraphs above max number of subgraphs allowed(7): 3 (fall back to CPU)",
    ),
    ignores=(
        "Number of operators supported by VAIML: 122 (100.000%)",
        "Number of subgraphs below 20% GOPs threshold (fall back to CPU): 0",
        "GOPs supported by VAIML: 180.261 (99.100%)",
    ),
    at_least=True,
    shared_anchor=True,
    read=shared_out,
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK})
WHY = "operators that no device could take are counted in the subgraphs, and not named"

READER = Reader(
    name=NAME,
    rules=(ON_CPU, COUNTED, SHARE),
    markers=(),
    required=REQUIRED,
    prove=shared.unended(WHY, "", *REQUIRED),
    manual=__doc__,
    silent="partly: operators that no device could take are only counted",
    seen_in="Vitis AI 1.3 to 3.5, Ryzen AI 1.1 to 1.7 (public logs)",
)
