r"""mlx: Apple's MLX under SGLang, and ExecuTorch's partitioners for MLX and MPS.

    AOT Metal RoPE kernel not available (no metallib) - falling back to mx.fast.rope.
    [INFO 2026-01-01 00:00:00,000 partitioner.py:223]   [UNSUPPORTED x3] aten.topk.default
    [WARNING 2026-01-01 00:00:00,000 partitioner.py:304] MLX: Nothing can be partitioned!

**What falls back.** `mlx`: a fused Metal kernel to MLX's own operator; what the GPU lacks is an exception. `executorch.mlx`: operators that the
delegate lacks, to the portable CPU kernels. `executorch.mps` (up to 1.4, and any partitioner that says no
more than `Nothing can be partitioned!`): the whole graph.

**At which setting it speaks.** By default; ExecuTorch's MLX partitioner has a handler of its own for INFO.

**When it is silent.** MLX's `fast` operators compose themselves of others where their kernel does not fit the
shape, without a line: no log shows it. The MPS partitioner says nothing of a graph that it takes in part.

**What proves the end.** Nothing: the summary of the MLX partitioner is whole, but no line shows that the
lowering ended.

Wording seen in SGLang 0.5.23 and ExecuTorch 0.4 to 1.5 (source).
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Marker, Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import BEHIND, Pattern
from fallback_gate.scan.record import Record

MLX, MLX_PARTITIONER, MPS_PARTITIONER = "mlx", "executorch.mlx", "executorch.mps"
_REASON = Pattern(r"\]\s{1,12}Reason: (?P<reason>.*\S)")


def known_kernel(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator that MLX uses in place of the kernel names both."""
    report = by_groups(rule, record, match)
    yield report._replace(names=tuple(dict.fromkeys((report.op, match["op"].lower(), match["instead"]))))


