r"""TGI: Hugging Face's Text Generation Inference: models without flash attention, slower kernels, CUDA graphs that are off.

    2026-01-01T00:00:00.000000Z  WARN text_generation_launcher: Could not import Flash Attention enabled models: GPU with CUDA capability 7 0 is not supported

**What falls back.** The whole model runs in its plain implementation, without flash and paged attention; quantised
products, experts and adapters take a slower kernel or a loop; decode runs without CUDA graphs; T5's layer norm
runs in PyTorch.

**At which setting it speaks.** By default; of quantised kernels and experts once for all layers.

**When it is silent.** A model that has no flash implementation is served by the plain one without a word, and so are
quantised layers whose kernel was never there. Mamba that can't be imported is no fallback: it ends Mamba alone.

**What proves the end.** Nothing: no line says that graphs are on.

Wording from the source at db931fcf42, and from public threads of 0.9 to 2.1.
"""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.compilers.rule import Evidence, Reader, Rule
from fallback_gate.compilers.serving.python_log import OPENS
from fallback_gate.compilers.shared import called
from fallback_gate.model import Kind, Proof, Scope, State

NAME = "TGI"

GRAPHS_OFF = Rule(
    id="tgi/cuda-graphs-disabled",
    compiler=NAME,
    anchor=(
        "LoRA adapters incompatible with CUDA Graphs",
        "Cuda Graphs are disabled (CUDA_GRAPHS=",
        "work with cuda graphs, deactivating them",
    ),
    pattern=OPENS
    + r"(?P<reason>LoRA adapters incompatible with CUDA Graphs|Cuda Graphs are disabled \(CUDA_GRAPHS=[^)]{0,80}\)"
    r"|\w{1,20} doesn't work with cuda graphs, deactivating them)",
    kind=Kind.CUDAGRAPH_SKIP,
    scope=Scope.PROGRAM,
    meaning="No CUDA graph is captured: each kernel of each decode step is launched on its own.",
    help="Merge the adapters into the model, quantise for a format that can be captured, or set --cuda-graphs to the "
    "batch sizes that are served.",
    seen_in="3.x (source), WARNING and INFO",
    matches=(
        "2026-01-01 00:00:00.000 | WARNING  | text_generation_server.cli:serve:101 - LoRA adapters incompatible with CUDA Graphs. Disabling CUDA Graphs.",
        "Cuda Graphs are disabled (CUDA_GRAPHS=None).",
        "2026-01-01T00:00:00.000000Z  WARN text_generation_launcher: Exl2 doesn't work with cuda graphs, deactivating them",
    ),
    ignores=("Are Cuda Graphs are disabled (CUDA_GRAPHS=None)?",),
)
_LAUNCHER = "2026-01-01T00:00:00.000000Z  WARN text_generation_launcher: "
NO_FLASH = Rule(
    id="tgi/no-flash-attention",
    compiler=NAME,
    anchor=("Could not import Flash Attention enabled models", "load flash gpt"),
    pattern=OPENS
    + r"(?P<reason>Could not import Flash Attention enabled models: .{0,500}|Couldn't load flash gpt\w{1,10} variant: .{0,500})",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="The model runs in its plain implementation: padded batches, and neither flash nor paged attention.",
    help="Read the reason: a package that is missing, a GPU that is too old, or USE_FLASH_ATTENTION=False.",
    seen_in="0.9 to 2.1 (public threads), 3.x (source), WARNING",
    matches=(
        _LAUNCHER + "Could not import Flash Attention enabled models: No module named 'flash_attn'",
        _LAUNCHER + "Couldn't load flash gpt2 variant: weight wte.weight does not exist",
    ),
    ignores=(
        "Shard 0 says: Could not import Flash Attention enabled models: see the README",
        _LAUNCHER + "Could not import Mamba: No module named 'mamba_ssm'",
    ),
    read=called("attention", "flash_attention", "paged_attention"),
)
ATTENTION = Rule(
    id="tgi/attention",
    compiler=NAME,
    anchor=("Forcing attention to ",),
    pattern=OPENS
    + r"Forcing attention to '(?P<name>\w{1,40})' because (?P<reason>head dim is not supported by flashinfer|model \S{1,80} requires it)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="FlashInfer does not take the model's heads: another attention back end runs, without prefix caching.",
    help="Name the back end that the release needs (ATTENTION=flashdecoding) to make it a decision.",
    seen_in="3.x (source), INFO",
    matches=(
        "2026-01-01T00:00:00.000000Z  INFO text_generation_launcher: Forcing attention to 'flashdecoding' because head dim is not supported by flashinfer, also disabling prefix caching",
        "2026-01-01T00:00:00.000000Z  INFO text_generation_launcher: Forcing attention to 'paged' because model falcon requires it",
    ),
    read=called("attention", "flashinfer"),
)
QUANTISED = Rule(
    id="tgi/quantized-kernel",
    compiler=NAME,
    anchor=(
        "Disabling exllama ",
        "Exllama GPTQ cuda kernels (which are faster) could have",
        "GPU does not support FP8, using Marlin FP8 kernel",
    ),
    pattern=OPENS + r"(?P<reason>Disabling exllama (?:because desc_act=True|v2 and using v1 instead)"
    r"|Exllama GPTQ cuda kernels \(which are faster\) could have been used, but are not currently installed"
    r"|GPU does not support FP8, using Marlin FP8 kernel)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The quantised products do not take the fast kernel: its package, the GPU or the checkpoint rules it out.",
    help="Quantise without desc_act, install the kernels, or serve on a GPU that has the type.",
    seen_in="3.x (source), WARNING and INFO, once for all layers",
    matches=(
        _LAUNCHER + "Disabling exllama because desc_act=True",
        _LAUNCHER
        + "Exllama GPTQ cuda kernels (which are faster) could have been used, but are not currently installed, try using BUILD_EXTENSIONS=True",
        "2026-01-01 00:00:00.000 | INFO     | text_generation_server.utils.log:log_master:15 - GPU does not support FP8, using Marlin FP8 kernel",
    ),
    ignores=(
        "2026-01-01 00:00:00.000 | INFO     | text_generation_server.utils.log:log_master:15 - GPU supports FP8, but using Marlin FP8 kernel for better performance",
    ),
    at_least=True,
    read=called("linear", "gptq_matmul"),
)
_LOOP = (
    _LAUNCHER + "No fused layers are available for this model type, using (slower) dense MoE layer",
    "/x/sgmv.py:18: UserWarning: Could not import SGMV kernel from Punica, falling back to loop.",
)
LOOP = Rule(
    id="tgi/loop",
    compiler=NAME,
    anchor=("No fused layers are available for", "Could not import SGMV kernel from Punica"),
    pattern=OPENS
    + r"(?:(?P<reason>No fused layers are available for this model type)|(?P<lora>Could not import SGMV kernel from Punica))",
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.OPERATOR,
    meaning="A loop of products, one for each expert or adapter, runs in place of the grouped kernel.",
    help="Serve the model in a type that the grouped kernel takes, or install the kernel that is missing.",
    seen_in="3.x (source), INFO and a Python warning, once for all layers",
    matches=_LOOP,
    ignores=("for this model, using (slower) dense MoE layer",),
    at_least=True,
    read=lambda rule, record, match: (
        called("lora", "sgmv") if match["lora"] else called("fused_moe", "moe")
    )(rule, record, match),
)
APEX = Rule(
    id="tgi/layer-norm",
    compiler=NAME,
    anchor=("discovered apex but it failed to load, falling back",),
    pattern=OPENS + r"(?P<reason>discovered apex but it failed to load), falling back to (?P<op>\w{1,60})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="apex's fused layer norm did not load: PyTorch's runs.",
    help="Install an apex that was built for this PyTorch, or none.",
    seen_in="1.x to 3.x (source), WARNING",
    matches=("discovered apex but it failed to load, falling back to T5LayerNorm",),
)
RULES = (NO_FLASH, ATTENTION, QUANTISED, LOOP, GRAPHS_OFF, APEX)
REQUIRED = frozenset({Kind.CUDAGRAPH_SKIP, Kind.SLOWER_KERNEL})


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """No line of TGI shows that graphs were captured, or which kernels were taken."""
    return {
        Kind.CUDAGRAPH_SKIP: Proof(State.UNPROVEN, "TGI does not print that its CUDA graphs were captured"),
        Kind.SLOWER_KERNEL: Proof(State.UNPROVEN, "TGI prints what it refuses, and not what it takes"),
    }


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=(),
    required=REQUIRED,
    prove=prove,
    manual=__doc__,
    silent="partly: CUDA graphs that are off and kernels that are refused are told, what is chosen is not",
    seen_in="0.9 to 3.x (source and public threads)",
)
