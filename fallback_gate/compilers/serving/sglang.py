r"""SGLang: what the server says about its CUDA graphs, kernel configurations and kernels.

    [2026-01-01 00:00:41 TP3] Config file not found at .../E=64,N=96,device_name=X.json. Fallback to triton version 3.2.0 and use MoE kernel config from ...

**What falls back.** Decode or prefill runs without a CUDA graph. A kernel has no tuned configuration for this
shape and device, or one of another Triton version. A quantised layer or a library kernel is replaced.

**At which setting it speaks.** At the default level; the lines carry no level. `cuda graph: False` stands in
the line about a decode batch, which is printed once for many steps (`--decode-log-interval`).

**When it is silent.** With `--log-level` above info. An attention backend that is chosen as the second best
for this hardware; what torch.compile left to framework calls.

**What proves the end.** `Capture cuda graph end` comes after all layers ran: a missing configuration would
have been printed. Each of the tags that speaks (`TP0`, `DP1 TP3`) has to print it.

Wording from the source of 0.5.23; `disable_cuda_graph=True` in the printed arguments since 0.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.compilers.serving.python_log import OPENS, OPENS_SGLANG
from fallback_gate.compilers.serving.vllm_kernels import TUNE_HELP, TUNED, shape_of
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "SGLang"
_TAG = Pattern(r"^\[[\d:. -]{19,26}(?P<tag>(?: [A-Z_]{2,12}\d{1,5}){0,6})\] ")
_TP = Pattern(r" TP(?P<rank>\d{1,5})\b")
_AT = "[2026-01-01 00:00:00 TP3] "


def _tag(record: Record) -> str:
    found = _TAG.match(record.text)
    return found["tag"].strip() if found else ""


def _rank(record: Record) -> int:
    """The rank in the tag. Lines without one are of a server with one rank, or of the one that starts the ranks."""
    if record.rank is not None:
        return record.rank
    found = _TP.search(" " + _tag(record))
    return int(found["rank"]) if found else 0


def _reads(op: str | None = None, *names: str) -> Callable[[Rule, Record, Match[str]], Iterable[Report]]:
    def read(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
        said = match.groupdict()
        about = op or said.get("op") or said.get("layer") or "*"
        more = (about, *names, said.get("name"))
        yield by_groups(rule, record, match)._replace(
            op=about,
            names=tuple(dict.fromkeys(name for name in more if name and name != "*")),
            rank=_rank(record),
        )

    return read


def _untuned(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The kernel, and the shape and device in the name of the file that is missing."""
    shape = shape_of(match["path"])
    said = match.groupdict()
    op = "fused_moe_down" if said.get("down") else TUNED.get(said.get("kernel") or "", "fused_moe")
    names = tuple(dict.fromkeys((op, "fused_moe", shape) if op.startswith("fused_moe") else (op, shape)))
    yield by_groups(rule, record, match)._replace(op=op, names=names, site=shape, rank=_rank(record))


