r"""torch.compile: TorchDynamo and TorchInductor, from their text logs.

**What falls back.** Dynamo stops tracing (a graph break), gives up a whole frame, or stops recompiling at
a limit: that code runs in the eager interpreter. A back end fails or generates nothing. Inductor has no
code for an operator and calls the framework's kernel (`FallbackKernel`, `ScatterFallback`,
`IndexPutFallback`). A graph is not captured as a CUDA graph, or only in parts.

**At which setting it speaks.** At the default level only: limits, swallowed errors, `Tensor.item()`, a
builtin that can't be traced, complex numbers, a graph that loses its CUDA graph. Everything else is
silent there, a decode loop at a quarter of its speed included. `TORCH_LOGS`:

| setting | shows | is blind to |
| --- | --- | --- |
| `graph_breaks` | each graph break, from 2.13 each frame given up | fallback kernels, eager back ends, a compiler that is off |
| `dynamo` | back end, frames traced and given up, an empty list at exit | where and why a graph broke |
| `perf_hints` | `FallbackKernel` once for each graph and operator | scatter and index_put fallbacks, everything on a cache hit |
| `inductor` | operators without any lowering | operators on Inductor's fallback list |
| `output_code` | each call that is no generated kernel, also on a cache hit | graph breaks |
| `+dynamo` | all of Dynamo | fallback kernels |
| `+inductor` | each scheduled fallback kernel | graph breaks, everything on a cache hit |

`TORCH_LOGS=dynamo,graph_breaks,recompiles,output_code` shows all with the least volume.

**When it is silent at every level.** `set_stance("eager_on_recompile")`; a module whose forward is
disabled beside others that compile; a frame without tensor operations; a reference algorithm that was
compiled in full; scaled_dot_product_attention decomposed for lack of a fused kernel.

**What proves the end.** Dynamo's list of traced frames, or its table of compilation metrics, at exit.

Wording seen in 2.7.1, 2.9.1, 2.11.0, 2.13.0 and 2.14.1 (run), and in part in 2.1.2 and 2.4.1 (run).
"""

from __future__ import annotations

from fallback_gate.compilers import torch_dynamo as dynamo
from fallback_gate.compilers import torch_inductor as inductor
from fallback_gate.compilers import torch_trace
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.compilers.torch_proof import MARKERS, REQUIRED, SETTING, prove
from fallback_gate.model import Kind, Scope

NAME = "torch.compile"
_GRAPH_BREAKS = "V1130 00:29:06.251000 4674 torch/_dynamo/symbolic_convert.py:5124] [0/0] [__graph_breaks] "
_DYNAMO = "1130 00:18:20.571000 28717 torch/_dynamo/convert_frame.py:1994] [0/8] "
_INDUCTOR = "1130 00:42:05.094000 12430 torch/_inductor/graph.py:1002] [0/0] "
_CODE = "V1130 00:31:36.193000 5156 torch/_inductor/graph.py:2722] [0/0] [__output_code] "

_BREAK_HELP = (
    "Rewrite the call that breaks the graph, or move it out of the compiled region; fullgraph=True turns a break "
    "into an error while you work. https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html"
)
_KERNEL_HELP = (
    "Give the operator a lowering, a decomposition or a Triton kernel; if the library kernel is the fast path, "
    "allow it as a cold operator with a reason. https://docs.pytorch.org/docs/stable/torch.compiler_faq.html"
)

GRAPH_BREAK = Rule(
    id="torch/graph-break",
    compiler=NAME,
    anchor=("Graph break",),
    pattern=r"Graph break (?:\(user stack suppressed due to duplicate graph break\) )?in user code at (?P<file>.+):(?P<line>\d{1,9})",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.SITE,
    meaning="Dynamo stopped tracing here: the call runs in the eager interpreter and the graph is cut in two.",
    help=_BREAK_HELP,
    seen_in="2.7 to 2.14, artifact graph_breaks (which +dynamo switches on)",
    matches=(
        _GRAPH_BREAKS + "Graph break in user code at /app/moe/breaks.py:64",
        _GRAPH_BREAKS
        + "Graph break (user stack suppressed due to duplicate graph break) in user code at breaks.py:64",
    ),
    ignores=(
        "docs: Graph break in user code at model.py:3 means that ...",
        _GRAPH_BREAKS + "Graph Break Reason: Data-dependent branching",
    ),
    read=dynamo.graph_break,
)

