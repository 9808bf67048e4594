r"""Room 3: what LiteRT 2's CompiledModel adds to TensorFlow Lite's messages: NPU plugins, ML Drift, WebGPU.

    ERROR: [qnn_compose_graph.cc:1090] LiteRT Op #4 'EmbeddingLookup' (code=7) is not supported in Qualcomm Compiler.
    INFO: [compiler_plugin.cc:741] Partitioned subgraph<0>, selected 3911 ops, from a total of 3912 ops. resulted in 2 partitions.

Sources: https://github.com/google-ai-edge/LiteRT/blob/main/litert/compiler/plugin/compiler_plugin.cc,
https://github.com/google-ai-edge/LiteRT/tree/main/litert/vendors, and the binaries of ai-edge-litert 2.3.
`QNN op validation failed` is no event of its own: an optimisation of the graph asks the same question, and goes on
without what is refused. The share that was selected tells what is left.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.edge.tflite_gpu import NAME, gpu_list
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Marker, Rule, Sighting
from fallback_gate.compilers.shared import called
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import BEFORE, BEHIND, Pattern
from fallback_gate.scan.record import Record

SEEN_LITERT = "LiteRT 2.0 to 2.3 (source, binary and public logs)"

_HUMP = Pattern(r"(?<=[a-z0-9])(?=[A-Z])")


def upper(op: str) -> str:
    """`EmbeddingLookup` as TensorFlow Lite writes it: `EMBEDDING_LOOKUP`."""
    return _HUMP.sub("_", op).upper()


def uncompiled(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator by its name; up to 2.1 by its number alone."""
    op = match["op"] or f"builtin {match['code']}"
    names = (op, upper(op)) if match["op"] else (op, match["code"])
    yield by_groups(rule, record, match)._replace(op=op, names=tuple(dict.fromkeys(names)))


