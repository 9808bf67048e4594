r"""torch.xla: PyTorch/XLA on TPU and other devices: operators that are not lowered and run on the CPU.

    Counter: aten::_local_scalar_dense
      Value: 12

**What falls back.** A counter in the namespace of the operator (`aten::`, `torchvision::`) counts calls on the
CPU: the graph is cut, executed, the tensors copied. Counters `xla::` are operators that were lowered.

**At which setting it speaks.** Only where the program prints `torch_xla.debug.metrics.metrics_report()`, best at
its end; and with `PT_XLA_DEBUG=1`, which prints an analysis.

**When it is silent.** By default. `CompileTime too frequent` of the analysis tells of recompiles, and its
causes `mark_step` and `torch_xla.compile` of the ends of steps: neither is a fallback.

**What proves the end.** A whole report at the end of the log: it has the metric CompileTime, and a line that is
none of its own behind its last counter (`print` gives an empty one), since the `aten::` counters come last.
Up to 2.0 they stand before those of lowered operators. A report before the end speaks only for what ran until then.

Wording seen in 2.9 (run), in the source of 2.x and in public threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers import ending, shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "torch.xla"
SEEN = "PyTorch/XLA 2.9 (run), 2.x (source)"
SETTING = "print(torch_xla.debug.metrics.metrics_report()) at the end of the program"

LONGEST = 5000  # lines of one report
FEW = 20  # lines that a program may print after its report, as it ends

_LINES = (
    "Metric: ",
    "Counter: ",
    "TotalSamples: ",
    "Accumulator: ",
    "ValueRate: ",
    "Rate: ",
    "Percentiles: ",
    "Value: ",
)
_REPORT = Pattern(
    r"(?:^|\s)(?:Metric: |Counter: |\s(?:TotalSamples|Accumulator|ValueRate|Rate|Percentiles|Value): )"
)
_NAMED = r"(?:^|\W)Metric: (?P<name>\w+)"
_METRIC = Pattern(_NAMED)
_COUNT = Pattern(r"\sValue: ")  # ends a counter, as a report ends
_COMPILE_TIME = Pattern(r"(?:^|\s)Metric: CompileTime\s*$")
_VALUE = Pattern(r"(?:^|\s)Value: (?P<count>\d{1,15})\s*$")


def counted(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A counter of an operator that is not lowered. Its value is on the report's next line; one that is lost,
    as where another process writes in between, is some value."""
    said = (line.text for line in record.following(FEW) if _REPORT.search(line.text))
    value = _VALUE.search(next(said, ""))
    if value is None:
        yield by_groups(rule, record, match)
    elif int(value["count"]):
        yield by_groups(rule, record, match)._replace(reason=f"{value['count']} calls on the CPU")


COUNTER = Rule(
    id="torch-xla/not-lowered-counter",
    compiler=NAME,
    anchor=("Counter: ",),
    pattern=r"(?:^|\s)Counter: (?P<op>(?!xla::)[a-z_]\w{0,60}::\w[\w.]{0,120})\s*$",
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The operator has no lowering: the graph is cut, and the operator computed on the CPU at each call.",
    help="Replace the operator, or keep it out of the step; .item() and print of a tensor count as well.",
    seen_in=f"{SEEN}, metrics_report()",
    matches=(
        "Counter: aten::_local_scalar_dense\n  Value: 12",
        "Counter: torchvision::nms\nepoch 3 done\n  Value: 3",
        "Counter: aten::sort\nCounter: aten::topk",
    ),
    ignores=(
        "Counter: xla::_to_cpu",
        "Counter: CreateXlaTensor",
        "Counter: aten::sort\n  Value: 0",
        "Counter: aten::a b",
    ),
    read=counted,
)

ANALYSIS = Rule(
    id="torch-xla/not-lowered",
    compiler=NAME,
    anchor=("pt-xla-profiler: Op(s) not lowered: ", "Dynamo fallback ops are"),
    pattern=r"(?:pt-xla-profiler: Op\(s\) not lowered: |Dynamo fallback ops are)(?P<ops>.{1,8000}?)[.,]?\s{1,4}Please open a GitHub issue",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=COUNTER.meaning,
    help=COUNTER.help,
    seen_in=f"{SEEN}, PT_XLA_DEBUG=1 or XLA_DYNAMO_DEBUG=1",
    matches=(
        "Dynamo fallback ops are[aten.sort.default]. Please open a GitHub issue with the above op lowering requests.",
        "pt-xla-profiler: Op(s) not lowered: aten::_ctc_loss, aten::_ctc_loss_backward,  Please open a GitHub issue with the above op lowering requests.",
    ),
    ignores=("pt-xla-profiler: CompileTime too frequent: 21 counts during 11 steps",),
    read=shared.listed,
)

