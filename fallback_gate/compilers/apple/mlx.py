"""mlx: Apple's MLX: operators and GPUs that it lacks, and under SGLang fused Metal kernels that are missing.

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

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

NAME = "mlx"


def known_kernel(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator that MLX uses in place of the kernel names both."""
    report = by_groups(rule, record, match)
    yield report._replace(names=tuple(dict.fromkeys((report.op, match["op"].lower(), match["instead"]))))


NO_KERNEL = Rule(
    id="mlx/no-metal-kernel",
    compiler=NAME,
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
    compiler=NAME,
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
    compiler=NAME,
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

READER = Reader(
    name=NAME,
    rules=(NO_KERNEL, NO_GPU_OPERATOR, NO_GPU),
    markers=(),
    required=frozenset({Kind.OP_FALLBACK, Kind.COMPILE_ERROR}),
    prove=shared.unended(
        "MLX says nothing where a fused operator composes itself of others",
        "",
        Kind.OP_FALLBACK,
        Kind.COMPILE_ERROR,
    ),
    manual=__doc__,
    silent="partly: a missing Metal kernel is told, a fused operator made of others is not",
    seen_in="MLX 0.32 without a GPU (run), SGLang 0.5.23 (source)",
)