OLD_GRAPH_BREAK = Rule(
    id="torch/graph-break",
    compiler=NAME,
    anchor=("Graph break",),
    pattern=r"Graph break: (?P<reason>.*?) ?from user code at:?\s*(?P<rest>File .*)?$",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.SITE,
    meaning=GRAPH_BREAK.meaning,
    help=_BREAK_HELP,
    seen_in="2.0 to 2.6, artifact graph_breaks (2.0: WARNING)",
    matches=(
        "V1130 01:17:55.025000 139853580790656 torch/_dynamo/symbolic_convert.py:534] [0/0] [__graph_breaks] Graph break: from user code at:",
        "[2026-11-30 01:18:36,471] [4/0] torch._dynamo.symbolic_convert.__graph_breaks: [DEBUG] Graph break: Tensor.item from user code at:",
        '[2023-03-31 05:57:27,551] torch._dynamo.symbolic_convert: [WARNING] Graph break: call_function f from user code at   File "m.py", line 3, in f',
    ),
    ignores=("W" + _DYNAMO + "Graph break: from user code at:",),
    read=dynamo.old_graph_break,
)

ITEM = Rule(
    id="torch/item-break",
    compiler=NAME,
    anchor=("Graph break",),
    pattern=r"Graph break from `Tensor\.item\(\)`, consider setting:",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.SITE,
    meaning="Tensor.item() moves a value to Python: the graph ends here, and on a GPU the host waits.",
    help="Keep the value a tensor, or set torch._dynamo.config.capture_scalar_outputs = True.",
    seen_in="2.4 to 2.14, WARNING, once a process",
    matches=("W" + _DYNAMO + "Graph break from `Tensor.item()`, consider setting:",),
    ignores=("Graph break from `Tensor.item()`, consider setting:",),
    at_least=True,
    read=dynamo.item_warning,
)

BUILTIN = Rule(
    id="torch/untraceable-builtin",
    compiler=NAME,
    anchor=("does not know how to trace", "Graph break"),
    pattern=r"UserWarning: (?:Dynamo does not know how to trace the builtin `|Graph break due to unsupported builtin )(?P<op>[\w.]+)",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.SITE,
    meaning="A Python builtin or C function that Dynamo can't trace breaks the graph at each call.",
    help="Take the call out of the compiled region, or register it as a custom operator (torch.library.custom_op).",
    seen_in="2.4 to 2.14, a Python warning, once for each builtin and process",
    matches=(
        "/opt/torch/_dynamo/variables/functions.py:2431: UserWarning: Dynamo does not know how to trace the builtin `sys.getrefcount.` This function is",
        "/opt/torch/_dynamo/variables/functions.py:702: UserWarning: Graph break due to unsupported builtin sys.getrefcount. This function",
    ),
    ignores=(
        _GRAPH_BREAKS
        + "  Explanation: Dynamo does not know how to trace the builtin `time.thread_time_ns.` This",
    ),
    at_least=True,
    read=dynamo.untraceable_builtin,
)

WONT_CONVERT = Rule(
    id="torch/frame-not-converted",
    compiler=NAME,
    anchor=("T CONVERT ",),
    pattern=r"WON'T CONVERT (?P<function>\S+) (?P<file>.+) line (?P<line>\d{1,9})\s*$",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.REGION,
    meaning="Dynamo or its back end failed on this frame, the error was swallowed, and the frame runs in eager.",
    help="Unset torch._dynamo.config.suppress_errors to see the error, and mend what the back end can't compile.",
    seen_in="2.0 to 2.14: WARNING for an error; from 2.13 also INFO for a frame given up after a break or a limit",
    matches=("W" + _DYNAMO + "WON'T CONVERT forward /app/moe/decoder.py line 148 ",),
    ignores=("W" + _DYNAMO + "due to: ",),
    read=dynamo.wont_convert,
)

