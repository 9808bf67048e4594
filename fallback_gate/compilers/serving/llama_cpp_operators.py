"""Room 3: single operators that a back end of ggml lacks, where llama.cpp says so.

    warmup:          list of unsupported ops (backend=SYCL0):
    warmup:          UPSCALE: type = f32, ne = [92 92 1152 1]
    ggml_backend_opencl_graph_compute: error: op not supported node_185 (GROUP_NORM)

The list is that of the image or audio encoder, which asks the back end for each operator of its graph; what stands in it
runs on the CPU. A sampler stays on the CPU too. The error ends the program: it comes where no scheduler stands between a graph and one back end.

Read in the source: https://github.com/ggml-org/llama.cpp, `tools/mtmd/clip.cpp` and `ggml/src`.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.shared import called
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "llama.cpp"
# the seconds and the level of llama.cpp's own log, `srv`, `cmn`: the part that speaks, another program's level
OPENS = r"^(?:\d{1,4}\.\d\d\.\d{3}\.\d{3} )?(?:\[\w{4,5}\] )?(?:[DIWE] (?:[a-z]{2,8} {1,20})?)?"
_MOST = 500  # operators of one list
_ROW = Pattern(
    OPENS
    + r"\w{1,80}: {1,20}(?P<op>[A-Z][A-Z0-9_]{1,40}): type = (?P<site>\w{1,20}, ne = \[[\d ]{1,80}\])\s*$"
)


def lacking(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Each row of the list; the same operator in another shape is another site."""
    report = by_groups(rule, record, match)
    for line in record.following(_MOST):
        row = _ROW.match(line.text)
        if not row:
            return
        yield report._replace(
            op=row["op"],
            names=(row["op"], f"GGML_OP_{row['op']}"),
            site=row["site"],
            position=record.position_at(line.at),
            text=line.text,
            reason=f"{match['device']} lacks it for {row['site']}",
        )


UNSUPPORTED = Rule(
    id="llama-cpp/encoder-operator-on-cpu",
    compiler=NAME,
    anchor=("list of unsupported ops (backend=",),
    pattern=OPENS + r"\w{1,80}: {1,20}list of unsupported ops \(backend=(?P<device>[^)]{1,80})\):",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The back end lacks the operator in this shape: it runs on the CPU, with copies there and back in the image or audio encoder.",
    help="Update llama.cpp, which gains such operators often; where attention's parts stand in the list, switch flash attention on.",
    seen_in="b6900 to October 2026 (source and public threads), WARN",
    matches=(
        "warmup:          list of unsupported ops (backend=SYCL0):\nwarmup:          UPSCALE: type = f32, ne = [92 92 1152 1]\nwarmup:         SOFT_MAX: type = f32, ne = [8464 8464 16 1]\nwarmup: flash attention is disabled",
        "0.42.294.209 W warmup:          list of unsupported ops (backend=CUDA0):\n0.42.294.210 W warmup:           IM2COL: type = f32, ne = [9216 16 16 1]",
    ),
    ignores=("list of unsupported ops (backend=x) is what it prints",),
    read=lacking,
)


def not_computed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator, by ggml's name for it."""
    op = match["op"] or match["named"] or match["missing"] or match["run"]
    yield by_groups(rule, record, match)._replace(
        op=op,
        names=(op, f"GGML_OP_{op}"),
        reason=match["reason"] or match["where"] or (match["types"] and f"missing op{match['types']}"),
    )


NOT_COMPUTED = Rule(
    id="llama-cpp/operator-not-computed",
    compiler=NAME,
    anchor=(
        "error: op not supported ",
        "error: unsupported op ",
        "Error: Missing op: ",
        "that cannot run the operation (",
    ),
    pattern=OPENS
    + r"(?:\w{1,80}: error: (?:(?P<reason>op not supported) (?P<layer>\S.{0,200}?) \((?P<op>[A-Z][A-Z0-9_]{1,40})\)|unsupported op '(?P<named>[A-Z][A-Z0-9_]{1,40})')"
    r"|\w{1,80}: Error: Missing op: (?P<missing>[A-Z][A-Z0-9_]{1,40})(?P<types> for \w{1,20}(?: and \w{1,20})?(?: to \w{1,20})?)?"
    r"|(?:\S{1,300}:\d{1,6}: )?(?P<where>pre-allocated tensor \(.{1,200}?\) in a buffer \([^)]{1,80}\) that cannot run the operation) \((?P<run>[A-Z][A-Z0-9_]{1,40})\))\s*$",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The back end was given an operator that it lacks, with no other one to take it: the program ended here.",
    help="Run the graph by ggml's scheduler with the CPU behind it, update the back end, or run this part on the CPU.",
    seen_in="b2000 to October 2026 (source and public threads), ERROR",
    matches=(
        "ggml_backend_opencl_graph_compute: error: op not supported node_185 (GROUP_NORM)",
        "ggml_metal_encode_node: error: unsupported op 'PAD'",
        "ggml_vulkan: Error: Missing op: GET_ROWS for q4_0 and i32 to f32",
        "/src/ggml/src/ggml-backend.cpp:809: pre-allocated tensor (cache_k_l0 (view)) in a buffer (MTL0) that cannot run the operation (SET_ROWS)",
    ),
    read=not_computed,
)

