"""torch.xpu: PyTorch on Intel GPUs: operators that run on the CPU.

    UserWarning: Aten Op fallback from XPU to CPU happens. This may have performance implications. ...

**What falls back.** The operator's inputs are copied to the CPU, computed there and copied back, at each call.

**At which setting it speaks.** By default once a process, naming no operator. With `PYTORCH_DEBUG_XPU_FALLBACK=1`
at each call, with the operator's name.

**When it is silent.** After the first warning, and where Python's warnings are off.

**What proves the end.** Nothing: no line shows that a process ended without a fallback.

Wording seen in the source of torch-xpu-ops from its first version on ("happends", three forms of the debug line).
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "torch.xpu"
SEEN = "torch-xpu-ops (source)"
SETTING = "PYTORCH_DEBUG_XPU_FALLBACK=1 names each operator, and a marker in the policy for the end"

ONCE = Rule(
    id="torch-xpu/cpu-fallback-once",
    compiler=NAME,
    anchor=("Aten Op fallback from XPU to CPU ",),
    pattern=r"Aten Op (?P<reason>fallback from XPU to CPU) happen(?:d)?s\.",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="At least one operator runs on the CPU; the line stands for all of them and names none.",
    help="Run again with PYTORCH_DEBUG_XPU_FALLBACK=1, which names each operator.",
    seen_in=SEEN,
    matches=(
        "UserWarning: Aten Op fallback from XPU to CPU happends. This may have performance implications. If need debug the fallback ops please set environment variable `PYTORCH_DEBUG_XPU_FALLBACK=1`",
        "[W1130 00:29:06.251000000 XPUFallback.cpp:60] Warning: Aten Op fallback from XPU to CPU happens. This may have performance implications.",
    ),
    ignores=("An Aten Op fallback from XPU to CPU warning indicates a defect.",),
    at_least=True,
)

NAMED = Rule(
    id="torch-xpu/cpu-fallback",
    compiler=NAME,
    anchor=("on the XPU backend is falling back", "on the XPU backend and will fall back"),
    pattern=r"he operator '(?P<op>[\w:.]+?)'? ?on the XPU backend (?:is falling|and will fall) back to run on the CPU",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The XPU back end lacks the operator: it runs on the CPU, with a copy there and back at each call.",
    help="Replace the operator, or take a PyTorch whose XPU back end has it.",
    seen_in=f"{SEEN}, with PYTORCH_DEBUG_XPU_FALLBACK=1",
    matches=(
        "UserWarning: The operator 'aten::sort.out on the XPU backend is falling back to run on the CPU.",
        "UserWarning: The operator 'aten::sorton the XPU backend and will fall back to run on the CPU.",
    ),
)

DENIED = Rule(
    id="torch-xpu/not-implemented",
    compiler=NAME,
    anchor=("is not currently implemented for the XPU device",),
    pattern=r"he operator '(?P<op>[\w:.]+)' is (?P<reason>not currently implemented for the XPU device)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The XPU back end lacks the operator and no fallback takes it: the program ended here.",
    help=NAMED.help,
    seen_in=SEEN,
    matches=(
        "NotImplementedError: The operator 'aten::sort' is not currently implemented for the XPU device.",
    ),
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK})
WHY = "the default level names no operator and warns once a process, and no line shows the end"

READER = Reader(
    name=NAME,
    rules=(ONCE, NAMED, DENIED),
    markers=(),
    required=REQUIRED,
    prove=shared.unended(WHY, SETTING, Kind.DEVICE_FALLBACK, Kind.OP_FALLBACK),
    setting=SETTING,
    manual=__doc__,
    silent="partly: one line a process, which names no operator",
    seen_in="torch-xpu-ops (source)",
)