SKIPPED_IN_LOOP = Rule(
    id="torch/frame-skipped",
    compiler=NAME,
    anchor=("Skipping frame because there is a graph break in a",),
    pattern=r"Skipping frame because there is a graph break in a for/while loop",
    kind=Kind.EAGER_FRAME,
    scope=Scope.REGION,
    meaning="A graph broke inside a loop, so Dynamo gave up the whole frame: it runs in eager.",
    help=_BREAK_HELP,
    seen_in="2.1 to 2.12, INFO of dynamo",
    matches=("I" + _DYNAMO + "Skipping frame because there is a graph break in a for/while loop",),
    ignores=("Skipping frame because there is a graph break in a for/while loop: see docs",),
    read=dynamo.skipped_in_loop,
)

RECOMPILE_LIMIT = Rule(
    id="torch/recompile-limit",
    compiler=NAME,
    anchor=("hit config.",),
    pattern=r"(?:torch\._dynamo|torchdynamo) hit config\.(?P<limit>\w*(?:recompile|cache_size)_limit \(\d+\))",
    kind=Kind.RECOMPILE_LIMIT,
    scope=Scope.REGION,
    meaning="The function was recompiled too often; from here on new inputs run in eager, without a further word.",
    help="Mark what changes as dynamic (torch._dynamo.mark_dynamic), or keep Python numbers off the module; "
    "TORCH_LOGS=recompiles names each guard that failed.",
    seen_in="2.0 to 2.14, WARNING (cache_size_limit up to 2.5)",
    matches=(
        "W" + _DYNAMO + "torch._dynamo hit config.recompile_limit (8)",
        "W" + _DYNAMO + "torch._dynamo hit config.accumulated_recompile_limit (256)",
        "W" + _DYNAMO + "torch._dynamo hit config.cache_size_limit (64)",
    ),
    ignores=(
        "torch._dynamo hit config.recompile_limit (8)",
        "W" + _DYNAMO + "torch._dynamo hit config.verbose",
    ),
    read=dynamo.recompile_limit,
)

RAISED = Rule(
    id="torch/compile-error",
    compiler=NAME,
    anchor=("torch._dynamo.exc.", "torch._inductor.exc.", "symbolic_shapes.GuardOnDataDependentSymNode"),
    pattern=r"^ *(?P<error>(?:torch\._dynamo\.exc|torch\._inductor\.exc|torch\.fx\.experimental\.symbolic_shapes)\.\w+): "
    r"(?P<reason>.*)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="Compiling raised an error: the program ended, or its author caught it and went on without the compiler.",
    help="Read the traceback above the line; with fullgraph=True this is the graph break that must go.",
    seen_in="2.0 to 2.14, a Python traceback",
    matches=(
        "torch._dynamo.exc.Unsupported: Data-dependent branching",
        "torch._inductor.exc.InductorError: LoweringException: NotImplementedError: no kernel",
        "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode: Could not guard on data-dependent expression Eq(u0, 1)",
    ),
    ignores=(
        "W" + _DYNAMO + "torch._dynamo.exc.Unsupported: Data-dependent branching",
        "    raise torch._dynamo.exc.Unsupported(msg)",
        "torch._dynamo.exc.Unsupported",
    ),
    read=dynamo.raised,
)

