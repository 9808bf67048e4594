r"""tflite: TensorFlow Lite and LiteRT: what a delegate (GPU, NNAPI, Arm NN, ...) leaves to the CPU.

    ERROR: Following operations are not supported by GPU delegate:
    GATHER_ND: Operation is not supported.
    90 operations will run on the GPU, and the remaining 30 operations will run on the CPU.

**What falls back.** An operator that the delegate refuses runs on the CPU (mostly by XNNPACK, else by plain kernels),
and the graph is split around it. Where applying the delegate fails, or its library is not there, the whole model runs
on the CPU. A model with an operator that the interpreter lacks can't be run at all.

**At which setting it speaks.** The GPU delegate lists each operator and reason at ERROR, on by default, once for each
pair, not for each node. NNAPI and Arm NN warn for each operator, NNAPI in builds that validate verbosely. `Replacing
a out of b node(s)` is printed by default on Android, elsewhere at VERBOSE; Hexagon and other delegates tell `a nodes
delegated out of b nodes` at INFO. In LiteRT 2 a plugin that compiles for an NPU says at INFO how many operators of a
subgraph it takes, and Qualcomm's names the others at ERROR; ML Drift lists what it refuses at INFO. `Failed to apply
compiler plugins` is no event: earlier versions print it for a model that was never meant for an NPU, too.

**When it is silent.** Other delegates mostly tell the share alone: an event then names no operator. `Created
TensorFlow Lite delegate` tells that the delegate is there, not that it took a node. XNNPACK is the CPU: its share
counts only where no other delegate is at work.

**What proves the end.** The benchmark tool, which loads one model and looks at its graph: `will be completely
executed by the delegate`, or `partially` and a GPU list that is whole. An application may load more models, and
NNAPI may compute on the CPU itself.

Wording seen in 2.14 and LiteRT 1.2 (run), in the source of LiteRT 1 to 2.3 and TensorFlow 1.15 to 2.21, and in
public threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.edge import litert, tflite_delegates
from fallback_gate.compilers.edge.tflite_gpu import GPU, GPU_CODE, GPU_LIST, GPU_SPLIT, NAME, SEEN
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import BEFORE, BEHIND
from fallback_gate.scan.record import Record

SETTING = "benchmark_model --graph=MODEL with the same delegate"

_XNNPACK = "xnnpack"


def failed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Not where the Edge TPU's compiler tries its delegate, which says on the next line that it failed."""
    below = next((line.text for line in record.following(1)), "")
    if not below.startswith("Compilation failed"):
        yield by_groups(rule, record, match)


FAILED = Rule(
    id="tflite/delegate-failed",
    compiler=NAME,
    anchor=("Restored original execution plan after", "Failed to apply "),
    pattern=r"(?P<reason>Restored original execution plan after delegate application failure"
    r"|Failed to apply (?:delegate: (?!Following |Next |\s*$).{1,200}|\w{1,40} delegate\.))",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="Applying the delegate failed: the whole model runs on the CPU.",
    help="The ERROR lines above it tell which node or driver failed.",
    seen_in=SEEN,
    shared_anchor=True,
    matches=(
        "ERROR: Restored original execution plan after delegate application failure.",
        "Failed to apply Hexagon delegate.",
        "java.lang.IllegalArgumentException: Internal error: Failed to apply delegate: GpuDelegate Prepare: Node is already a consumer of the value",
    ),
    ignores=(
        "Failed to apply the patch.",
        "ERROR: Restored original execution plan after delegate application failure.\nCompilation failed: Compilation failed due to large activation tensors in model.",
    ),
    read=failed,
)
OPENGL = Rule(
    id="tflite/opengl",
    compiler=NAME,
    anchor=("Falling back to OpenGL",),
    pattern=rf"^{BEFORE}(?:[WE]/tflite: |[WE] tflite *: |ERROR: )?(?P<reason>Falling back to OpenGL){BEHIND}",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="OpenCL did not take the model: the GPU delegate runs it by OpenGL, which is slower.",
    help="The ERROR above it tells what OpenCL lacks.",
    seen_in=SEEN,
    matches=("ERROR: Falling back to OpenGL",),
    ignores=("renderer: Falling back to OpenGL 3.3",),
)


