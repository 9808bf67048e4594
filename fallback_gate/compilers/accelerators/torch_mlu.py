"""torch.mlu: PyTorch on Cambricon's MLU: operators that run on the CPU, or are refused.

    The operator 'aten::sort' fails on the MLU backend and will fall back to run on the CPU. ...

**What falls back.** An operator that the MLU lacks, or at which it failed, is computed on the CPU. The plain
form, `is not currently supported on the MLU backend`, is read by `torch.device`, like that of other devices.

**At which setting it speaks.** A warning by default; after a failure only with `ENABLE_MLU_FAIL_FALLBACK=1`.

**When it is silent.** After the first warning for a base name: `sort.out` after `sort` says nothing. Strict:
`ENABLE_FALLBACK_TO_CPU=0` makes a missing operator an error.

**What proves the end.** Nothing.

Wording seen in the source of torch_mlu.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.rule import Reader, Rule, StrictMode
from fallback_gate.model import Kind, Scope

NAME = "torch.mlu"
SETTING = "ENABLE_FALLBACK_TO_CPU=0 (the program then fails), and a marker in the policy for the end"

FAILED = Rule(
    id="torch-mlu/failed-operator",
    compiler=NAME,
    anchor=("fails on the MLU backend and will fall back",),
    pattern=r"he operator '(?P<op>[\w:.]+)' (?P<reason>fails on the MLU backend) and will fall back to run on the CPU",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The MLU's kernel failed: the operator is computed on the CPU.",
    help="TORCH_MIN_CNLOG_LEVEL=0 shows the error of the kernel.",
    seen_in="torch_mlu (source), ENABLE_MLU_FAIL_FALLBACK=1",
    matches=(
        "[W MLUFallback.cpp:60] Warning: The operator 'aten::sort.out' fails on the MLU backend and will fall back to run on the CPU. This may have performance implications.You can set the environment variable `TORCH_MIN_CNLOG_LEVEL=0` to see detailed error msg, or set",
    ),
    at_least=True,
)

DENIED = Rule(
    id="torch-mlu/not-implemented",
    compiler=NAME,
    anchor=("is not currently implemented for the MLU device",),
    pattern=r"he operator '(?P<op>[\w:.]+)' is (?P<reason>not currently implemented for the MLU device)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The MLU lacks the operator, and the fallback to the CPU is off: the program ended here.",
    help="Replace the operator, or run it on the CPU by hand and allow it as cold.",
    seen_in="torch_mlu (source), ENABLE_FALLBACK_TO_CPU=0",
    matches=(
        "NotImplementedError: The operator 'aten::sort.out' is not currently implemented for the MLU device. If you want this op to be added, please contact the engineer of Cambricon.",
    ),
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK})
WHY = "the warning is printed once for each base name, and no line shows the end"

READER = Reader(
    name=NAME,
    rules=(FAILED, DENIED),
    markers=(),
    required=REQUIRED,
    prove=shared.unended(WHY, SETTING, Kind.DEVICE_FALLBACK, Kind.OP_FALLBACK),
    setting=SETTING,
    strict=(StrictMode({"ENABLE_FALLBACK_TO_CPU": "0"}, frozenset({Kind.DEVICE_FALLBACK})),),
    manual=__doc__,
    silent="partly: once for each base name of an operator",
    seen_in="torch_mlu (source)",
)
