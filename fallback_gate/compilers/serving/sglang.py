r"""SGLang: what the server says about its CUDA graphs, kernel configurations and kernels.

    [2026-01-01 00:00:41 TP3] Config file not found at .../E=64,N=96,device_name=X.json. Fallback to triton version 3.2.0 and use MoE kernel config from ...

**What falls back.** Decode or prefill runs without a CUDA graph. A kernel has no tuned configuration for this
shape and device, or one of another Triton version. A quantised layer or a library kernel is replaced.

**At which setting it speaks.** At the default level; the lines carry no level. `cuda graph: False` stands in
the line about a decode batch, which is printed once for many steps (`--decode-log-interval`).

**When it is silent.** With `--log-level` above info. An attention backend that is chosen as the second best
for this hardware; what torch.compile left to framework calls.

**What proves the end.** `Capture cuda graph end`, since 0.5.11 `Capture target decode CUDA graph end` (`verify`
with speculation), comes after all layers ran: a missing configuration would have been printed. Each of the tags
that speaks (`TP0`, `DP1 TP3`) has to print it, and rank 0 behind the arguments of the server that started last.
The graphs of prefill and of a draft model prove nothing.

Wording from the source of 0.4.9, 0.5.5, 0.5.10 and 0.5.23 (https://github.com/sgl-project/sglang);
`disable_cuda_graph=True` in the printed arguments since 0.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.rule import Evidence, Marker, Reader, Sighting
from fallback_gate.compilers.serving import sglang_graph, sglang_kernels, sglang_operators
from fallback_gate.compilers.serving.python_log import OPENS, OPENS_SGLANG
from fallback_gate.compilers.serving.sglang_log import AT, NAME, rank, tag
from fallback_gate.model import Kind, Proof, State
from fallback_gate.scan.record import Record


def tagged(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """The ranks that the line names."""
    yield Sighting(marker.id, record.position, (tag(record),), None, rank(record))


CAPTURED = Marker(
    id="sglang/captured",
    compiler=NAME,
    anchor=("Capture cuda graph end", "Capture npu graph end", "Capture target "),
    pattern=OPENS_SGLANG
    + r"Capture (?:(?:cuda|npu) graph end\b|target (?:decode|verify) (?:CUDA|NPU|XPU) graph end\.)",
    shows="CUDA graphs were captured, after all layers ran once; by which rank.",
    seen_in="0.2 to 0.5.10 (source), INFO; 0.5.23 (source) names the model and the phase",
    matches=(
        AT + "Capture cuda graph end. Time elapsed: 29.9 s. mem usage=1.0 GB. avail mem=9.1 GB.",
        AT + "Capture target decode CUDA graph end. elapsed=29.90 s, mem usage=1.00 GB, avail mem=9.10 GB.",
        AT + "Capture target verify CUDA graph end. elapsed=29.90 s, mem usage=1.00 GB, avail mem=9.10 GB.",
    ),
    ignores=(
        "Capture cuda graph end",
        AT + "Capture target prefill CUDA graph end. elapsed=29.90 s, mem usage=1.00 GB, avail mem=9.10 GB.",
        AT + "Capture draft decode CUDA graph end. elapsed=29.90 s, mem usage=1.00 GB, avail mem=9.10 GB.",
        AT + "Capture target decode CUDA graph begin. backend=full, num_tokens_per_req=1, avail mem=9.10 GB",
    ),
    read=tagged,
)
LOADED = Marker(
    id="sglang/loaded",
    compiler=NAME,
    anchor=("Load weight end.",),
    pattern=OPENS_SGLANG + r"Load weight end\.",
    shows="A model was loaded; by which rank.",
    seen_in="0.2 to 0.5.23, INFO",
    matches=(AT + "Load weight end. elapsed=18.1 s, type=GateMoeForCausalLM, dtype=torch.bfloat16",),
    read=tagged,
)
STARTED = Marker(
    id="sglang/started",
    compiler=NAME,
    anchor=("server_args=",),
    pattern=OPENS + r"server_args=(?:ServerArgs\(|\{)",
    shows="A server starts, with these arguments.",
    seen_in="0.2 to 0.5.23, INFO",
    matches=(
        "[2026-01-01 00:00:00] server_args=ServerArgs(model_path='/app/gate', disable_cuda_graph=False)",
        "[2026-01-01 00:00:00] server_args={'model_path': '/app/gate', 'disable_cuda_graph': False}",
    ),
    ignores=("engine = Engine(server_args=ServerArgs(model_path='/app/gate'))",),
    read=tagged,
)


SETTING = "--log-level info (the default), and TORCH_LOGS=output_code where torch.compile is on"
REQUIRED = frozenset({Kind.CUDAGRAPH_SKIP, Kind.UNTUNED_CONFIG, Kind.SLOWER_KERNEL, Kind.OP_FALLBACK})


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Each of the tags that loaded a model captured its graphs, and no server starts behind them."""
    loaded, captured = evidence.of(LOADED.id), evidence.of(CAPTURED.id)
    again = evidence.last.get(STARTED.id, -1) > evidence.last.get(CAPTURED.id, -1)
    if captured and loaded <= captured and not again:
        why = "CUDA graphs were captured after all layers ran: what is missing would have been printed"
        ended = Proof(State.PROVEN, why, evidence.first(CAPTURED.id))
    else:
        why = "not each rank that loaded the model says that its CUDA graphs were captured"
        ended = Proof(State.UNPROVEN, why, None, SETTING)
    why = "SGLang prints what it refuses, and not each kernel that it prefers less from the start"
    part = Proof(State.UNOBSERVABLE, why, None, SETTING)
    return {
        Kind.CUDAGRAPH_SKIP: ended,
        Kind.UNTUNED_CONFIG: ended,
        Kind.SLOWER_KERNEL: part,
        Kind.OP_FALLBACK: part,
    }


READER = Reader(
    name=NAME,
    rules=(*sglang_graph.RULES, *sglang_kernels.RULES, *sglang_operators.RULES),
    markers=(CAPTURED, LOADED, STARTED),
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: what it refuses is told, an attention backend that is its second choice is not",
    seen_in="0.4.9 to 0.5.23 (source), some of it since 0.2",
)
