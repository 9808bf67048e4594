"""torch.device: PyTorch on a device whose back end lacks an operator: MPS, NPU, MLU, HPU and others.

    The operator 'aten::sort' is not currently supported on the MPS backend and will fall back to run on the CPU.

**What falls back.** The operator is copied to the CPU, computed there and copied back, at each call.

**At which setting it speaks.** A warning at the default level. MPS prints it where the fallback was switched
on (`PYTORCH_ENABLE_MPS_FALLBACK=1`), and for the few operators that always fall back; else the call is an
error.

**When it is silent.** How often the warning is printed differs, and so does what one line hides:

| back end | printed | one line |
| --- | --- | --- |
| MPS | once a process, the first operator only | hides every later operator |
| MPS, linear algebra | once for each operator, for large matrices; small ones go to the CPU without a word | hides its other calls |
| NPU (torch_npu) | once for each operator and overload | names all, counts none |
| MLU (torch_mlu) | once for each operator | hides its other overloads |
| others | as they like | may hide every later operator |

**What proves the end.** Nothing by itself: no line shows that the run ended, so allowing the operators that were
named is not enough to pass. The strict modes make the program fail instead: `TORCH_NPU_FALLBACK_CPU_DISABLE=1`,
`PYTORCH_ENABLE_MPS_FALLBACK=0` (but for its linear algebra), `PT_HPU_PLACE_ON_CPU=none`, `ENABLE_FALLBACK_TO_CPU=0` (MLU). Under one of
these, or where the warning names every operator, a marker in the policy that the program prints at its end
is the proof.

Wording seen for MPS (1.12 to 2.9, source and threads), NPU (torch_npu 2.1 to 2.7), MLU (torch_mlu, source).
"""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.compilers.shared import named
from fallback_gate.model import Kind, Proof, Scope, State

NAME = "torch.device"
COMPLETE_ON_NAMES = "NPU"  # the one back end that warns for each operator and overload

_NAMED = r"he operator ['\"\u2018]?(?P<op>[\w:.]{1,200})['\"\u2019]? "
_MEANING = (
    "The device's back end lacks the operator: it runs on the CPU, with a copy there and back at each call."
)
_CPU = (
    _NAMED
    + r"(?P<reason>is not currently supported on the (?:\w+ backend and will fall back to run on (?:the )?\w+"
    + r"|NPU b[a-z ]{0,42}$))"  # a terminal broke the line
)
_MPS = "UserWarning: The operator 'aten::sort' is not currently supported on the MPS backend and will fall back to run on the CPU. This may have performance implications."
_NPU = "[W compiler_depend.ts:51] Warning: CAUTION: The operator 'aten::isin.Tensor_Tensor_out' is not currently supported on the NPU backend and will fall back to run on the CPU. This may have performance implications. (function npu_cpu_fallback)"

CPU_FALLBACK = Rule(
    id="torch-device/cpu-fallback",
    compiler=NAME,
    anchor=("will fall back to run on ", "is not currently supported on the NPU b"),
    pattern=_CPU,
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=_MEANING,
    help="Replace the operator, or run with the strict mode of the back end to find the other ones: this warning is "
    "printed once for many calls, and on some back ends for many operators.",
    seen_in="MPS 1.12 to 2.9, torch_npu 2.1 to 2.7, torch_mlu",
    matches=(
        _MPS,
        _NPU,
        "Warning: CAUTION: The operator 'torchvision::nms' is not currently supported on the NPU backend and w\nill fall back to run on the CPU.",
    ),
    ignores=("The operator 'aten::sort' is not currently implemented for the MPS device.",),
    at_least=True,
)