GRAPH_OFF = Rule(
    id="sglang/cuda-graph-disabled",
    compiler=NAME,
    anchor=("Cuda graph is disabled because", "disable_cuda_graph=True"),
    pattern=OPENS + r"(?:Cuda graph is disabled because (?:of using )?(?P<reason>.{1,300})"
    r"|server_args=ServerArgs\(.*\bdisable_cuda_graph=True\b)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="No CUDA graph is captured: each kernel of each decode step is launched on its own.",
    help="Take an attention backend and a mode that allow CUDA graphs, and serve without --disable-cuda-graph.",
    seen_in="0.2 to 0.5.23 (source), WARNING",
    matches=(
        _AT + "Cuda graph is disabled because of using torch native attention backend",
        "Cuda graph is disabled because deepep_mode=`normal`",
        "[2026-01-01 00:00:00] server_args=ServerArgs(model_path='/app/gate', disable_cuda_graph=True, attention_backend=None)",
    ),
    ignores=(
        "[2026-01-01 00:00:01] server_args=ServerArgs(model_path='/app/gate', disable_cuda_graph=False, fallback=None)",
        "engine = Engine(model, disable_cuda_graph=True)",
    ),
    read=_reads(),
)
PREFILL = Rule(
    id="sglang/prefill-graph-disabled",
    compiler=NAME,
    anchor=("prefill CUDA graph", "PCG capture stream is not set"),
    pattern=OPENS
    + r"(?P<reason>Disabl(?:e|ing) (?:breakable )?prefill CUDA graph .{1,300}|PCG capture stream is not set)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.REGION,
    meaning="Prefill, or a part of it, runs without a CUDA graph.",
    help="Look at the reason; --cuda-graph-backend-prefill chooses how prefill is captured.",
    seen_in="0.5.23 (source), INFO and WARNING",
    matches=(
        _AT
        + "Disable prefill CUDA graph because cuda_graph_config resolved prefill.backend='disabled' (e.g. via --cuda-graph-backend-prefill=disabled or auto-disable rules).",
        "PCG capture stream is not set. This can be a Dynamo runtime recompilation; falling back to eager execution for this subgraph.",
    ),
    read=_reads("prefill"),
)
DECODE = Rule(
    id="sglang/decode-without-graph",
    compiler=NAME,
    anchor=("graph: False",),
    pattern=OPENS_SGLANG + r"Decode batch.{1,400}?, (?P<reason>(?:cuda|npu|cpu) graph: False)\b",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.REGION,
    meaning="This decode batch was not replayed from a graph: it is larger than any that was captured, or none was.",
    help="Raise --cuda-graph-max-bs to the batch sizes that are served.",
    seen_in="0.4 to 0.5.23 (source), INFO, once for many steps",
    matches=(
        _AT
        + "Decode batch, #running-req: 4, #token: 512, token usage: 0.01, cuda graph: False, gen throughput (token/s): 80.11, #queue-req: 0,",
    ),
    ignores=(
        _AT
        + "Decode batch, #running-req: 4, #token: 512, token usage: 0.01, cuda graph: True, gen throughput",
        _AT + "Prefill batch, #new-seq: 1, #new-token: 512, cuda graph: False",
    ),
    at_least=True,
    read=_reads("decode"),
)
UNTUNED = Rule(
    id="sglang/default-kernel-config",
    compiler=NAME,
    anchor=("Performance might be sub-optimal! Config file not found at",),
    pattern=rf"(?:{OPENS}Using (?:default MoE kernel config|MoE kernel config with (?P<down>down_moe)=\w{{1,5}})"
    rf"|{OPENS_SGLANG}Using default (?P<kernel>MoE|W8A8 Block (?:FP8|INT8))(?: kernel)? config)\. "
    r"Performance might be sub-optimal! Config file not found at (?P<path>[^\s]{1,1000}\.json)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="No tuned tile sizes are shipped for this shape and device: the kernel runs with default ones.",
    help=TUNE_HELP,
    seen_in="0.2 to 0.5.23 (source), WARNING",
    matches=(
        _AT
        + "Using default MoE kernel config. Performance might be sub-optimal! Config file not found at /x/E=64,N=96,device_name=X.json, you can create them with",
        _AT
        + "Using MoE kernel config with down_moe=False. Performance might be sub-optimal! Config file not found at /x/E=64,N=96,device_name=X_down.json, you can create them with",
        _AT
        + "Using default W8A8 Block FP8 kernel config. Performance might be sub-optimal! Config file not found at /x/N=1536,K=7168.json",
    ),
    ignores=(
        "docs: Using default MoE kernel config. Performance might be sub-optimal! Config file not found at /x.json",
    ),
    read=_untuned,
)
OTHER_TRITON = Rule(
    id="sglang/config-of-another-triton",
    compiler=NAME,
    anchor=("Fallback to triton version", "Down MoE config file not found at"),
    pattern=OPENS
    + r"(?:(?P<down>Down MoE c)|C)onfig file not found at (?P<path>\S{1,1000})(?:\. (?P<reason>Fallback to triton version [\d.]{1,20}?) and use"
    r"|; reusing the tuned up-projection config)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The tile sizes were tuned for another Triton version, or for the other projection.",
    help=TUNE_HELP,
    seen_in="0.5.23 (source), WARNING",
    matches=(
        _AT
        + "Config file not found at /x/configs/triton_3_5_1/E=64,N=96,device_name=NVIDIA_X.json. Fallback to triton version 3.2.0 and use MoE kernel config from /x/configs/triton_3_2_0/E=64,N=96,device_name=NVIDIA_X.json. Performance might be sub-optimal!",
        "Down MoE config file not found at /x_down.json; reusing the tuned up-projection config without TMA. Performance might be sub-optimal.",
    ),
    ignores=("Error: Config file not found at config.yaml. Fallback to triton version 3",),
    read=_untuned,
)
AMX = Rule(
    id="sglang/no-amx",
    compiler=NAME,
    anchor=("The current platform does not support Intel",),
    pattern=OPENS
    + r"(?P<reason>The current platform does not support Intel (?P<name>AMX|XMX), will fallback to \w{1,40} backend)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The matrix units that the attention backend needs are not there: a plain one runs.",
    help="Run on a processor with AMX or XMX, or ask for the other backend by name.",
    seen_in="0.5.23 (source), WARNING",
    matches=("The current platform does not support Intel AMX, will fallback to torch_native backend.",),
    read=_reads("attention", "intel_amx"),
)
QUANTISED = Rule(
    id="sglang/slow-quantized-kernel",
    compiler=NAME,
    anchor=("There is no support for fast MoE kernel", "Falling back to unoptimized AWQ kernels"),
    pattern=OPENS_SGLANG
    + r"(?:(?P<reason>There is no support for fast MoE kernel for current quantization method)"
    r"|Layer '(?P<layer>[^']{1,300})' is not supported by (?P<name>\w{1,60})\. Falling back to unoptimized AWQ kernels)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The quantised layer does not fit the fast kernel: a slower one runs.",
    help="Quantise for a format that has a kernel on this hardware, or take the layer out of the quantisation.",
    seen_in="0.5.23 (source), WARNING, once a text",
    matches=(
        _AT
        + "There is no support for fast MoE kernel for current quantization method. Falling back to slow implementation. ",
        _AT
        + "Layer 'model.layers.0.mlp.down_proj' is not supported by AWQMarlin. Falling back to unoptimized AWQ kernels.",
    ),
    read=lambda rule, record, match: _reads(None if match["layer"] else "fused_moe")(rule, record, match),
)
MODEL = Rule(
    id="sglang/transformers-implementation",
    compiler=NAME,
    anchor=("no SGLang implementation, falling back to Transformers",),
    pattern=OPENS
    + r"(?P<op>\S{1,200}) has (?P<reason>no SGLang implementation, falling back to Transformers implementation)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="SGLang has no model of this architecture: the one of Transformers runs, without SGLang's fused layers.",
    help="Add the architecture to SGLang, or serve a model that it knows.",
    seen_in="0.4.7 to 0.5.23 (source), WARNING",
    matches=(
        _AT + "GateForCausalLM has no SGLang implementation, falling back to Transformers implementation.",
    ),
    read=_reads(),
)
OPERATOR = Rule(
    id="sglang/operator",
    compiler=NAME,
    anchor=("FlashInfer GDN mutable buffer", "Forced fused-op backend", "fast path is not bit-exact against"),
    pattern=OPENS
    + r"(?:FlashInfer GDN mutable buffer \S{1,80} (?P<reason>has data_ptr .{1,200}?); falling back to Triton for this call"
    r"|Forced fused-op backend '?(?P<backend>[^\s']{1,80})'? is not implemented by (?P<op>[\w.:]{1,120}); falling back to normal dispatch"
    r"|(?P<site>[\w.:]{1,120}) fast path is not bit-exact against this platform's reference dispatch; falling back to eager)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The operator's fast kernel can't take this call: another implementation runs.",
    help="Look at the reason; a backend that is forced and missing should not be forced.",
    seen_in="0.5.23 (source), WARNING",
    matches=(
        "FlashInfer GDN mutable buffer 'state' has data_ptr 140 (mod 32 = 12); falling back to Triton for this call.",
        "Forced fused-op backend 'cutedsl' is not implemented by rms_norm; falling back to normal dispatch for this op.",
        "residual_gate fast path is not bit-exact against this platform's reference dispatch; falling back to eager. max diff 0.1.",
    ),
    read=lambda rule, record, match: _reads(
        match["op"] or match["site"] or "gated_delta_rule", *filter(None, (match["backend"],))
    )(rule, record, match),
)
CAPTURED = Marker(
    id="sglang/captured",
    compiler=NAME,
    anchor=("Capture cuda graph end",),
    pattern=OPENS_SGLANG + r"Capture cuda graph end\b",
    shows="CUDA graphs were captured, after all layers ran once; by which rank.",
    seen_in="0.2 to 0.5.23, INFO",
    matches=(_AT + "Capture cuda graph end. Time elapsed: 29.9 s. mem usage=1.0 GB. avail mem=9.1 GB.",),
    ignores=("Capture cuda graph end",),
    read=lambda marker, record, match: _sighted(marker, record),
)
LOADED = Marker(
    id="sglang/loaded",
    compiler=NAME,
    anchor=("Load weight end.",),
    pattern=OPENS_SGLANG + r"Load weight end\.",
    shows="A model was loaded; by which rank.",
    seen_in="0.2 to 0.5.23, INFO",
    matches=(_AT + "Load weight end. elapsed=18.1 s, type=GateMoeForCausalLM, dtype=torch.bfloat16",),
    read=lambda marker, record, match: _sighted(marker, record),
)


def _sighted(marker: Marker, record: Record) -> Iterable[Sighting]:
    yield Sighting(marker.id, record.position, (_tag(record),), None, _rank(record))


SETTING = "--log-level info (the default), and TORCH_LOGS=output_code where torch.compile is on"
REQUIRED = frozenset({Kind.CUDAGRAPH_SKIP, Kind.UNTUNED_CONFIG, Kind.SLOWER_KERNEL, Kind.OP_FALLBACK})


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Each of the tags that loaded a model captured its graphs."""
    loaded, captured = evidence.of(LOADED.id), evidence.of(CAPTURED.id)
    if captured and loaded <= captured:
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


RULES = (GRAPH_OFF, PREFILL, DECODE, UNTUNED, OTHER_TRITON, AMX, QUANTISED, MODEL, OPERATOR)
READER = Reader(
    name=NAME,
    rules=RULES,
    markers=(CAPTURED, LOADED),
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: what it refuses is told, an attention backend that is its second choice is not",
    seen_in="0.5.23 (source), some of it since 0.2",
)
