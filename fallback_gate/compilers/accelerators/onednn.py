"""onednn: primitives of oneDNN that run by their reference code, under PyTorch, IPEX, TensorFlow or OpenVINO.

    onednn_verbose,v1,primitive,exec,cpu,matmul,ref:any,undef,src_s8::blocked:ab::f0,,,64x64:64x64,1.2

**What falls back.** The implementation `ref:any` is the plain loop that is right for every type and layout; all
others (`brg:avx512_core_amx`, `jit:avx2`, `gemm:jit`) are made for the machine.

**At which setting it speaks.** `ONEDNN_VERBOSE=1` (or `profile_exec`): a line for each primitive that runs.

**When it is silent.** By default. A line `create:dispatch` (`ONEDNN_VERBOSE=dispatch`) says why one
implementation in the list was passed over, and is no fallback: the `exec` line tells which was taken.

**What proves the end.** Nothing: the lines come as the program runs.

Wording seen in the source and the documentation of 2.x and 3.x; `dnnl_verbose` before 2.5.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

NAME = "onednn"
SETTING = "ONEDNN_VERBOSE=1, and a marker in the policy for the end"


def executed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A primitive by the reference code; its shapes tell two of one kind apart."""
    report = by_groups(rule, record, match)
    yield report._replace(
        reason=f"implementation {match['impl']} on the {match['engine']}",
        names=(report.op, f"onednn::{report.op}", match["impl"]),
        site=match["rest"].rpartition(",")[0][:300],
    )


REFERENCE = Rule(
    id="onednn/reference-implementation",
    compiler=NAME,
    anchor=("ref:any,",),
    pattern=r"^(?:onednn|dnnl|mkldnn)_verbose,(?:v\d,)?(?:[\d.]{1,32},)?(?:primitive,)?exec,(?P<engine>\w+),(?P<op>\w+),"
    r"(?P<impl>(?:[\w-]{1,40}:){0,3}ref:any),(?P<rest>.*)",
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The primitive runs by oneDNN's reference code, which is many times slower than a vectorised one.",
    help="ONEDNN_VERBOSE=dispatch tells why each faster implementation refused: mostly the data types or the layout.",
    seen_in="oneDNN 2.x and 3.x (source), ONEDNN_VERBOSE=1",
    matches=(
        "onednn_verbose,v1,primitive,exec,cpu,matmul,ref:any,undef,src_s8::blocked:ab::f0 wei_s8::blocked:ab::f0,,,64x64:64x64,1.2",
        "dnnl_verbose,exec,cpu,convolution,ref:any,forward_inference,src_f64::blocked:abcd:f0,,alg:convolution_direct,mb1,3.2",
        "onednn_verbose,v1,1764462546.1,primitive,exec,gpu,softmax,ocl:ref:any,forward_inference,data_f32,,,8x8,0.1",
    ),
    ignores=(
        "onednn_verbose,v1,primitive,exec,cpu,matmul,brg:avx512_core_amx,undef,src_s8::any,,,64x64:64x64,0.1",
        "onednn_verbose,v1,primitive,create:dispatch,matmul,cpu,matmul,ref:any,undef,src_u8:a:any:any::f0,,,256x256,unsupported isa,src/cpu/matmul/ref.cpp:100",
        "onednn_verbose,v1,primitive,create:cache_miss,cpu,matmul,ref:any,undef,src_s8,,,64x64,1.2",
    ),
    read=executed,
)

REQUIRED = frozenset({Kind.REFERENCE_KERNEL})

READER = Reader(
    name=NAME,
    rules=(REFERENCE,),
    markers=(),
    required=REQUIRED,
    prove=shared.unended("the lines come as the program runs, and none shows its end", SETTING, *REQUIRED),
    setting=SETTING,
    inside=frozenset({"torch.compile"}),
    manual=__doc__,
    silent="yes",
    seen_in="oneDNN 2.x and 3.x (source)",
)
