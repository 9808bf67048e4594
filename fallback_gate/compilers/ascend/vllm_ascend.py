r"""vllm-ascend: vLLM on Ascend: models that run without a graph, and kernels that are not there.

    INFO 01-01 00:00:00 [platform.py:133] Compilation disabled, using eager mode by default
    WARNING 01-01 00:00:00 [utils.py:443] Failed to register custom ops, all custom ops will be disabled. ...

**What falls back.** The model, or its draft model, runs eager; ACL graphs are switched off or narrowed;
custom operators or Triton kernels are missing; a layer gets no quantised kernel.

**At which setting it speaks.** At vLLM's default level (INFO), once, while it starts. Fusions that a data
type rules out, and layers without a quantised method, at `VLLM_LOGGING_LEVEL=DEBUG`.

**When it is silent.** A batch that fits no captured size runs without a graph and without a line. That
Breakable cudagraph is force disabled is said at each import and means nothing for the run.

**What proves the end.** Nothing: `Replaying aclgraph` shows that one batch ran from a graph, not that all do.

Wording from vllm-ascend's source of 2026, and from public threads for 0.8 and 0.9.
"""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.compilers.ascend.names import fixed, named, of_layer, of_op
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.compilers.serving.python_log import OPENS
from fallback_gate.model import Kind, Proof, Scope, State

NAME = "vllm-ascend"
_SEEN = "vllm-ascend of 2026 (source)"
_HELP = "Unset enforce_eager, or choose a graph mode that this version supports."

EAGER = Rule(
    id="vllm-ascend/eager",
    compiler=NAME,
    anchor=(
        "Compilation disabled, using eager mode",
        "NPU graph mode is currently experimental and disabled",
    ),
    pattern=OPENS
    + r"(?:NPU compilation support pending\. .{0,120}?)?(?P<reason>Compilation disabled, using eager mode by default"
    r"|NPU graph mode is currently experimental and disabled by default)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="The model runs eager: nothing is compiled or captured.",
    help=_HELP,
    seen_in=f"0.8 (public threads) WARNING, {_SEEN} INFO",
    matches=(
        "INFO 01-01 00:00:00 [platform.py:133] Compilation disabled, using eager mode by default",
        "WARNING 01-01 00:00:00 [platform.py:125] NPU compilation support pending. Will be available in future CANN and torch_npu releases. NPU graph mode is currently experimental and disabled by default.",
    ),
    ignores=("mytrainer: Compilation disabled, using eager mode by default",),
    read=fixed(),
)

EAGER_DRAFT = Rule(
    id="vllm-ascend/eager-draft-model",
    compiler=NAME,
    anchor=("The draft model has been automatically switched to eager",),
    pattern=r"(?P<reason>currently do not support graph mode)\. The draft model has been automatically switched to eager mode",
    kind=Kind.EAGER_FRAME,
    scope=Scope.REGION,
    meaning="The draft model of speculative decoding runs eager.",
    help="Leave speculative decoding off for this model, or take a version that captures the draft model.",
    seen_in=f"{_SEEN}, WARNING",
    matches=(
        "GLM series models with speculative decoding currently do not support graph mode. The draft model has been automatically switched to eager mode (enforce_eager=true).",
    ),
    read=fixed("draft_model"),
)

NO_GRAPH = Rule(
    id="vllm-ascend/no-acl-graph",
    compiler=NAME,
    anchor=(
        "action: setting CUDAGraphMode to NONE",
        "cudagraph_mode is not support on NPU",
        "Encoder-decoder models don",
        "ACLGraph has been disabled when",
        "Falling back to FULL_DECODE_ONLY under xlite",
    ),
    pattern=r"(?P<reason>NPU does not support compilation mode\. mode=[^,\s]{1,64}, action: setting CUDAGraphMode to NONE"
    r"|[\w.]{1,64} cudagraph_mode is not support on NPU\. falling back to NONE"
    r"|Encoder-decoder models don't support [\w.]{1,64}, fallback to [\w.]{1,64}"
    r"|ACLGraph has been disabled when \w[\w ]{0,200}"
    r"|Falling back to FULL_DECODE_ONLY under xlite decode-only mode)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="The graph mode that was asked for is not there: ACL graphs are off, or cover less.",
    help=_HELP,
    seen_in=f"{_SEEN}, INFO and WARNING",
    matches=(
        "NPU does not support compilation mode. mode=2, action: setting CUDAGraphMode to NONE.",
        "INFO 01-01 00:00:00 [platform.py:1103] FULL cudagraph_mode is not support on NPU. falling back to NONE",
        "Encoder-decoder models don't support CUDAGraphMode.FULL, fallback to CUDAGraphMode.PIECEWISE.",
        "ACLGraph has been disabled when speculation is disabled in xlite full mode",
        "INFO 01-01 00:00:00 [platform.py:524] Falling back to FULL_DECODE_ONLY under xlite decode-only mode",
    ),
    ignores=(
        "INFO 01-01 00:00:00 [platform.py:60] Breakable cudagraph is force disabled on Ascend because DeepSeek V4 PIECEWISE cudagraph is not supported yet.",
        "Encoder-decoder models don't use a prefix cache",
    ),
    read=fixed(),
)