GRU = Rule(
    id="torch-xla/scan-gru",
    compiler=NAME,
    anchor=("Scan-based GRU falls back to",),
    pattern=r"(?:(?P<reason>Scan-based GRU only supports [^.]{1,80})\..{0,80})?Scan-based GRU falls back to the default nn\.GRU",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="PyTorch's own GRU is traced step by step, which gives a graph that grows with the sequence.",
    help="Use the options that the scan-based GRU supports; the line names the one in the way.",
    seen_in=f"{SEEN}, WARNING",
    matches=(
        "Scan-based GRU only supports unidirectional GRU. (bidirectional = False) Scan-based GRU falls back to the default nn.GRU implementation instead.",
    ),
    read=shared.called("GRU", "nn.GRU"),
)

QUANTISED = Rule(
    id="torch-xla/quantized-matmul",
    compiler=NAME,
    anchor=("falling back to XLA quantized matmul kernel",),
    pattern=r"(?P<reason>Couldn't find w8a8 quantized matmul kernel block sizes) for (?P<site>bs=\d{1,9}, .{1,200}?), falling back to XLA quantized matmul kernel",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The table of Pallas' kernel has no block sizes for this shape: XLA's own product is used.",
    help="Pad the batch to a size of the table, or tune the kernel for the shape.",
    seen_in="2.8 and 2.9 (source of 2.9), WARNING",
    matches=(
        "Couldn't find w8a8 quantized matmul kernel block sizes for bs=17, n_out_features=1280, n_in_features=8192, jnp.dtype(jax_dtype).name='bfloat16', quantize_activation=True, falling back to XLA quantized matmul kernel.",
    ),
    read=shared.called("quantized_matmul", "quantized_matmul_int8"),
)

_FRAME = Pattern(r" Analysis: {1,4}(?P<op>[\w<>]{1,120}) \((?P<site>.{1,300}:\d{1,9})\)\s*$")


