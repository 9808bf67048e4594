"""Room 3: partitions of TVM whose vendor's compiler, engine or tuning cache is missing.

    tvm.error.InternalError: Check failed: (codegen.has_value()) is false: Codegen is not found: relax.ext.dnnl

The partition itself is made without a word, and the printed module is whole.
"""

from __future__ import annotations

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.tvm import names
from fallback_gate.model import Kind, Scope

NAME = "tvm.byoc"

NO_ENGINE = Rule(
    id="tvm-byoc/no-engine",
    compiler=NAME,
    anchor=(
        "runtime is not enabled. Please build with USE_",
        "engine is not initialized. Please build with USE_",
    ),
    pattern=r"\b(?P<op>\w{1,40}) (?P<reason>(?:runtime is not enabled|engine is not initialized)\. Please build with USE_\w+)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The partitions were made for an engine that this build of TVM does not have.",
    help="Build TVM with the engine that the line names, or do not partition for it.",
    seen_in="0.27 (source), WARNING",
    matches=(
        "[00:34:06] /project/src/runtime/extra/contrib/tensorrt/tensorrt_runtime.cc:532: Warning: TensorRT runtime is not enabled. Please build with USE_TENSORRT_RUNTIME.",
        "[00:34:06] /project/src/runtime/extra/contrib/clml/clml_runtime.cc:1957: Warning: CLML engine is not initialized. Please build with USE_CLML_GRAPH_EXECUTOR.",
    ),
)

NO_CODEGEN = Rule(
    id="tvm-byoc/no-code-generator",
    compiler=NAME,
    anchor=("Codegen is not found: ",),
    pattern=r"(?P<reason>Codegen is not found): (?:relax|relay)\.ext\.(?P<op>\w{1,60})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The partitions were made for a compiler that this build of TVM does not have: the program ended, or went on without it.",
    help="Build TVM with the code generator that the line names, or do not partition for it.",
    seen_in="0.25 and 0.27 (run), an exception",
    matches=(
        "tvm.error.InternalError: Check failed: (codegen.has_value()) is false: Codegen is not found: relax.ext.dnnl",
        "no dnnl here, using llvm: Check failed: (codegen.has_value()) is false: Codegen is not found: relax.ext.dnnl",
    ),
)

NO_CACHE = Rule(
    id="tvm-byoc/no-tuning-cache",
    compiler=NAME,
    anchor=("Tuning cache not ",),
    pattern=r"Tuning cache not [cf]ound for symbol ?: ?(?P<op>\w+)",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The partition runs with CLML's default configuration: its tuning cache has no entry for it.",
    help="Tune the partition (CLML_IS_TUNING_RUN) and ship its cache.",
    seen_in="0.27 (source), WARNING",
    matches=(
        "[00:34:06] /project/src/runtime/extra/contrib/clml/clml_runtime.cc:267: Warning: Tuning cache not cound for symbol :tvmgen_default_clml_main_0 in file x.bin",
    ),
    read=names.of_fused,
)

RULES = (NO_ENGINE, NO_CODEGEN, NO_CACHE)