QUALCOMM = Rule(
    id="tflite/qualcomm-unsupported",
    compiler=NAME,
    anchor=("is not supported in Qualcomm Compiler",),
    pattern=r"LiteRT Op(?: #\d{1,9} '(?P<op>\w{1,80})' \(code=\d{1,6}\)| Code: (?P<code>\d{1,6})) is not supported in Qualcomm Compiler",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The plugin has no translation of the operator for the NPU: it runs on the CPU, and the graph is split around it.",
    help="Convert the model without the operator, or keep it at an end of the graph.",
    seen_in=SEEN_LITERT + ", ERROR",
    matches=(
        "ERROR: [qnn_compose_graph.cc:1090] LiteRT Op #4 'EmbeddingLookup' (code=7) is not supported in Qualcomm Compiler.",
        "10-05 01:27:33.918 18209 18209 E litert  : [qnn_compose_graph.cc:700] LiteRT Op Code: 7 is not supported in Qualcomm Compiler.",
    ),
    read=uncompiled,
)
ROLLED_BACK = Rule(
    id="tflite/qualcomm-unfused",
    compiler=NAME,
    anchor=("[Qnn] [G2G] ",),
    pattern=r"\[Qnn\] \[G2G\] (?:(?P<what>GQA [\w ]{1,40}) skipped: )?(?P<reason>Validation failed(?: in \w{1,80})?\. Rolling back to the original graph"
    r"|(?:Op validation|Op connectivity check) failed|Invalid GQA head count.{0,80}|Transpose permutation is not .{1,20})",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The attention is not rewritten into the form that the NPU runs best: it stays as it was converted.",
    help="The lines above it tell which operator QNN refused.",
    seen_in="LiteRT 2.3 (binary), WARNING and ERROR",
    matches=(
        "WARNING: [Qnn] [G2G] Validation failed in OptimizeMHATinyGemmaPrefillPattern. Rolling back to the original graph.",
        "WARNING: [Qnn] [G2G] GQA Gemma4B Prefill skipped: Op validation failed.",
    ),
    ignores=("INFO: [Qnn] [G2G] MHA Optimization (FastVLM Prefill).",),
    read=called("attention", "multi_head_attention"),
)
OPENVINO = Rule(
    id="tflite/openvino-top-k",
    compiler=NAME,
    anchor=("; leaving op on CPU",),
    pattern=r"\] (?P<op>[A-Z][A-Z0-9_]{1,60}) (?P<reason>with .{1,80} is not supported on NPU); leaving op on CPU",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=QUALCOMM.meaning,
    help="Make K a constant, and convert the model again.",
    seen_in="LiteRT 2.3 (binary)",
    matches=(
        "WARNING: [openvino_compiler_plugin.cc:310] TOPK_V2 with non-constant K is not supported on NPU; leaving op on CPU.",
    ),
)
NOTHING = Rule(
    id="tflite/npu-nothing",
    compiler=NAME,
    anchor=("Model not supported: subgraph input", "No subgraphs selected for GoogleTensor"),
    pattern=r"(?P<reason>Model not supported: subgraph input \d{1,6} has \d{1,6} dimensions|No subgraphs selected for GoogleTensor compilation)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The plugin gives nothing of the model to the NPU: all of it runs on the CPU.",
    help="Reshape the inputs to fewer dimensions, or look at the filters of the plugin's options.",
    seen_in="LiteRT 2.3 (binary)",
    matches=(
        "WARNING: [openvino_compiler_plugin.cc:250] Model not supported: subgraph input 0 has 6 dimensions (>= 6), skipping partitioning.",
        "WARNING: [compiler_plugin.cc:400] No subgraphs selected for GoogleTensor compilation.",
    ),
)
STRICT = Rule(
    id="tflite/not-accelerated",
    compiler=NAME,
    anchor=("Some ops are not accelerated. Add ",),
    pattern=r"(?P<reason>Some ops are not accelerated)\. Add kLiteRtHwAcceleratorCpu",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The accelerator does not take the whole model, and the CPU was not allowed: the model is not compiled.",
    help="The lines above it name the operators that are left; convert the model without them.",
    seen_in=SEEN_LITERT + ", an error",
    matches=(
        "Failed to compile model. Some ops are not accelerated. Add kLiteRtHwAcceleratorCpu to the compilation accelerator set to allow using the CPU to run those.",
    ),
)
DRIFT = Rule(
    id="tflite/ml-drift",
    compiler=NAME,
    anchor=("Not supported by ML Drift:",),
    pattern=rf"(?:^{BEFORE}|\]|: )\s{{0,8}}Not supported by ML Drift:{BEHIND}",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="ML Drift, the GPU's delegate, refuses the operator with these types or shapes: it runs on the CPU.",
    help="The row gives the reason; convert the model again without it.",
    seen_in=SEEN_LITERT + ", INFO",
    matches=(
        "  Not supported by ML Drift:\n    TOPK_V2: Op has bool tensors which are not supported.",
        "I0000 00:00:1795998201.1    1221 ir_model_builder.cc:700] \n  Not supported by ML Drift:\n    CAST: Operation is not supported.",
    ),
    ignores=('const char* header = "Not supported by ML Drift:";',),
    read=gpu_list,
)
WEBGPU = Rule(
    id="tflite/webgpu-convolution",
    compiler=NAME,
    anchor=("unsupported properties for WebGPU delegate",),
    pattern=r"Conv2D: (?P<reason>Weights tensor has unsupported properties for WebGPU delegate)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The GPU does not take the weights as they are quantised: the CPU computes the convolution.",
    help="Quantise the weights per tensor, or keep them in float16.",
    seen_in="LiteRT 2.3 (binary)",
    matches=(
        "Conv2D: Weights tensor has unsupported properties for WebGPU delegate (e.g. per-channel quantization). Gracefully falling back to CPU. Details: x",
    ),
    read=called("CONV_2D", "Conv2D"),
)

