"""Room 3: SGLang's rules for what runs without a CUDA graph, or is not compiled. The manual page is `sglang`.

Read in the source of 0.4.9, 0.5.5, 0.5.10 and 0.5.23:
https://github.com/sgl-project/sglang/tree/main/python/sglang/srt/model_executor and `arg_groups` beside it.
"""

from __future__ import annotations

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.serving.python_log import OPENS, OPENS_SGLANG
from fallback_gate.compilers.serving.sglang_log import AT, NAME, reads
from fallback_gate.model import Kind, Scope

GRAPH_OFF = Rule(
    id="sglang/cuda-graph-disabled",
    compiler=NAME,
    anchor=(
        "uda graph is disabled ",
        "CUDA graph is disabled ",
        "disable_cuda_graph=True",
        "server_args={",
        "Cuda graph and server warmup are disabled",
        "expert_pack selected: CUDA graph",
        "HRM-Text (prefix_lm)",
        "chunked prefill, or CUDA graphs",
        "Use triton backend without CUDA graph",
        "Debug mode for CUDA graph is enabled",
        "disabling unsupported decode backend",
    ),
    pattern=OPENS + r"(?:C(?:uda|UDA) graph is disabled (?:because (?:of using )?|for )(?P<reason>.{1,300})"
    r"|server_args=ServerArgs\(.*\bdisable_cuda_graph=True\b"
    r"|server_args=\{.*(?:'disable_cuda_graph': True\b|'decode': \{'backend': 'disabled')"
    r"|Cuda graph and server warmup are disabled because of using tensor dump mode"
    r"|When msProbe is enabled, cuda graph is disabled because msProbe only supports dump in eager mode"
    r"|expert_pack selected: CUDA graph and shared-experts fusion are disabled"
    r"|HRM-Text \(prefix_lm\) detected: forcing .{1,200} --disable-cuda-graph"
    r"|[^\"]{1,120} detected: serving .{1,120} without radix cache, chunked prefill, or CUDA graphs"
    r"|Double sparsity optimization is turned on\. Use triton backend without CUDA graph"
    r"|Debug mode for CUDA graph is enabled via breakable CUDA graph"
    r"|XPU platform only supports decode backend 'full'; disabling unsupported decode backend)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="No CUDA graph is captured, or each operator runs eager within it: each kernel of each decode step is "
    "launched on its own.",
    help="Take an attention backend and a mode that allow CUDA graphs, and serve without --disable-cuda-graph.",
    seen_in="0.2 to 0.5.23 (source), WARNING and INFO",
    matches=(
        AT + "Cuda graph is disabled because of using torch native attention backend",
        "Cuda graph is disabled because deepep_mode=`normal`",
        "[2026-01-01 00:00:00] server_args=ServerArgs(model_path='/app/gate', disable_cuda_graph=True, attention_backend=None)",
        "[2026-01-01 00:00:00] server_args={'model_path': '/app/gate', 'disable_cuda_graph': True, 'attention_backend': None}",
        "[2026-01-01 00:00:00] server_args={'model_path': '/app/gate', 'cuda_graph_config': {'decode': {'backend': 'disabled', 'max_bs': None}, 'prefill': {'backend': 'disabled'}}}",
        "[2026-01-01 00:00:00] Cuda graph is disabled for prefill server when piecewise cuda graph is not enabled.",
        "[2026-01-01 00:00:00] CUDA graph is disabled because --enable-mis is set.",
        "[2026-01-01 00:00:00] Cuda graph and server warmup are disabled because of using tensor dump mode",
        "[2026-01-01 00:00:00] When msProbe is enabled, cuda graph is disabled because msProbe only supports dump in eager mode, warmup is disabled(skip_server_warmup=True)",
        "[2026-01-01 00:00:00] Debug mode for CUDA graph is enabled via breakable CUDA graph. All operations will run eagerly through the graph capture/replay path.",
        "[2026-01-01 00:00:00 TP0] Double sparsity optimization is turned on. Use triton backend without CUDA graph.",
    ),
    ignores=(
        "[2026-01-01 00:00:01] server_args=ServerArgs(model_path='/app/gate', disable_cuda_graph=False, fallback=None)",
        "engine = Engine(model, disable_cuda_graph=True)",
        "[2026-01-01 00:00:00] server_args={'disable_cuda_graph': False, 'cuda_graph_config': {'decode': {'backend': 'full', 'max_bs': 160}, 'prefill': {'backend': 'disabled'}}}",
    ),
    shared_anchor=True,
    read=reads(),
)
PREFILL = Rule(
    id="sglang/prefill-graph-disabled",
    compiler=NAME,
    anchor=(
        "prefill CUDA graph",
        "piecewise CUDA graph",
        "Piecewise cuda graph is disabled",
        "disabling the FULL prefill cuda-graph backend",
        "is incompatible with --enable-kv-cache-sharding",
        "longer contexts run eager prefill",
        "PCG capture stream is not set",
    ),
    pattern=OPENS
    + r"(?P<reason>Disabl(?:e|ing) (?:breakable |target |draft )?(?:prefill|piecewise) CUDA graph .{1,300}"
    r"|(?:Full prefill|Breakable) CUDA graph is incompatible with .{1,200}; disabling prefill CUDA graph"
    r"|Piecewise cuda graph is disabled for .{1,200}"
    r"|--enable-unified-memory: disabling the FULL prefill cuda-graph backend"
    r"|Prefill CUDA graph \(\w{1,40}\) is incompatible with --enable-kv-cache-sharding"
    r"|Prefill CUDA graph replays contexts up to \d{1,9} tokens.{1,100}; longer contexts run eager prefill"
    r"|PCG capture stream is not set)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.REGION,
    meaning="Prefill, or a part of it, runs without a CUDA graph.",
    help="Look at the reason; --cuda-graph-backend-prefill chooses how prefill is captured.",
    seen_in="0.5.5 to 0.5.23 (source), INFO and WARNING",
    matches=(
        AT
        + "Disable prefill CUDA graph because cuda_graph_config resolved prefill.backend='disabled' (e.g. via --cuda-graph-backend-prefill=disabled or auto-disable rules).",
        "PCG capture stream is not set. This can be a Dynamo runtime recompilation; falling back to eager execution for this subgraph.",
        AT + "Disable piecewise CUDA graph because some layers do not apply Standard GQA",
        AT + "Disable draft prefill CUDA graph because the draft model does not have a 'layers' attribute",
        "[2026-01-01 00:00:00] Disabling breakable prefill CUDA graph by default for pipeline parallelism. Set --cuda-graph-backend-prefill=breakable",
        "[2026-01-01 00:00:00] Breakable CUDA graph is incompatible with --enable-two-batch-overlap; disabling prefill CUDA graph.",
        "[2026-01-01 00:00:00] Piecewise cuda graph is disabled for MoE runner backend 'flashinfer_trtllm' (bypassed topk is incompatible with torch.compile).",
        AT
        + "Prefill CUDA graph replays contexts up to 8192 tokens, the attention backend's default; longer contexts run eager prefill.",
    ),
    ignores=(AT + "Enabling breakable prefill CUDA graph for supported prefill CP.",),
    read=reads("prefill"),
)
DRAFT = Rule(
    id="sglang/draft-eager",
    compiler=NAME,
    anchor=(
        "draft cuda graph because",
        "running the draft loop eagerly",
        "use cuda graph for draft extend",
        "head kept eager (reason=",
        "proposal kept eager (reason=",
        "sampled draft ran the eager head",
        "sampling-accept graph capture",
    ),
    pattern=OPENS + r"(?P<reason>Disable (?P<op>\w{1,40}) draft cuda graph because .{1,200}"
    r"|Frozen-KV MTP draft CUDA graph is only supported on CUDA; running the draft loop eagerly"
    r"|can't use cuda graph for draft extend"
    r"|(?P<layer>\w{1,40}) (?:draft greedy head|draft proposal|head) kept eager \(reason=[^)]{1,200}\)"
    r"|LiLiCorr sampled draft ran the eager head on a decode step"
    r"|DSpark sampling-accept graph capture failed for .{1,200}?; sampling steps take the eager accept)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.REGION,
    meaning="The draft model of speculative decoding, or a part of it, runs without a CUDA graph.",
    help="Look at the reason: memory that is left, the platform or a mode that does not allow it.",
    seen_in="0.5.10 to 0.5.23 (source), WARNING and INFO",
    matches=(
        AT + "Disable DFLASH draft cuda graph because dp attention is enabled (draft runs eager).",
        AT
        + "Frozen-KV MTP draft CUDA graph is only supported on CUDA; running the draft loop eagerly on xpu.",
        AT + "can't use cuda graph for draft extend! may have correctness issue!",
        AT + "DFLASH draft greedy head kept eager (reason=tp size).",
        AT
        + "DSpark sampling-accept graph capture failed for (8, 4); sampling steps take the eager accept from now on.",
    ),
    read=lambda rule, record, match: reads(None if match["op"] or match["layer"] else "draft")(
        rule, record, match
    ),
)
EAGER = Rule(
    id="sglang/torch-compile-disabled",
    compiler=NAME,
    anchor=("model reports it is not torch.compile compatible",),
    pattern=OPENS + r"(?P<reason>Transformers backend model reports it is not torch\.compile compatible)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="torch.compile was asked for, and the model of Transformers does not allow it: it runs in eager mode.",
    help="Serve SGLang's own model of this architecture, or without --enable-torch-compile.",
    seen_in="0.5.23 (source), INFO",
    matches=(
        AT
        + "Transformers backend model reports it is not torch.compile compatible (e.g. dynamic rope scaling). Disabling torch.compile.",
    ),
    read=reads(),
)
ENCODER = Rule(
    id="sglang/eager-fallback",
    compiler=NAME,
    anchor=(
        "ViT CUDA graph uses eager",
        "ViT CUDA graph cache",
        "ViT CUDA graph capture",
        "glue-graph capture failed",
    ),
    pattern=OPENS
    + r"(?:[^\"]{1,40} (?P<op>ViT) CUDA graph (?P<reason>uses eager fallback above .{1,120}|cache reached capacity.{1,120}|capture failed for .{1,120})"
    r"|(?P<layer>Metadata glue-graph) capture failed for key .{1,200}; falling back to eager)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.REGION,
    meaning="Inputs of some sizes, or the preparation of each step, run without the graph that was to be captured.",
    help="Raise the limit that the message names, or allow it as cold.",
    seen_in="0.5.23 (source), INFO, WARNING and ERROR",
    matches=(
        AT
        + "Kimi-K3 ViT CUDA graph uses eager fallback above max_seqlen=4096 to avoid low-value captures and HBM use",
        AT + "Kimi-K3 ViT CUDA graph capture failed for key=(1, 2); using eager fallback",
        AT
        + "Metadata glue-graph capture failed for key (8, 1); falling back to eager metadata prep permanently.",
    ),
    read=reads(),
)
DECODE = Rule(
    id="sglang/decode-without-graph",
    compiler=NAME,
    anchor=("graph: False",),
    pattern=OPENS_SGLANG + r"Decode batch.{1,400}?, (?P<reason>(?:cuda|npu|cpu|xpu|musa) graph: False)\b",
    kind=Kind.CUDAGRAPH_SKIP,
    shared_anchor=True,
    scope=Scope.REGION,
    meaning="This decode batch was not replayed from a graph: it is larger than any that was captured, or none was.",
    help="Raise --cuda-graph-max-bs to the batch sizes that are served.",
    seen_in="0.4 to 0.5.23 (source), INFO, once for many steps",
    matches=(
        AT
        + "Decode batch, #running-req: 4, #token: 512, token usage: 0.01, cuda graph: False, gen throughput (token/s): 80.11, #queue-req: 0,",
    ),
    ignores=(
        AT
        + "Decode batch, #running-req: 4, #token: 512, token usage: 0.01, cuda graph: True, gen throughput",
        AT + "Prefill batch, #new-seq: 1, #new-token: 512, cuda graph: False",
    ),
    at_least=True,
    read=reads("decode"),
)
RULES = (GRAPH_OFF, PREFILL, DECODE, DRAFT, EAGER, ENCODER)