def unprepared(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator; not a delegate's own node, whose failure has a line of its own."""
    if "Delegate" in match["op"]:
        return
    names = tuple(dict.fromkeys((match["op"], match["op"].removeprefix("Flex"))))
    yield by_groups(rule, record, match)._replace(op=names[0], names=names, site=match["node"])


NOT_PREPARED = Rule(
    id="tflite/not-prepared",
    compiler=NAME,
    anchor=(") failed to prepare",),
    pattern=r"(?P<reason>Node number (?P<node>\d{1,9}) \((?P<op>\w[\w:.]{0,120})\) failed to prepare)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The interpreter has no kernel for the operator as it is: the model can't be run, and the program ended or went on without it.",
    help="Link the Flex delegate for an operator of TensorFlow (FlexX), register the custom operator, or convert the model without it.",
    seen_in="TensorFlow Lite 2.14 and LiteRT 1.2 (run), an exception",
    matches=(
        "See instructions: https://www.tensorflow.org/lite/guide/ops_custom Node number 1 (Erfinv) failed to prepare.",
        "not ready: Select TensorFlow op(s), included in the given model, is(are) not supported by this interpreter. Make sure you apply/link the Flex delegate before inference. See instructions: https://www.tensorflow.org/lite/guide/ops_selectNode number 2 (FlexMatrixInverse) failed to prepare.",
    ),
    ignores=(
        "ERROR: Node number 31 (TfLiteGpuDelegateV2) failed to prepare.",
        "Node number 4 (ADD) failed to invoke.",
    ),
    read=unprepared,
)

NOT_FULLY = Rule(
    id="tflite/not-fully-delegated",
    compiler=NAME,
    anchor=("but the graph is not fully delegated", "Model is not fully delegated by "),
    pattern=r"(?P<reason>Hint fully delegated to single delegate is set, but the graph is not fully delegated|Model is not fully delegated by \d{1,9} backend)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The program asks for a model that one delegate takes whole, and it does not.",
    help="The lines above it, or the benchmark tool, show what the delegate left.",
    seen_in="TensorFlow Lite 2.21 (its binary)",
    matches=(
        "ERROR: Hint fully delegated to single delegate is set, but the graph is not fully delegated.",
        "ERROR: Model is not fully delegated by 1 backend.",
    ),
    at_least=True,
)


def replaced(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The share that a delegate took; what Flex takes is told by the converter.

    The old form does not tell how many nodes there are: one partition is all of them, more are not.
    """
    delegate = (match["delegate"] or match["name"]).casefold().removeprefix("tflite")
    part = match["part"] or match["taken"]
    whole = match["all"] or match["of"] or str(int(part) + (match["partitions"] != "1"))
    if not delegate.startswith("flex"):
        on_cpu = "cpu" if delegate.startswith(_XNNPACK) else ""
        yield Sighting(marker.id, record.position, (match[0], part, whole, on_cpu))


def applied(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """What the benchmark says of a delegate; XNNPACK is the CPU."""
    if not (match["one"] or match["other"]).casefold().startswith(_XNNPACK):
        delegate = match["one"] or match["other"]
        yield Sighting(marker.id, record.position, (match[0], match["how"], delegate))


CREATED = Marker(
    id="tflite/delegate-created",
    compiler=NAME,
    anchor=("Created TensorFlow Lite ",),
    pattern=r"Created TensorFlow Lite (?P<delegate>(?:XNNPACK )?delegate for (?:GPU|NNAPI|Metal|CPU)\b)",
    shows="A delegate was made, which need not have taken a node.",
    seen_in=SEEN,
    matches=(
        "INFO: Created TensorFlow Lite delegate for GPU.",
        "INFO: Created TensorFlow Lite XNNPACK delegate for CPU.",
    ),
    ignores=("INFO: Created TensorFlow Lite delegate for select TF ops.",),
)
REPLACED = Marker(
    id="tflite/replaced-nodes",
    compiler=NAME,
    anchor=("node(s) with delegate (", " nodes delegated out of "),
    pattern=r"Replacing (?P<part>\d{1,9})(?: out of (?P<all>\d{1,9}))? node\(s\) with delegate \((?P<delegate>[^)]{1,80})\) node, yielding (?P<partitions>\d{1,9}) partitions"
    r"|(?P<name>\w{2,60}) delegate: (?P<taken>\d{1,9}) nodes delegated out of (?P<of>\d{1,9}) nodes",
    shows="How many nodes of a subgraph the delegate took.",
    seen_in=SEEN,
    matches=(
        "VERBOSE: Replacing 90 out of 120 node(s) with delegate (TfLiteGpuDelegateV2) node, yielding 14 partitions for subgraph 0 (main).",
        "VERBOSE: Replacing 136 node(s) with delegate (TfLiteHexagonDelegate) node, yielding 5 partitions.",
        "INFO: TfLiteHexagonDelegate delegate: 136 nodes delegated out of 139 nodes with 2 partitions.",
        "I/tflite: Hexagon delegate: 95 nodes delegated out of 96 nodes.",
    ),
    read=replaced,
)
BENCHMARK = Marker(
    id="tflite/benchmark",
    compiler=NAME,
    anchor=("executed by the delegate",),
    pattern=r"(?:Explicitly applied (?P<one>\w{1,60}) delegate, and|Though (?P<other>\w{1,60}) delegate is explicitly applied,) the model graph will (?P<how>be completely|be partially|not be) executed by the delegate",
    shows="How much of the one model of the benchmark tool the delegate executes.",
    seen_in=SEEN,
    matches=(
        "INFO: Explicitly applied GPU delegate, and the model graph will be partially executed by the delegate w/ 2 delegate kernels.",
        "INFO: Explicitly applied NNAPI delegate, and the model graph will be completely executed by the delegate.",
    ),
    read=applied,
)

BEGUN = Marker(
    id="tflite/benchmark-begun",
    compiler=NAME,
    anchor=("Log parameter values verbosely: [",),
    pattern=r"Log parameter values verbosely: \[\d\]",
    shows="The benchmark tool began.",
    seen_in=SEEN,
    matches=("INFO: Log parameter values verbosely: [0]",),
)

REQUIRED = frozenset({Kind.OP_FALLBACK, Kind.DEVICE_FALLBACK})
_TOLD = (
    GPU.id, GPU_CODE.id, GPU_SPLIT.id, *(rule.id for rule in tflite_delegates.TELLING), FAILED.id, NOT_FULLY.id, *litert.NAMES_WHAT_IS_LEFT,
)  # fmt: skip


def unnamed(evidence: Evidence) -> Iterable[Report]:
    """The share that a delegate did not take, where no line names an operator."""
    if any(rule in evidence.rules for rule in _TOLD):
        return
    shares = evidence.facts.get(REPLACED.id, {})
    beside = any(not on_cpu for _, _, _, on_cpu in shares)  # XNNPACK then takes what the other one left
    partial = [
        (position, text)
        for (text, part, whole, on_cpu), position in shares.items()
        if int(part) < int(whole) and not (on_cpu and beside)
    ] or [
        (position, text)
        for (text, how, _), position in evidence.facts.get(BENCHMARK.id, {}).items()
        if how != "be completely"
    ]
    partial += [
        (position, text)
        for (text, part, whole), position in evidence.facts.get(litert.SELECTED.id, {}).items()
        if int(part) < int(whole)
    ]
    for position, text in sorted(partial):
        help = "Print the interpreter's execution plan, or take the delegate's verbose log, to see which nodes are left."
        yield shared.partly("tflite/partly-delegated", NAME, Kind.OP_FALLBACK, position, text, help)


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """The benchmark tool looked at its one model's graph, and what is left is named."""
    said = {how for _, how, _ in evidence.of(BENCHMARK.id)}
    through = any(delegate == "NNAPI" for _, _, delegate in evidence.of(BENCHMARK.id))
    begun, lists = evidence.counts.get(BEGUN.id, 0), evidence.of(GPU_LIST.id)
    if Kind.COMPILE_ERROR in evidence.reported:
        why = "a model could not be run, and nothing shows that it was after all"
        shown = Proof(State.UNPROVEN, why, None, SETTING)
        return dict.fromkeys((*REQUIRED, Kind.SLOWER_KERNEL, Kind.COMPILE_ERROR), shown)
    if through or begun not in (0, evidence.counts.get(BENCHMARK.id, 0)):
        why = "NNAPI may compute on the CPU itself" if through else "a run of the benchmark tool is cut"
        shown = Proof(State.UNPROVEN, why, None, SETTING)
    elif said == {"be completely"} or (said == {"be partially"} and lists == {("whole",)}):
        why = "the benchmark tool looked at the graph of its one model, and what the delegate left is named"
        shown = Proof(State.PROVEN, why, evidence.first(BENCHMARK.id))
    else:
        why = "no line shows that each model of this process was loaded, and what its delegate left"
        shown = Proof(State.UNPROVEN, why, None, SETTING)
    return dict.fromkeys((*REQUIRED, Kind.SLOWER_KERNEL, Kind.COMPILE_ERROR), shown)


READER = Reader(
    name=NAME,
    rules=(
        GPU,
        GPU_CODE,
        GPU_SPLIT,
        *tflite_delegates.RULES,
        FAILED,
        OPENGL,
        NOT_PREPARED,
        NOT_FULLY,
        *litert.RULES,
    ),
    markers=(CREATED, REPLACED, GPU_LIST, BENCHMARK, BEGUN, litert.SELECTED),
    required=REQUIRED,
    prove=prove,
    conclude=unnamed,
    setting=SETTING,
    manual=__doc__,
    silent="partly: the GPU delegate lists operators, others tell a share or nothing",
    seen_in="TensorFlow Lite 1.13 to 2.21, LiteRT to 2.3 (source and public threads)",
)