SAMPLER = Rule(
    id="llama-cpp/sampler-on-cpu",
    compiler=NAME,
    anchor=(
        "cannot be offloaded to the backend",
        "does not have support for op",
        "backend sampling not supported with",
    ),
    pattern=OPENS
    + r"\w{1,80}: (?:sampler '(?P<op>[^']{1,80})' for seq_id = -?\d{1,9}, (?P<reason>cannot be offloaded to the backend)"
    r"|device '[^']{1,80}' does not have support for op (?P<name>\S{1,80}) needed for sampler '(?P<layer>[^']{1,80})'"
    r"|backend sampling not supported with SPLIT_MODE_TENSOR; using CPU)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Sampling was to run on the device and runs on the CPU: the logits are copied for each token.",
    help="Leave the sampler out of the chain, or take a back end that has its operators.",
    seen_in="0.3.36 (source), WARN",
    matches=(
        "llama_context: sampler 'dist' for seq_id = 0, cannot be offloaded to the backend",
        "set_sampler: sampler 'top-n-sigma' for seq_id = -1, cannot be offloaded to the backend",
        "llama_sampler_backend_support: device 'Vulkan0' does not have support for op CUMSUM needed for sampler 'dist'",
        "set_sampler: backend sampling not supported with SPLIT_MODE_TENSOR; using CPU",
    ),
    read=lambda rule, record, match: called(
        match["op"] or match["layer"] or "sampling",
        *filter(None, ("sampling", match["name"], match["name"] and f"GGML_OP_{match['name']}")),
    )(rule, record, match),
)
KERNEL = Rule(
    id="llama-cpp/matrix-kernel",
    compiler=NAME,
    anchor=(
        "Disabling matrix cores",
        "the tensor API is not supported in this",
        "no backend supports op",
    ),
    pattern=OPENS
    + r"(?:ggml_vulkan: WARNING: No suitable matrix core mode found\. (?P<reason>Disabling matrix cores)"
    r"|\w{1,80}: - the tensor API is not supported in this environment - disabling"
    r"|\w{1,80}: warning: no backend supports op (?P<op>\w{1,80}) with a weight with buffer type (?P<buft>\S{1,80}) used in tensor (?P<tensor>[^\s,]{1,200}))",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="Matrix products run without the device's matrix units or its repacked kernels, or their weight is copied "
    "to another device each time.",
    help="Look at the driver and at the build's options; take another type of weights.",
    seen_in="0.3.36 (source), WARN; for Vulkan and for a weight that is copied DEBUG",
    matches=(
        "ggml_vulkan: WARNING: No suitable matrix core mode found. Disabling matrix cores.",
        "ggml_metal_device_init: - the tensor API is not supported in this environment - disabling",
        "ggml_backend_sched_backend_id_from_cur: warning: no backend supports op MUL_MAT with a weight with buffer type CPU_REPACK used in tensor blk.0.ffn_up.weight, the weight will need to be copied",
    ),
    ignores=(
        "kleidiai: no kernel for tensor type q6_K, not accelerated by KleidiAI (kernels available for Q4_0 and Q8_0)",
    ),
    read=lambda rule, record, match: called(
        match["op"] or "MUL_MAT", *filter(None, (match["tensor"], match["buft"]))
    )(rule, record, match),
)

OLD_METAL = Rule(
    id="llama-cpp/old-metal",
    compiler=NAME,
    anchor=("Metal GPU does not support family ",),
    pattern=r"(?P<reason>Metal GPU does not support family \d{1,4}) - falling back to CPU",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The GPU is too old for ggml's Metal kernels: the whole model runs on the CPU.",
    help="Use a Mac with a GPU of Apple's family 7 (M1) or later, or a build for the CPU.",
    seen_in="whisper.cpp 1.5 to 1.6 (source and public threads), ERROR",
    matches=("whisper_backend_init: Metal GPU does not support family 7 - falling back to CPU",),
    ignores=('    WHISPER_LOG_ERROR("%s: Metal GPU does not support family 7 - falling back to CPU");',),
    read=called("Metal"),
)

RULES = (SAMPLER, KERNEL, UNSUPPORTED, NOT_COMPUTED, OLD_METAL)
