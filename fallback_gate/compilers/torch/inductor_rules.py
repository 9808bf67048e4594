"""Room 3: the messages of Inductor and its kernels that report a fallback, each in the wordings of its versions.

`inductor` reads the records; `compile` is the manual page.
"""

from __future__ import annotations

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.torch import cpp_wrapper, cudagraphs, gpu_rules, host, inductor, own_graphs
from fallback_gate.compilers.torch.log import NAME
from fallback_gate.model import Kind, Scope

_INDUCTOR = "1130 00:42:05.094000 12430 torch/_inductor/graph.py:1002] [0/0] "
_CODE = "V1130 00:31:36.193000 5156 torch/_inductor/graph.py:2722] [0/0] [__output_code] "

FALLBACK_KERNEL = Rule(
    id="torch/fallback-kernel",
    compiler=NAME,
    anchor=("Using FallbackKernel: ",),
    pattern=r"Using FallbackKernel: (?P<op>[\w.:]+)",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=inductor.KERNEL_MEANING,
    help=inductor.KERNEL_HELP,
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
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=inductor.KERNEL_MEANING,
    help=inductor.KERNEL_HELP,
    seen_in="2.0 to 2.14, INFO of inductor, for operators that are not on Inductor's fallback list",
    matches=(
        "I" + _INDUCTOR + "Creating implicit fallback for:",
        "[2023-01-30 23:47:24,269] torch._inductor.graph: [WARNING] Creating implicit fallback for:\n  target: aten.topk.default\n  args[0]: TensorBox(",
    ),
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
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=inductor.KERNEL_MEANING,
    help=inductor.KERNEL_HELP,
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
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=inductor.KERNEL_MEANING,
    help=inductor.KERNEL_HELP,
    seen_in="2.13, artifact ir_post_fusion",
    matches=("I" + _INDUCTOR + "[__ir_post_fusion] op26.node.kernel = torch.ops.aten.topk.default",),
    ignores=("I" + _INDUCTOR + "[__ir_post_fusion] op3.node.kernel = extern_kernels.mm",),
    read=inductor.fused,
)

CALLED_WHERE_FORMATTED = Rule(
    id="torch/fallback-kernel",
    compiler=NAME,
    anchor=("Output code:",),
    pattern=r"Output code: *(?: \w+\.py:\d{1,6})? *$",  # rich puts the file at the end
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=inductor.KERNEL_MEANING,
    help=inductor.KERNEL_HELP,
    seen_in="2.14 (run), artifact output_code under TORCH_LOGS_FORMAT or logging.config, through loguru, absl, structlog",
    matches=(
        "2026-12-01 00:21:21.935 | DEBUG    | torch._inductor.graph:_compile_to_module_lines:3114 - Output code: \n    buf1 = torch.ops.aten.topk.default(buf0, 2)",
        "Output code: \n# AOT ID: ['0_inference']\n    buf1 = torch.ops.aten.topk.default(buf0, 2)",
        "DEBUG:torch._inductor.codecache.__output_code:Output code: \n    buf1 = torch.ops.aten.topk.default(buf0, 2)",
    ),
    ignores=(
        "DEBUG:torch._inductor.codecache.__output_code:Output code: \n    buf1 = torch.ops.inductor.x(buf0)",
        "Output code: \n    buf1 = torch.ops.aten.topk.default(buf0, 2)",
    ),
    read=inductor.called_where_formatted,
)

CALLED = Rule(
    id="torch/fallback-kernel",
    compiler=NAME,
    anchor=("buf{n} = torch.ops.", "buf{n} = aten.", "  torch.ops.", "  aten."),
    pattern=r"^\t|\[__output_code\]|\.__output_code:",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=inductor.KERNEL_MEANING,
    help=inductor.KERNEL_HELP,
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
    pattern=r"(?:(?:^|\s)(?P<file>[^\s:\x22][^\s\x22]*?|[A-Za-z]:\S+?):(?P<line>\d{1,9}): UserWarning|(?:^[|+>]|\s|^)\[W[^\]]{1,80}\.cpp:\d+\] Warning): There is a performance drop because we have not yet implemented the batching rule for (?P<op>[\w:.]+?)\.?(?:\s|$)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="vmap has no batching rule for the operator and runs it in a loop over the batch.",
    help="Write the batched form by hand, or register a batching rule (torch.library.register_vmap).",
    seen_in="2.7 to 2.14, a Python warning; where no Python runs, one of C++",
    matches=(
        "/app/moe/modes2.py:19: UserWarning: There is a performance drop because we have not yet implemented the batching rule for aten::histc. Please file us an issue",
        "[W1130 15:10:51.240824305 BatchedFallback.cpp:81] Warning: There is a performance drop because we have not yet implemented the batching rule for opt::project. Please file us an issue on GitHub so that we can prioritize its implementation. (function warnFallback)",
    ),
    at_least=True,
    read=inductor.batching,
)

FLEX = Rule(
    id="torch/unfused-attention",
    compiler=NAME,
    anchor=("flex_attention called without torch.compile",),
    pattern=r"UserWarning: (?P<op>flex_attention) called without torch\.compile\(\)",
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.OPERATOR,
    meaning="flex_attention runs outside a compiled region: unfused, with the full score matrix in memory.",
    help=own_graphs.HELP_UNFUSED,
    seen_in="2.11, a Python warning, once a process",
    matches=(
        "/opt/torch/nn/attention/flex_attention.py:1704: UserWarning: flex_attention called without torch.compile() - this will use an unfused implementation",
    ),
    at_least=True,
)

RULES = (
    FALLBACK_KERNEL,
    IMPLICIT,
    SCHEDULED,
    FUSED,
    CALLED,
    CALLED_WHERE_FORMATTED,
    cpp_wrapper.CALLED,
    cpp_wrapper.DISPATCHED,
    cpp_wrapper.PROXIED,
    COMPLEX,
    VMAP,
    *cudagraphs.RULES,
    *gpu_rules.RULES,
    *host.RULES,
    FLEX,
)