NO_FRAMES = Rule(
    id="torch/compiler-off",
    compiler=NAME,
    anchor=("found no compiled frames",),
    pattern=r"(?P<reason>torch\.compile with fullgraph=True found no compiled frames)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="fullgraph=True was asked for and nothing was compiled: the call ran in eager, and an error was raised.",
    help="Look at the list of skipped frames below the message.",
    seen_in="2.13 (source)",
    matches=("RuntimeError: torch.compile with fullgraph=True found no compiled frames. Skipped frames:",),
)

EAGER_BACKEND = Rule(
    id="torch/eager-backend",
    compiler=NAME,
    anchor=("compiler function",),
    pattern=r"Step 2: calling compiler function (?P<backend>(?:aot_)?eager\w*)\b",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="The back end generates no code: each operator of the graph runs as a framework call.",
    help="Use backend='inductor' (the default) for what is released.",
    seen_in="2.1 to 2.14, INFO of dynamo",
    matches=(
        "I" + _DYNAMO + "Step 2: calling compiler function eager",
        "I" + _DYNAMO + "Step 2: calling compiler function aot_eager",
    ),
    ignores=("I" + _DYNAMO + "Step 2: calling compiler function inductor",),
    read=dynamo.backend,
)

NOTHING_TRACED = Rule(
    id="torch/compiler-off",
    compiler=NAME,
    anchor=("attempted to trace the following frames",),
    pattern=r"TorchDynamo attempted to trace the following frames: \[",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="Dynamo traced nothing in this process: torch.compile was switched off, and all of it ran in eager.",
    help="Look for TORCHDYNAMO_DISABLE, TORCH_COMPILE_DISABLE, torch.compiler.set_stance and a disabled forward.",
    seen_in="2.7 to 2.14, INFO of dynamo, at exit",
    matches=("I" + _DYNAMO + "TorchDynamo attempted to trace the following frames: [",),
    read=dynamo.nothing_traced,
)

TRACING_DISABLED = Rule(
    id="torch/compiler-off",
    compiler=NAME,
    anchor=("reason: Dynamo tracing is disabled",),
    pattern=r"skipping: (?P<function>\S+) \(reason: Dynamo tracing is disabled, file: (?P<file>[^)]+)\)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.PROGRAM,
    meaning="Tracing is disabled as a whole (TORCH_COMPILE_DISABLE): every frame runs in eager.",
    help="Unset TORCH_COMPILE_DISABLE.",
    seen_in="2.13, DEBUG of dynamo",
    matches=(
        "V" + _DYNAMO + "skipping: forward (reason: Dynamo tracing is disabled, file: /app/moe/decoder.py)",
    ),
    ignores=(
        "V"
        + _DYNAMO
        + "skipping: __iter__ (reason: frame is in the Dynamo skipfiles list, file: /x/container.py)",
    ),
    read=dynamo.tracing_disabled,
)

RESUMED = Rule(
    id="torch/graph-break",
    compiler=NAME,
    anchor=("torchdynamo start tracing",),
    pattern=r"Step 1: torchdynamo start tracing (?P<function>torch_dynamo_resume_in_\S+_at_\d+) (?P<file>.+):(?P<line>\d{1,9})",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.SITE,
    meaning=GRAPH_BREAK.meaning,
    help="Add graph_breaks to TORCH_LOGS for the reason. " + _BREAK_HELP,
    seen_in="2.4 to 2.14, INFO of dynamo",
    matches=(
        "I"
        + _DYNAMO
        + "Step 1: torchdynamo start tracing torch_dynamo_resume_in_rmsnorm_at_28 /app/tv/breaks.py:28",
    ),
    ignores=("I" + _DYNAMO + "Step 1: torchdynamo start tracing forward /app/moe/decoder.py:148",),
    read=dynamo.resumed,
)