MPS_LINALG = Rule(
    id="torch-device/mps-linalg",
    compiler=NAME,
    anchor=(" to stage in MPS threadgroup memory", ": MPS implementation is currently limited to "),
    pattern=r"(?P<name>linalg[._]\w{1,40}): (?P<reason>matrix too large to stage in MPS threadgroup memory|MPS implementation is currently limited to .{1,80}?)"
    r"(?: \(\d{1,12} > \d{1,12} bytes\);|,) falling back to CPU",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="MPS has a kernel for smaller matrices only: this one is copied to the CPU, computed there and copied back.",
    help="Make the matrices smaller, or compute them on the CPU together with what follows.",
    seen_in="linalg_qr, linalg.svd and linalg.eigh of 2026 (source and a public log), UserWarning, once",
    matches=(
        "UserWarning: linalg.svd: matrix too large to stage in MPS threadgroup memory (294912 > 32768 bytes); falling back to CPU. (Triggered internally at /pytorch/aten/src/ATen/native/mps/operations/LinearAlgebra.mm:1680.)",
        "UserWarning: linalg_qr: MPS implementation is currently limited to min(m,n) <= 512, falling back to CPU. (Triggered internally at x.mm:1)",
    ),
    ignores=("linalg.svd: the MPS backend supports only float32 and complex64. Got Double",),
    at_least=True,
    read=lambda rule, record, match: (
        named(by_groups(rule, record, match), "aten::" + match["name"].replace(".", "_"), match["name"]),
    ),
)

NOT_IMPLEMENTED = Rule(
    id="torch-device/not-implemented",
    compiler=NAME,
    anchor=("implemented for the MPS device",),
    pattern=r"NotImplementedError: T"
    + _NAMED
    + r"(?P<reason>is not current(?:ly)? implemented for the MPS device)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The device's back end lacks the operator and may not fall back: the call is an error.",
    help="Replace the operator. Switching the fallback on moves it to the CPU, which this gate reports too.",
    seen_in="MPS 1.12 to 2.9 (to 1.13 'is not current implemented')",
    matches=(
        "NotImplementedError: The operator 'aten::sort' is not currently implemented for the MPS device. If you want this op to be considered for addition please comment on https://github.com/pytorch/pytorch/issues/141287",
        "NotImplementedError: The operator 'aten::index.Tensor' is not current implemented for the MPS device.",
    ),
    ignores=("The operator 'aten::sort' is not currently implemented for the MPS device.",),
)


BACKEND = Marker(
    id="torch-device/backend",
    compiler=NAME,
    anchor=("will fall back to run on the",),
    pattern=r"supported on the (\w{1,40}) backend and will fall back to run on the ",
    shows="Which back end warned of a fallback: how often it does so differs.",
    seen_in=CPU_FALLBACK.seen_in,
    matches=(_MPS, _NPU),
)

_STRICT = {
    "MPS": "PYTORCH_ENABLE_MPS_FALLBACK=0, which makes each an error",
    "NPU": "TORCH_NPU_FALLBACK_CPU_DISABLE=1, which makes each an error",
    "HPU": "PT_HPU_PLACE_ON_CPU=none, which makes each an error",
    "MLU": "ENABLE_FALLBACK_TO_CPU=0, which makes each an error",
}
_WHY = {
    "MPS": "MPS names the first operator of a process only: others may fall back without a word",
    "NPU": "torch_npu names each operator once, but nothing in the log shows that the run ended",
    "MLU": "torch_mlu names an operator once for all its overloads, and nothing shows that the run ended",
}
_ANY = "this warning may be printed once for many operators: others may fall back without a word"
_ALL_STRICT = "TORCH_NPU_FALLBACK_CPU_DISABLE=1 (NPU), PYTORCH_ENABLE_MPS_FALLBACK=0 (MPS), PT_HPU_PLACE_ON_CPU=none (HPU)"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """A warning that is printed once for many never proves the absence of others."""
    backends = sorted(backend for (backend,) in evidence.of(BACKEND.id))
    hiding = [backend for backend in backends if backend != COMPLETE_ON_NAMES]
    said = next(iter(hiding or backends), "")
    setting = _STRICT.get(said, _ALL_STRICT) + "; and a marker in the policy for the end of the run"
    found = {Kind.DEVICE_FALLBACK: Proof(State.UNPROVEN, _WHY.get(said, _ANY), None, setting)}
    if Kind.OP_FALLBACK in evidence.reported:
        why = "the error ended the call: what follows it was not run"
        found[Kind.OP_FALLBACK] = Proof(State.UNPROVEN, why)
    return found


READER = Reader(
    name=NAME,
    rules=(CPU_FALLBACK, MPS_LINALG, NOT_IMPLEMENTED),
    markers=(BACKEND,),
    required=frozenset({Kind.DEVICE_FALLBACK}),
    prove=prove,
    setting=_ALL_STRICT,
    manual=__doc__,
    silent="partly: warned once for many calls, on MPS for all operators",
    seen_in="MPS 1.12 to 2.9, torch_npu 2.1 to 2.7, torch_mlu (source)",
)