def with_reason(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The reason is on the next line."""
    report = by_groups(rule, record, match)
    below = next(record.following(1), None)
    reason = _REASON.search(below.text) if below else None
    yield report._replace(reason=reason["reason"] if reason else None)


NO_KERNEL = Rule(
    id="mlx/no-metal-kernel",
    compiler=MLX,
    anchor=("AOT Metal ",),
    pattern=r"AOT Metal (?P<op>\w{1,60}) kernel not available \((?P<reason>.{0,300})\) - falling back to (?P<instead>mx(?:\.\w{1,40}){1,4})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The kernel that was compiled ahead of time is missing: MLX's own operator is used.",
    help="Build the Metal library for this system, and install it with the package.",
    seen_in="SGLang 0.5.23 (source), INFO",
    matches=("AOT Metal RoPE kernel not available (no metallib) - falling back to mx.fast.rope.",),
    ignores=("AOT Metal RoPE kernel loaded",),
    read=known_kernel,
)
NO_GPU_OPERATOR = Rule(
    id="mlx/no-gpu-operator",
    compiler=MLX,
    anchor=(" This op is not yet supported on the GPU. Explicitly pass a CPU stream",),
    pattern=r"Error: \[(?P<op>\w{1,40}(?:::\w{1,40}){0,3})\] (?P<reason>This op is not yet supported on the GPU)\. Explicitly pass a CPU stream",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="MLX has the operator for the CPU only: the program ended, or went on without it.",
    help="Pass stream=mx.cpu to this operator, knowing that it then runs on the CPU, or replace it.",
    seen_in="0.32 (its library), an exception",
    matches=(
        "ValueError: [linalg::qr] This op is not yet supported on the GPU. Explicitly pass a CPU stream to run it.",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op=(op := match["op"].replace("::", ".")), names=tuple(dict.fromkeys((op, match["op"])))
        ),
    ),
)
NO_GPU = Rule(
    id="mlx/no-gpu",
    compiler=MLX,
    anchor=(" gpu device without gpu backend", " gpu stream without gpu backend"),
    pattern=r"Error: \[\w{1,40}\] (?P<reason>Cannot [sg]et (?P<op>gpu) (?:device|stream) without gpu backend)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="This build of MLX has no GPU: the program that asks for one ended, or went on with the CPU.",
    help="Install MLX for this machine (mlx on a Mac, mlx with its CUDA part on Linux).",
    seen_in="0.32 on Linux (run), an exception",
    matches=(
        "ValueError: [set_default_device] Cannot set gpu device without gpu backend.",
        "ValueError: [default_stream] Cannot get gpu stream without gpu backend.",
    ),
)
NOT_DELEGATED = Rule(
    id="executorch-mlx/not-delegated",
    compiler=MLX_PARTITIONER,
    anchor=("[UNSUPPORTED x",),
    pattern=r"partitioner\.py:\d{1,6}\]\s{1,8}\[UNSUPPORTED x\d{1,9}\] (?P<op>[\w.:]{1,200})" + BEHIND,
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The MLX delegate has no handler for the operator: it runs on ExecuTorch's portable CPU kernel.",
    help="Rewrite the operator with ones that the delegate has; the line below gives the reason.",
    seen_in="1.1 to 1.5 (source), INFO",
    matches=("[INFO 2026-01-01 00:00:00,000 partitioner.py:223]   [UNSUPPORTED x3] aten.topk.default",),
    ignores=(
        "[INFO 2026-01-01 00:00:00,000 partitioner.py:223]   [UNSUPPORTED x3] <built-in function getitem>",
    ),
    read=with_reason,
)
NO_MLX_GRAPH = Rule(
    id="executorch-mlx/nothing-partitioned",
    compiler=MLX_PARTITIONER,
    anchor=("Nothing can be partitioned!",),
    pattern=r"(?P<reason>MLX: Nothing can be partitioned!)" + BEHIND,
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="The partitioner took no operator: the whole graph stays on the portable CPU kernels.",
    help="The summary above the line names what the delegate lacks.",
    seen_in="1.1 to 1.5 (source), WARNING",
    matches=("[WARNING 2026-01-01 00:00:00,000 partitioner.py:304] MLX: Nothing can be partitioned!",),
    ignores=("[INFO 2026-01-01 00:00:00,000 partitioner.py:306] MLX: Found 3 subgraphs to be partitioned.",),
)
NOTHING = Rule(
    id="executorch-mps/nothing-partitioned",
    compiler=MPS_PARTITIONER,
    anchor=("Nothing can be partitioned!",),
    pattern=r"(?:^|\] ?|WARNING:[\w.]{1,80}: ?)(?P<reason>Nothing can be partitioned!)" + BEHIND,
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning=NO_MLX_GRAPH.meaning,
    help="Log at DEBUG to see which operators were refused, or check that the partitioner fits the model's types.",
    seen_in="0.4 to 1.4 (source), WARNING",
    matches=("[WARNING] Nothing can be partitioned!", "WARNING:root:Nothing can be partitioned!"),
    ignores=("Found 3 subgraphs to be partitioned.", "he said: Nothing can be partitioned! And left."),
)
SUMMARY = Marker(
    id="executorch-mlx/summary",
    compiler=MLX_PARTITIONER,
    anchor=("MLX Partitioner: UNSUPPORTED OPS SUMMARY",),
    pattern=r"partitioner\.py:\d{1,6}\] MLX Partitioner: UNSUPPORTED OPS SUMMARY",
    shows="The partitioner lists what it does not take.",
    seen_in=NOT_DELEGATED.seen_in,
    matches=("[INFO 2026-01-01 00:00:00,000 partitioner.py:219] MLX Partitioner: UNSUPPORTED OPS SUMMARY",),
)
_SILENT = "MLX says nothing where a fused operator composes itself of others"
_OPEN = "no line shows that the lowering came to its end"
_ONE_GRAPH = "the warning is about one graph, and nothing shows that another one was delegated"
_SETTING = "a marker in the policy for the end of the lowering"
MLX_MANUAL = """mlx: Apple's MLX: operators and GPUs that it lacks, and under SGLang fused Metal kernels that are missing.

    AOT Metal RoPE kernel not available (no metallib) - falling back to mx.fast.rope.
    ValueError: [linalg::qr] This op is not yet supported on the GPU. Explicitly pass a CPU stream to run it.

**What falls back.** MLX's own operator runs in place of a fused Metal kernel that was compiled ahead of time. An operator
for which the GPU has no kernel, or a GPU that this build lacks, is an exception.

**At which setting it speaks.** By default.

**When it is silent.** MLX's `fast` operators compose themselves of others where their kernel does not fit the
shape, without a line: no log shows it.

**What proves the end.** Nothing: no line says which kernel a call takes.

Seen in MLX 0.32 for Linux without a GPU (run), wording from SGLang 0.5.23 (source).
"""
MLX_PARTITIONER_MANUAL = """executorch.mlx: ExecuTorch's partitioner for Apple's MLX.

    [INFO 2026-01-01 00:00:00,000 partitioner.py:223]   [UNSUPPORTED x3] aten.topk.default
    [WARNING 2026-01-01 00:00:00,000 partitioner.py:304] MLX: Nothing can be partitioned!

**What falls back.** Operators that the delegate lacks run on ExecuTorch's portable CPU kernels; where nothing can
be partitioned, the whole graph does.

**At which setting it speaks.** By default: the partitioner has a handler of its own for INFO.

**When it is silent.** With a program that takes that handler away, or raises its level.

**What proves the end.** Nothing: the summary is whole, but no line shows that the lowering ended.

Wording seen in ExecuTorch 1.1 to 1.5 (source).
"""
MPS_PARTITIONER_MANUAL = """executorch.mps: ExecuTorch's partitioner for Apple's Metal Performance Shaders.

    [WARNING] Nothing can be partitioned!

**What falls back.** The whole graph stays on ExecuTorch's portable CPU kernels. Any partitioner that says no more
than this line is read as this one.

**At which setting it speaks.** By default: a warning.

**When it is silent.** The partitioner says nothing of a graph that it takes in part.

**What proves the end.** Nothing: the warning is about one graph, and no line shows that another one was delegated.

Wording seen in ExecuTorch 0.4 to 1.4 (source).
"""
READERS = (
    Reader(
        name=MLX,
        rules=(NO_KERNEL, NO_GPU_OPERATOR, NO_GPU),
        markers=(),
        required=frozenset({Kind.OP_FALLBACK, Kind.COMPILE_ERROR}),
        prove=shared.unended(_SILENT, "", Kind.OP_FALLBACK, Kind.COMPILE_ERROR),
        manual=MLX_MANUAL,
        silent="partly: a missing Metal kernel is told, a fused operator made of others is not",
        seen_in="MLX 0.32 without a GPU (run), SGLang 0.5.23 (source)",
    ),
    Reader(
        name=MLX_PARTITIONER,
        rules=(NOT_DELEGATED, NO_MLX_GRAPH),
        markers=(SUMMARY,),
        required=frozenset({Kind.OP_FALLBACK, Kind.EAGER_FRAME}),
        prove=shared.unended(_OPEN, _SETTING, Kind.OP_FALLBACK, Kind.EAGER_FRAME),
        setting=_SETTING,
        manual=MLX_PARTITIONER_MANUAL,
        silent="no: the partitioner's logger is at INFO",
        seen_in="ExecuTorch 1.1 to 1.5 (source)",
    ),
    Reader(
        name=MPS_PARTITIONER,
        rules=(NOTHING,),
        markers=(),
        required=frozenset({Kind.EAGER_FRAME}),
        prove=shared.unended(_ONE_GRAPH, _SETTING, Kind.EAGER_FRAME),
        setting=_SETTING,
        manual=MPS_PARTITIONER_MANUAL,
        silent="partly: only a graph without any partition is warned of",
        seen_in="ExecuTorch 0.4 to 1.4 (source)",
    ),
)