FALLBACK_KERNEL = Rule(
    id="torch/fallback-kernel",
    compiler=NAME,
    anchor=("Using FallbackKernel: ",),
    pattern=r"Using FallbackKernel: (?P<op>[\w.:]+)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Inductor has no code for this operator: it runs through the framework's kernel and can't be fused.",
    help=_KERNEL_HELP,
    seen_in="2.1 to 2.14, INFO of artifact perf_hints (not +inductor)",
    matches=(
        "I" + _INDUCTOR + "[__perf_hints] Using FallbackKernel: torch.ops.aten.topk.default",
        "I" + _INDUCTOR + "[__perf_hints] Using FallbackKernel: None",
        "[2023-10-04 16:27:06,745] torch._inductor.graph: [INFO] Using FallbackKernel: aten.topk",
        "/opt/torch/_inductor/ir.py:3000: UserWarning: Using FallbackKernel: aten.cumsum",
    ),
    ignores=("Using FallbackKernel: torch.ops.aten.topk.default",),
    at_least=True,
    read=inductor.hinted,
)

IMPLICIT = Rule(
    id="torch/fallback-kernel",
    compiler=NAME,
    anchor=("Creating implicit fallback for:",),
    pattern=r"Creating implicit fallback for:",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=FALLBACK_KERNEL.meaning,
    help=_KERNEL_HELP,
    seen_in="2.1 to 2.14, INFO of inductor, for operators that are not on Inductor's fallback list",
    matches=("I" + _INDUCTOR + "Creating implicit fallback for:",),
    ignores=("Creating implicit fallback for:",),
    at_least=True,
    read=inductor.implicit,
)

SCHEDULED = Rule(
    id="torch/fallback-kernel",
    compiler=NAME,
    anchor=(
        "scheduling FallbackKernel(",
        "scheduling ScatterFallback(",
        "scheduling IndexPutFallback(",
        "scheduling InplaceBernoulliFallback(",
    ),
    pattern=r"scheduling (?P<node>\w*Fallback\w*)\($",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=FALLBACK_KERNEL.meaning,
    help=_KERNEL_HELP,
    seen_in="2.4 to 2.14, DEBUG of inductor",
    matches=("V" + _INDUCTOR + "scheduling FallbackKernel(",),
    ignores=("V" + _INDUCTOR + "  inputs=[FallbackKernel(", "scheduling FallbackKernel("),
    read=inductor.scheduled,
)

FUSED = Rule(
    id="torch/fallback-kernel",
    compiler=NAME,
    anchor=(".node.kernel = ",),
    pattern=r"\.node\.kernel = (?P<op>(?:torch\.ops|aten)\.[\w.]+)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=FALLBACK_KERNEL.meaning,
    help=_KERNEL_HELP,
    seen_in="2.13, artifact ir_post_fusion",
    matches=("I" + _INDUCTOR + "[__ir_post_fusion] op26.node.kernel = torch.ops.aten.topk.default",),
    ignores=("I" + _INDUCTOR + "[__ir_post_fusion] op3.node.kernel = extern_kernels.mm",),
    read=inductor.fused,
)

CALLED = Rule(
    id="torch/fallback-kernel",
    compiler=NAME,
    anchor=("buf{n} = torch.ops.", "buf{n} = aten.", "  torch.ops.", "  aten."),
    pattern=r"^\t|\[__output_code\]|\.__output_code:",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=FALLBACK_KERNEL.meaning,
    help=_KERNEL_HELP,
    seen_in="2.1 to 2.14, artifact output_code: the wrapper's calls that are no generated kernel",
    matches=(
        _CODE + "        buf26 = torch.ops.aten.topk.default(buf25, 2, -1, True, True)",
        _CODE + "        torch.ops.mylib.update_.default(buf3, buf4)",
        _CODE + "        aten.scatter_reduce_.two(buf33,0,buf32,buf31,reduce='prod',include_self=True)",
        _CODE + "        aten.index_put_(buf37, [buf39], buf38, False)",
        "\t        buf26 = torch.ops.aten.topk.default(buf25, 2, -1, True, True)",
    ),
    ignores=(
        _CODE + "        # Topologically Sorted Source Nodes: [topk], Original ATen: [aten.topk]",
        _CODE + "        assert_size_stride(buf27, (2, 8, 2), (16, 2, 1), 'torch.ops.aten.topk.default')",
        _CODE + "alloc_from_pool = torch.ops.inductor._alloc_from_pool",
        _CODE + "        aten.randint.low_out(-9223372036854775808, 9223372036854775807, [1], out=buf0)",
        _CODE
        + "#   %topk : [num_users=2] = call_function[target=torch.ops.aten.topk.default](args = (%div, 2))",
        "V1130 00:31:36.193000 5156 torch/_functorch/x.py:1] [0/0] [__aot_graphs]  topk = torch.ops.aten.topk.default(a, 2)",
    ),
    read=inductor.called,
)