NO_GPU = Rule(
    id="tflite/no-gpu",
    compiler=NAME,
    anchor=("Failed to initialize WebGPU environment", "Failed to get or create delegate WebGPU environment"),
    pattern=r"\] Failed to (?:initialize|get or create delegate) (?P<op>WebGPU) environment: (?:INTERNAL: Failed to initialize WebGPU environment)?(?P<reason>.{0,300})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The GPU that the model was compiled for can't be opened: the program ended, or went on without it.",
    help="Install the driver of the GPU (its Vulkan loader on Linux); the line holds the reason.",
    seen_in="LiteRT 2.3 (run), ERROR",
    matches=(
        "ERROR: [delegate_webgpu.cc:359] Failed to initialize WebGPU environment: INTERNAL: No adapters found",
        "E0000 00:00:1796063346.606169    1758 delegate_webgpu.cc:736] Failed to get or create delegate WebGPU environment: INTERNAL: Failed to initialize WebGPU environment",
    ),
    ignores=("INFO: [delegate_webgpu.cc:342] Create WebGPU environment (use_low_power=0)",),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            names=("WebGPU", "GPU"), reason=match["reason"].strip() or None
        ),
    ),
)


DISPATCH = Rule(
    id="tflite/no-dispatch",
    compiler=NAME,
    anchor=("Failed to create a dispatch delegate kernel: ",),
    pattern=r"\] (?P<reason>Failed to create a dispatch delegate kernel: .{1,200})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The model was compiled for an NPU, and the library that runs it there can't be used: the program ended, or went on without it.",
    help="Bundle the vendor's dispatch library with the application, unpacked (useLegacyPackaging), in the version that compiled the model.",
    seen_in="LiteRT 2.0 to 2.2 (source and public threads), ERROR",
    matches=(
        "E litert : [dispatch_delegate.cc:131] Failed to create a dispatch delegate kernel: No usable Dispatch runtime found",
    ),
    read=called("NPU"),
)


AHEAD = Rule(
    id="tflite/not-compiled-ahead",
    compiler=NAME,
    anchor=("Skipping failed compilation for ",),
    pattern=rf"^{BEFORE}Skipping failed compilation for (?P<op>\w{{3,80}})\. Error: (?P<reason>\S.{{0,300}})",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The compiler of this chip refused the model: the package has none for it, and the CPU or the GPU runs it there.",
    help="Read the log that the line names; the vendor's SDK may be missing, or an operator.",
    seen_in="ai-edge-litert 2.0 to 2.1 (source and public threads), printed with keep_going",
    matches=(
        "Skipping failed compilation for Qualcomm_SA8255. Error: apply_plugin failed to apply plugin. See /tmp/tmpx for details.",
    ),
    ignores=('print(f"Skipping failed compilation for {backend.target}. Error: {e}")',),
)


def selected(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """What a plugin takes of a subgraph."""
    yield Sighting(marker.id, record.position, (match[0], match["part"], match["all"]))


SELECTED = Marker(
    id="tflite/npu-selected",
    compiler=NAME,
    anchor=("Partitioned subgraph<",),
    pattern=r"Partitioned subgraph<\d{1,6}>, selected (?P<part>\d{1,9}) ops, from a total of (?P<all>\d{1,9}) ops",
    shows="How many operators of a subgraph a plugin compiles for the NPU.",
    seen_in=SEEN_LITERT + ", INFO",
    matches=(
        "10-05 01:27:33.918 18209 18209 I litert  : [compiler_plugin.cc:741] Partitioned subgraph<0>, selected 3911 ops, from a total of 3912 ops. resulted in 2 partitions.",
    ),
    read=selected,
)

RULES = (QUALCOMM, ROLLED_BACK, OPENVINO, NOTHING, STRICT, DRIFT, WEBGPU, NO_GPU, DISPATCH, AHEAD)
NAMES_WHAT_IS_LEFT = (QUALCOMM.id, OPENVINO.id, DRIFT.id, WEBGPU.id, NOTHING.id)