def asked_for(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The function that asked for a value: the first frame below the message."""
    report = by_groups(rule, record, match)
    frames = (_FRAME.search(line.text) for line in record.following(FEW))
    if frame := next(filter(None, frames), None):
        report = report._replace(op=frame["op"], names=(frame["op"],), site=frame["site"])
    yield report


VALUE = Rule(
    id="torch-xla/value-in-step",
    compiler=NAME,
    anchor=("most likely user code trying to access tensor value before",),
    pattern=r"(?:Compilation|Execution) Analysis: {1,4}(?P<reason>most likely user code trying to access tensor value before \S{1,40})\s*$",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.SITE,
    meaning="The program asks for a value within a step: the graph ends there, runs, and another one begins.",
    help="Move the access (item, print, if on a tensor, asynchronous copies) behind the step, or keep it on the device.",
    seen_in="2.2 to 2.9 (source and public threads), PT_XLA_DEBUG=1, for executions of a known graph level 2",
    matches=(
        "Compilation Analysis:   most likely user code trying to access tensor value before mark_step\nCompilation Analysis: Graph Info: \nCompilation Analysis:   Graph Hash: 0123456789abcdef0123456789abcdef\nCompilation Analysis: Python Frame Triggered Execution: \nCompilation Analysis:   rotate (/app/gate.py:196)\nCompilation Analysis:   forward (/app/gate.py:205)",
        "Execution Analysis:   most likely user code trying to access tensor value before torch_xla.sync",
    ),
    ignores=(
        "Execution Analysis:   mark_step in parallel loader at step end",
        "Compilation Analysis:   user mark_step",
        "it is most likely user code trying to access tensor value before mark_step",
    ),
    read=asked_for,
)

ON_CPU = Rule(
    id="torch-xla/pjrt-cpu",
    compiler=NAME,
    anchor=("Defaulting to PJRT_DEVICE=CPU",),
    pattern=r"(?P<reason>Defaulting to PJRT_DEVICE=CPU)\s*$",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="No accelerator was found or named: the whole program runs on the CPU.",
    help="Set PJRT_DEVICE=TPU (or CUDA), and look for why the device was not found.",
    seen_in=f"{SEEN}, WARNING",
    matches=("WARNING:root:Defaulting to PJRT_DEVICE=CPU",),
    ignores=("Defaulting to PJRT_DEVICE=CPU is what happens without a TPU",),
)


def _is_torn(text: str) -> bool:
    """Whether it may be the first letters of a line of the report: the log ends within it, say."""
    return text != "" and any(line.startswith(text.strip(" \t|+")) for line in _LINES)


def report_end(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Whether the report is whole, each value below its counter, and whether the program ended after it."""
    closed, inside, after, broke, last, lost = False, True, 0, False, record.text, False
    for line in record.following(LONGEST):
        if _COMPILE_TIME.search(line.text):
            closed = broke = True
            break
        if _REPORT.search(line.text) or (inside and _is_torn(line.text)):
            inside, closed = True, "Counter: xla::" in line.text or (inside and closed)
            lost = lost or (_VALUE.search(line.text) is not None and "Counter: " not in last)
            last = line.text
            continue
        inside, closed = False, _COUNT.search(last) is not None
        after += bool(line.text.strip())
        broke = broke or ending.breaks_off(line.text)
        if after > FEW:
            break
    state = "cut" if lost or not closed else "ended" if after <= FEW and not broke else "went on"
    yield Sighting(marker.id, record.position, (state,))


REPORT = Marker(
    id="torch-xla/metrics-report",
    compiler=NAME,
    anchor=("Metric: CompileTime",),
    pattern=r"(?:^|\s)Metric: CompileTime\s*$",
    shows="A metrics report was printed: whole and at the end, whole and before the end, or cut.",
    seen_in=SEEN,
    matches=("Metric: CompileTime",),
    ignores=("Metric: ExecuteTime", "the Metric: CompileTime is high"),
    read=report_end,
)


def begun_again(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """A metric comes twice before a counter and an empty line end the report: its process ended in the middle of it,
    and another one began."""
    first = any("TotalSamples: " in line.text for line in record.following(1))
    if not first or any(_REPORT.search(line.text) for line in record.preceding(1)):
        return
    seen, last = {match["name"]}, record.text
    for line in record.following(LONGEST):
        if not any(map(str.isalnum, line.text)) and _COUNT.search(last) and "CompileTime" in seen:
            return
        if metric := _METRIC.search(line.text):
            if metric["name"] in seen:
                yield Sighting(marker.id, record.position)
                return
            seen.add(metric["name"])
        last = line.text


BEGUN_AGAIN = Marker(
    id="torch-xla/report-begun-again",
    compiler=NAME,
    anchor=("Metric: ",),
    pattern=_NAMED,
    shows="A metrics report begins where the one before it has not ended.",
    seen_in=SEEN,
    matches=("Metric: DeviceLockWait\n  TotalSamples: 4\nMetric: DeviceLockWait",),
    ignores=("the Metrics: CompileTime is high", "Metric: accuracy\nMetric: accuracy"),
    read=begun_again,
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK})


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """A whole metrics report at the end lists every operator that ran on the CPU; other kinds have no end."""
    said = evidence.of(REPORT.id)
    if evidence.of(BEGUN_AGAIN.id):
        why = "a metrics report is cut, and another one begins behind it"
        shown = Proof(State.UNPROVEN, why, None, SETTING)
    elif ("ended",) in said:
        why = "a metrics report ends the log: an operator that is not lowered would have a counter in it"
        shown = Proof(State.PROVEN, why, evidence.facts[REPORT.id]["ended",])
    elif ("went on",) in said:
        why = "the program went on after its metrics report, or broke off"
        shown = Proof(State.UNPROVEN, why, None, SETTING)
    elif said:
        shown = Proof(State.UNPROVEN, "the metrics report is not whole", None, SETTING)
    else:
        shown = Proof(State.UNOBSERVABLE, "no metrics report is printed", None, SETTING)
    ended = Proof(State.UNPROVEN, "no line shows that the program was compiled to its end", None, SETTING)
    others = dict.fromkeys((Kind.GRAPH_BREAK, Kind.OP_FALLBACK, Kind.SLOWER_KERNEL), ended)
    return {Kind.DEVICE_FALLBACK: shown, **others}


READER = Reader(
    name=NAME,
    rules=(COUNTER, ANALYSIS, GRU, QUANTISED, VALUE, ON_CPU),
    markers=(REPORT, BEGUN_AGAIN),
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="yes",
    seen_in=SEEN,
)