NO_CUSTOM_OPS = Rule(
    id="vllm-ascend/no-custom-ops",
    compiler=NAME,
    anchor=("Failed to register custom ops, all custom ops",),
    pattern=r"(?P<reason>Failed to register custom ops, all custom ops will be disabled.{0,300})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The library of custom operators did not load: all of them run as PyTorch operators.",
    help="Install the custom operators for this CANN version, and check LD_LIBRARY_PATH.",
    seen_in=f"{_SEEN}, WARNING",
    matches=(
        "Failed to register custom ops, all custom ops will be disabled. error=libopapi missing. The custom ops library might not be installed",
    ),
    read=fixed(),
)

NO_TRITON = Rule(
    id="vllm-ascend/no-triton",
    compiler=NAME,
    anchor=("Triton not available, falling back to vLLM default",),
    pattern=r"\[sample/(?P<part>\w{1,64})\] (?P<reason>Triton not available), falling back to vLLM default penalty implementation",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The sampler applies penalties with plain PyTorch operators, at each token.",
    help="Install triton-ascend.",
    seen_in=f"{_SEEN}, WARNING, once",
    matches=(
        "[sample/sampler] Triton not available, falling back to vLLM default penalty implementation. Penalty performance may be degraded on NPU.",
        "[sample/rejection_sampler] Triton not available, falling back to vLLM default penalty implementation in rejection sampler. Rejection sampling performance may be degraded on NPU.",
    ),
    ignores=(
        "[sample/sampler] BATCH_INVARIANT mode enabled, falling back to vLLM native top-k/top-p implementation.",
    ),
    read=lambda rule, record, match: (named(rule, record, match, match["part"], "apply_penalties"),),
)

NOT_FUSED = Rule(
    id="vllm-ascend/not-fused",
    compiler=NAME,
    anchor=("fusion not enabled: unsupported dtype", "fusion not enabled: required MX symbols"),
    pattern=r"\b(?P<op>MulsAdd|Quant|QKNorm and Rope|(?:Add)?RMSNormDynamicMXQuant) "
    r"(?P<reason>fusion not enabled: (?:unsupported dtype \S{1,64}|required MX symbols unavailable.{0,80}))",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The fused kernel does not take the model's data type: its operators run one by one.",
    help="Serve the model in float16 or bfloat16.",
    seen_in=f"{_SEEN}, DEBUG",
    matches=(
        "QKNorm and Rope fusion not enabled: unsupported dtype torch.float32",
        "AddRMSNormDynamicMXQuant fusion not enabled: required MX symbols unavailable, or device isn't A5",
    ),
    read=of_op,
)

NOT_QUANTIZED = Rule(
    id="vllm-ascend/not-quantized",
    compiler=NAME,
    anchor=("Falling back to UnquantizedLinearMethod",),
    pattern=r"^(?!\[\d{4}-)(?!.{0,80}\bcompressed_tensors\.py:)[^\"]{0,200}?"
    r"(?P<reason>Acceleration for non-quantized schemes is not supported by Compressed Tensors)\. Falling back to UnquantizedLinearMethod",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.UNKNOWN,
    meaning="A linear layer has no quantised scheme: it runs in the model's own data type.",
    help="Compare the checkpoint's ignore list with the layers that should be quantised.",
    seen_in=f"{_SEEN}, WARNING, once",
    matches=(
        "Acceleration for non-quantized schemes is not supported by Compressed Tensors. Falling back to UnquantizedLinearMethod",
        "WARNING 01-01 00:00:00 [compressed_tensors_config.py:271] Acceleration for non-quantized schemes is not supported by Compressed Tensors. Falling back to UnquantizedLinearMethod",
    ),
    ignores=(
        "WARNING 01-01 00:00:00 [compressed_tensors.py:707] Acceleration for non-quantized schemes is not supported by Compressed Tensors. Falling back to UnquantizedLinearMethod",
        "[2026-01-01 00:00:00 TP0] Acceleration for non-quantized schemes is not supported by Compressed Tensors. Falling back to UnquantizedLinearMethod",
    ),
    at_least=True,
    read=fixed(),
)

