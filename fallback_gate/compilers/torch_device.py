"""torch.device: PyTorch on a device whose back end lacks an operator: MPS, NPU, HPU, XPU, MUSA and others.

**What falls back.** The operator is copied to the CPU, computed there and copied back, at each call.

    The operator 'aten::sort' is not currently supported on the MPS backend and will fall back to run on the CPU.

**At which setting it speaks.** A warning at the default level, on most back ends only where the fallback
was switched on (`PYTORCH_ENABLE_MPS_FALLBACK=1`); without it the call is an error.

**When it is silent.** The warning is printed once for many: MPS names the first operator of a process
only, torch_npu likewise. So one line leaves the rest open, and no line says nothing: allowing the first
operator is not enough to pass. A strict mode (`TORCH_NPU_FALLBACK_CPU_DISABLE=1`,
`PYTORCH_ENABLE_MPS_FALLBACK=0`, `PT_HPU_PLACE_ON_CPU=none`) makes the program fail instead.

Wording seen for MPS (2.0 to 2.9, public threads) and NPU (torch_npu 2.1 to 2.7, public threads).
"""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.compilers.rule import Evidence, Reader, Rule
from fallback_gate.model import Kind, Proof, Scope, State

NAME = "torch.device"

CPU_FALLBACK = Rule(
    id="torch-device/cpu-fallback",
    compiler=NAME,
    anchor=("will fall back to run on the",),
    pattern=r"he operator ['\"]?(?P<op>[\w:.]+)['\"]? is not currently supported on the (?P<layer>\w+) backend"
    r" and will fall back to run on the (?P<reason>\w+)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The device's back end lacks the operator: it runs on the CPU, with a copy there and back at each call.",
    help="Replace the operator, or run with the strict mode of the back end to find the other ones: this warning is "
    "printed once for many operators.",
    seen_in="MPS 2.0 to 2.9, torch_npu 2.1 to 2.7",
    matches=(
        "UserWarning: The operator 'aten::sort' is not currently supported on the MPS backend and will fall back to run on the CPU. This may have performance implications.",
        "[W compiler_depend.ts:51] Warning: CAUTION: The operator 'aten::isin.Tensor_Tensor_out' is not currently supported on the NPU backend and will fall back to run on the CPU. This may have performance implications. (function npu_cpu_fallback)",
    ),
    ignores=("The operator 'aten::sort' is not currently implemented for the MPS device.",),
    at_least=True,
)

_SETTING = "TORCH_NPU_FALLBACK_CPU_DISABLE=1 (NPU), PYTORCH_ENABLE_MPS_FALLBACK=0 (MPS), PT_HPU_PLACE_ON_CPU=none (HPU)"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """A warning that is printed once for many never proves the absence of others."""
    why = "this warning names the first operator of a process only: others may fall back without a word"
    return {Kind.DEVICE_FALLBACK: Proof(State.UNPROVEN, why, None, _SETTING)}


READER = Reader(
    name=NAME,
    rules=(CPU_FALLBACK,),
    markers=(),
    required=frozenset({Kind.DEVICE_FALLBACK}),
    prove=prove,
)