CALLED_FROM_CPP = Rule(
    id="torch/fallback-kernel",
    compiler=NAME,
    anchor=(
        "aoti_torch_cpu_",
        "aoti_torch_cuda_",
        "aoti_torch_xpu_",
        "aoti_torch_mps_",
        "aoti_torch_proxy_executor_call",
    ),
    pattern=r"(?:^\t|\[__output_code\]).*AOTI_TORCH_ERROR_CODE_CHECK\(|aoti_torch_proxy_executor_call_function\(",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=FALLBACK_KERNEL.meaning,
    help=_KERNEL_HELP,
    seen_in="2.7.1 and 2.14.1, artifact output_code of a C++ wrapper (TORCHINDUCTOR_CPP_WRAPPER=1)",
    matches=(
        _CODE
        + "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_topk(buf1, 3L, -1L, 1, 1, &buf3_handle, &buf4_handle));",
    ),
    ignores=(
        _CODE + "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_cpu_mm_out(buf0, arg0_1, arg1_1));",
        _CODE
        + "    AOTI_TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(2, int_array_0, int_array_1, 6, 0, 0, &buf0_handle));",
    ),
    read=inductor.called_from_cpp,
)

PROXY_EXECUTOR = Rule(
    id="torch/fallback-kernel",
    compiler=NAME,
    anchor=("using proxy executor as fallback",),
    pattern=r"(?<![\w.:])(?P<op>\w[\w.:]+) is missing a c-shim implementation, using proxy executor as fallback",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The ahead-of-time package calls this operator through the interpreter-like proxy executor.",
    help=_KERNEL_HELP,
    seen_in="2.13, WARNING of AOTInductor",
    matches=(
        "W"
        + _INDUCTOR
        + "aten.median.dim is missing a c-shim implementation, using proxy executor as fallback",
    ),
    at_least=True,
    read=inductor.proxied,
)

COMPLEX = Rule(
    id="torch/complex",
    compiler=NAME,
    anchor=("does not support code generation for complex operators",),
    pattern=r"UserWarning: (?P<reason>Torchinductor does not support code generation for complex operators)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.UNKNOWN,
    meaning="Operators on complex numbers run as framework calls; the warning names none of them.",
    help="Compute with real and imaginary parts (torch.view_as_real), or keep complex code out of the hot path.",
    seen_in="2.1 to 2.14, a Python warning, once a process",
    matches=(
        "/opt/torch/_inductor/lowering.py:2633: UserWarning: Torchinductor does not support code generation for complex operators. Performance may be worse than eager.",
    ),
    ignores=("Torchinductor does not support code generation for complex operators",),
    at_least=True,
)

VMAP = Rule(
    id="torch/vmap-loop",
    compiler=NAME,
    anchor=("not yet implemented the batching rule for",),
    pattern=r"(?:^|\s)(?P<file>[^\s:\x22][^\s\x22]*?|[A-Za-z]:\S+?):(?P<line>\d{1,9}): UserWarning: There is a performance drop because we have not yet implemented the batching rule for (?P<op>[\w:.]+?)\.?(?:\s|$)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="vmap has no batching rule for the operator and runs it in a loop over the batch.",
    help="Write the batched form by hand, or register a batching rule (torch.library.register_vmap).",
    seen_in="2.13, a Python warning",
    matches=(
        "/app/moe/modes2.py:19: UserWarning: There is a performance drop because we have not yet implemented the batching rule for aten::histc. Please file us an issue",
    ),
    at_least=True,
    read=inductor.batching,
)

