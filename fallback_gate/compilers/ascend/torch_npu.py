r"""torch_npu: the Ascend adapter of PyTorch: operators that would run on the CPU, and a back end that is none.

    RuntimeError: The operator 'aten::gate_mix.out' would execute its main computation on CPU through
    dispatcher backend fallback because no kernel is registered ..., but CPU fallback is disabled by ...

**What falls back.** An operator without an NPU kernel is computed on the CPU, with a copy there and back at
each call. The sentence `The operator ... is not currently supported on the NPU backend` is read by
`torch.device`; here are the others.

**At which setting it speaks.** Warnings by default, once for each operator and process.
`TORCH_NPU_FALLBACK_CPU_DISABLE=1` makes each such call an error.

**When it is silent.** On operators that CANN's library runs on the chip's own CPU cores (AICPU), on `.cpu()`
in the user's code, and wherever the C++ warnings are switched off.

**What proves the end.** Nothing in the log: a run that ends well under `TORCH_NPU_FALLBACK_CPU_DISABLE=1` has no
fallback to the host, but no line says that it was set. No line of torch_npu's `ERR01007 OPS feature not
supported` names an operator: it stands under the message that does.

Wording from torch_npu's source of 2026; the warning in public threads since 2.1.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.ascend.names import named, of_aten
from fallback_gate.compilers.rule import Reader, Rule, StrictMode
from fallback_gate.model import Kind, Scope

NAME = "torch_npu"
_HELP = "Replace the operator by ones that the NPU has, or keep it out of the hot path."

DENIED = Rule(
    id="torch-npu/cpu-fallback-denied",
    compiler=NAME,
    anchor=("would execute its main computation on CPU through",),
    pattern=r"The operator '(?P<op>[\w:.]{1,256})' would execute its main computation on CPU through"
    r" (?P<reason>(?:dispatcher backend fallback|explicit CPU kernel)\b[^,]{0,512}), but CPU fallback is disabled",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The NPU has no kernel for the operator, and the strict mode made the call an error.",
    help=_HELP,
    seen_in="torch_npu of 2026 (source), TORCH_NPU_FALLBACK_CPU_DISABLE=1",
    matches=(
        "RuntimeError: The operator 'aten::gate_mix.out' would execute its main computation on CPU through dispatcher backend fallback because no kernel is registered for the NPU PrivateUse1 backend, but CPU fallback is disabled by TORCH_NPU_FALLBACK_CPU_DISABLE=1.",
        "RuntimeError: The operator 'aten::gate_mix' would execute its main computation on CPU through explicit CPU kernel, but CPU fallback is disabled by TORCH_NPU_FALLBACK_CPU_DISABLE=1.",
    ),
    ignores=("would execute its main computation on CPU through a callback",),
    read=of_aten,
)

EXPLICIT = Rule(
    id="torch-npu/cpu-kernel",
    compiler=NAME,
    anchor=("Since the NPU interface does not support operator",),
    pattern=r"Since the NPU interface does not support operator '(?P<op>[\w:.]{1,256})', the operator will (?P<reason>fall back to CPU)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="torch_npu has a CPU kernel only: the tensors are copied to the host and back at each call.",
    help=_HELP,
    seen_in="torch_npu of 2026 (source), WARNING, once a process",
    matches=(
        "[W1130 00:29:06.25 compiler_depend.ts:23] Warning: CPU fallback is allowed because TORCH_NPU_FALLBACK_CPU_DISABLE=0. Since the NPU interface does not support operator 'aten::_sparse_csr_sum.dim_dtype', the operator will fall back to CPU. (function operator())",
    ),
    ignores=("Since the NPU interface does not support operator overloading, ",),
    at_least=True,
    read=of_aten,
)

EAGER_BACKEND = Rule(
    id="torch-npu/eager-backend",
    compiler=NAME,
    anchor=("Register eager implementation for the",),
    pattern=r"(?:^|Warning: )Register eager implementation for the 'npu' backend of dynamo, as (?P<reason>torch_npu was not compiled with torchair)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning='Each torch.compile(backend="npu") of this process runs eager: the graph compiler is missing.',
    help="Install a torch_npu that was built with torchair.",
    seen_in="torch_npu 2.1 to 2026 (source), a Python warning at import",
    matches=(
        "UserWarning: Register eager implementation for the 'npu' backend of dynamo, as torch_npu was not compiled with torchair.",
    ),
    ignores=("    \"Register eager implementation for the 'npu' backend of dynamo, \"",),
    read=lambda rule, record, match: (named(rule, record, match),),
)

GATHER = Rule(
    id="torch-npu/gather-as-allgather",
    compiler=NAME,
    anchor=("support gather at the moment. Implemented with allgather",),
    pattern=r"(?:^|Warning: )(?P<reason>HCCL doesn't support gather at the moment)\. Implemented with allgather instead",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="Each rank gets all tensors, where one rank was to get them.",
    help="Send the tensors to one rank point by point, or allow it as cold.",
    seen_in="torch_npu 2.1 to 2.14 (source), a Python warning",
    matches=("UserWarning: HCCL doesn't support gather at the moment. Implemented with allgather instead.",),
    at_least=True,
    read=lambda rule, record, match: (named(rule, record, match, "gather", "all_gather"),),
)

NOT_CAPTURED = Rule(
    id="torch-npu/not-captured",
    compiler=NAME,
    anchor=("Cannot run aclop operators during NPU graph capture",),
    pattern=r"(?P<reason>Cannot run aclop operators during NPU graph capture)\. Current working aclop is (?P<op>\w{1,128})\.",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.OPERATOR,
    meaning="The operator is none of the newer library (aclnn), and no graph can hold it: the capture fails, and the program ends or runs eager.",
    help="Set torch.npu.config.allow_internal_format = False before the model is made, or replace the operator.",
    seen_in="torch_npu 2.5 to 2.7 (source and public threads), an exception",
    matches=(
        "RuntimeError: Cannot run aclop operators during NPU graph capture. Current working aclop is Fill. If you need this call to be captured, please try to set torch.npu.config.allow_internal_format = False.",
    ),
    ignores=("Cannot run aclop operators during NPU graph capture (Conv2D)",),
    read=lambda rule, record, match: (named(rule, record, match, match["op"]),),
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK})
SETTING = "TORCH_NPU_FALLBACK_CPU_DISABLE=1, and a marker in the policy for the line that ends the run"
WHY = "torch_npu warns once for each operator, and not where CANN's library uses the chip's own CPU cores"

READER = Reader(
    name=NAME,
    rules=(DENIED, EXPLICIT, EAGER_BACKEND, GATHER, NOT_CAPTURED),
    markers=(),
    required=REQUIRED,
    prove=shared.unended(WHY, SETTING, *REQUIRED),
    setting=SETTING,
    strict=(
        StrictMode(
            {"TORCH_NPU_FALLBACK_CPU_DISABLE": "1"},
            frozenset({Kind.DEVICE_FALLBACK}),
            "to the host: kernels on the chip's own CPU cores and .cpu() in the user's code are not covered",
        ),
    ),
    manual=__doc__,
    silent="partly: kernels on the chip's own CPU cores are not told",
    seen_in="torch_npu of 2026 (source)",
)