BASE_LAYER = Rule(
    id="vllm-ascend/no-quant-method",
    compiler=NAME,
    anchor=("No quant method matched for ",),
    pattern=r"(?P<reason>No quant method matched) for (?P<layer>[\w./-]{1,256}), falling back to base",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The layer has no quantised kernel: the plain one runs.",
    help="Look the layer up in the quantisation description of the checkpoint.",
    seen_in=f"{_SEEN}, DEBUG",
    matches=("No quant method matched for model.layers.0.mlp.gate, falling back to base",),
    read=of_layer,
)

NO_FUSED_ATTENTION = Rule(
    id="vllm-ascend/attention-not-fused",
    compiler=NAME,
    anchor=(
        "fallback to native preprocessing",
        "mlapo only supports W8A8",
        "npugraph_ex is not supported on",
    ),
    pattern=r"(?:(?P<reason>(?:^|(?<=\] ))[^\"]{1,200}) Disable SFA (?P<op>mla_prolog_v3) for layer (?P<layer>[\w./-]{1,256}); fallback to native"
    r"|(?P<mlapo>mlapo) only supports W8A8 quantization in MLA\b"
    r"|(?P<graph>npugraph_ex) is not supported on Ascend \w{1,20}\. Disabling it)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The fused kernel in front of latent attention, or the graph's optimiser, can't be used: plain operators run.",
    help="Quantise the layers as the line says, or allow it on this chip.",
    seen_in="vllm-ascend 0.23 (source), WARNING, once a text",
    matches=(
        "fused_qkv_a_proj is None, mlapo is disabled. Disable SFA mla_prolog_v3 for layer model.layers.0.self_attn.attn; fallback to native preprocessing.",
        "mlapo only supports W8A8 quantization in MLA. Some layers not W8A8 quantized, mlapo disabled for these layers.",
        "npugraph_ex is not supported on Ascend 310P. Disabling it.",
    ),
    read=lambda rule, record, match: (
        named(rule, record, match, match["op"] or match["mlapo"] or match["graph"], match["layer"]),
    ),
)

NO_MODEL = Rule(
    id="vllm-ascend/model-without-graph",
    compiler=NAME,
    anchor=("ACL Graph does not support ",),
    pattern=r"(?P<reason>ACL Graph does not support (?P<op>[\w.-]{1,128}))\. Please try torchair graph mode",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="ACL graphs do not cover this model: the server ends, or is started again in eager mode.",
    help="Serve the model with torchair's graph mode, or take a later version.",
    seen_in="0.9 (public threads), an exception",
    matches=(
        "NotImplementedError: ACL Graph does not support deepseek. Please try torchair graph mode to serve deepseek models on vllm-ascend. Or set `enforce_eager=True` to use eager mode",
    ),
    read=of_op,
)

RULES = (
    EAGER, EAGER_DRAFT, NO_GRAPH, NO_CUSTOM_OPS, NO_TRITON, NOT_FUSED, NOT_QUANTIZED, BASE_LAYER, NO_MODEL,
    NO_FUSED_ATTENTION,
)  # fmt: skip
MARKERS = (
    Marker(
        id="vllm-ascend/replay",
        compiler=NAME,
        anchor=("Replaying aclgraph",),
        pattern=r"\bReplaying aclgraph\s*$",
        shows="INFO was on, and one batch ran from a captured graph.",
        seen_in=_SEEN,
        matches=("INFO 01-01 00:00:00 [acl_graph.py:252] Replaying aclgraph",),
    ),
)
REQUIRED = frozenset({Kind.EAGER_FRAME, Kind.CUDAGRAPH_SKIP})
SETTING = (
    "VLLM_LOGGING_LEVEL=INFO from the first line on, and a marker in the policy for the end of the start-up"
)


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Batches that fit no graph are not told; the modes are told once, while the server starts."""
    eager = "the mode is told once, while the server starts, and no line shows that the log holds all of that"
    batch = "a batch that fits no captured size runs without a graph, and no line says so"
    return {
        Kind.EAGER_FRAME: Proof(State.UNPROVEN, eager, None, SETTING),
        Kind.CUDAGRAPH_SKIP: Proof(State.UNOBSERVABLE, batch),
    }


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: a batch that fits no captured size is not told",
    seen_in="0.8 and 0.9 (public threads), 2026 (source)",
)