CUDAGRAPH_SKIP = Rule(
    id="torch/cudagraph-skip",
    compiler=NAME,
    anchor=("skipping cudagraphs due to",),
    pattern=r"skipping cudagraphs due to (?P<reason>.+?)(?:\.? Found from.*)?$",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="A whole compiled graph runs without CUDA graph: each kernel is launched by itself.",
    help="Remove what the reason names: CPU inputs, mutated inputs, or an operator that can't be captured.",
    seen_in="2.11 and 2.13, WARNING",
    matches=(
        "W"
        + _INDUCTOR
        + "[__cudagraphs] skipping cudagraphs due to mutated inputs (32 instances). Found from : ",
        "W"
        + _INDUCTOR
        + "[__cudagraphs] skipping cudagraphs due to skipping cudagraphs due to cpu device (arg1_1). Found from : ",
    ),
    ignores=("# skipping cudagraphs due to mutated inputs",),
    read=inductor.skipped_cudagraph,
)

PARTITION = Rule(
    id="torch/cudagraph-partition",
    compiler=NAME,
    anchor=("nodes, non-cudagraphable",),
    pattern=r"Partition \d+: \d+ nodes, non-cudagraphable",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.OPERATOR,
    meaning="A part of the compiled graph can't be captured in a CUDA graph; its kernels are launched one by one.",
    help="Move the operators that the partition lists to the GPU or out of the compiled region.",
    seen_in="2.11, artifact cudagraphs (which +inductor switches on)",
    matches=(
        "V" + _INDUCTOR + "[__cudagraphs]   Partition 1: 2 nodes, non-cudagraphable, inputs=11, outputs=4",
    ),
    ignores=(
        "V" + _INDUCTOR + "[__cudagraphs]   Partition 0: 55 nodes, cudagraphable, inputs=34, outputs=1",
    ),
    read=inductor.partition,
)

FLEX = Rule(
    id="torch/unfused-attention",
    compiler=NAME,
    anchor=("flex_attention called without torch.compile",),
    pattern=r"UserWarning: (?P<op>flex_attention) called without torch\.compile\(\)",
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.OPERATOR,
    meaning="flex_attention runs outside a compiled region: unfused, with the full score matrix in memory.",
    help="Compile the caller, or call torch.compile(flex_attention); look for a graph break above it.",
    seen_in="2.11, a Python warning, once a process",
    matches=(
        "/opt/torch/nn/attention/flex_attention.py:1704: UserWarning: flex_attention called without torch.compile() - this will use an unfused implementation",
    ),
    at_least=True,
)

RULES = (
    torch_trace.GRAPH_BREAK, OLD_GRAPH_BREAK,
    GRAPH_BREAK, ITEM, BUILTIN, WONT_CONVERT, SKIPPED_IN_LOOP, RECOMPILE_LIMIT, RAISED, NO_FRAMES, EAGER_BACKEND,
    NOTHING_TRACED, TRACING_DISABLED, RESUMED, FALLBACK_KERNEL, IMPLICIT, SCHEDULED, FUSED, CALLED,
    CALLED_FROM_CPP, PROXY_EXECUTOR, COMPLEX, VMAP, CUDAGRAPH_SKIP, PARTITION, FLEX,
)  # fmt: skip

READER = Reader(
    name=NAME,
    rules=RULES,
    markers=(*MARKERS, *torch_trace.MARKERS),
    required=REQUIRED,
    prove=prove,
    conclude=torch_trace.conclude,
    setting=SETTING,
    manual=__doc__,
    silent="partly: limits and swallowed errors are printed, graph breaks and fallback kernels are not",
    seen_in="2.0 to 2.14 (2.0.1 to 2.14.1 run)",
)
