"""paddle: PaddlePaddle and Paddle Inference: kernels that a device lacks and that run on the CPU.

    kernel_factory.cc:200] missing XPU kernel: top_k, expected_kernel_key:{...}, fallbacking to CPU one!

**What falls back.** The device has no kernel for this type and layout: the CPU's is taken.

**At which setting it speaks.** `GLOG_v=3`.

**When it is silent.** By default. Strict: `FLAGS_enable_api_kernel_fallback=0` makes it an error.

**What proves the end.** Nothing.

Wording seen in the source of 2.x and 3.x.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "paddle"
SETTING = "GLOG_v=3, or FLAGS_enable_api_kernel_fallback=0 (the program then fails)"

MISSING = Rule(
    id="paddle/missing-kernel",
    compiler=NAME,
    anchor=("fallbacking to CPU one!",),
    pattern=r"(?P<reason>missing \w{1,40} kernel): (?P<op>\w{1,120}), expected_kernel_key:.{0,600}, fallbacking to CPU one!",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The device has no kernel for this type and layout: the operator runs on the CPU.",
    help="Look at the key: mostly the data type is what the device lacks.",
    seen_in="Paddle 2.x and 3.x (source), VLOG(3)",
    matches=(
        "I1130 00:00:00.000000 11 kernel_factory.cc:200] missing XPU kernel: top_k, expected_kernel_key:{data_type[float32]; data_layout[NCHW]; place[xpu:0]; library_type[PLAIN]}, fallbacking to CPU one!",
        "fluid missing NPU kernel: top_k, expected_kernel_key:{data_type[float32]}, fallbacking to CPU one!",
    ),
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK})

READER = Reader(
    name=NAME,
    rules=(MISSING,),
    markers=(),
    required=REQUIRED,
    prove=shared.unshown("the default level does not print missing kernels", SETTING, *REQUIRED),
    setting=SETTING,
    manual=__doc__,
    silent="yes",
    seen_in="Paddle 2.x and 3.x (source)",
)
