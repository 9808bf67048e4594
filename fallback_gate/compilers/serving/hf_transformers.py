r"""transformers: Hugging Face's Transformers, where a layer without its fused kernels runs as plain PyTorch.

    [transformers] The fast path is not available because one of the required library is not installed. Falling back to torch implementation. To install follow https://github.com/fla-org/flash-linear-attention#installation and ...

    [transformers] `causal_conv1d_fn` is falling back to its reference PyTorch implementation because `causal_conv1d` is not installed. ...

**What falls back.** Linear attention and state-space layers (Qwen3-Next, Qwen3.5, Mamba, Jamba, Zamba and
others): a loop over chunks or steps in place of the kernels of flash-linear-attention, mamba-ssm, causal-conv1d.
Up to 4.52 a layer that is asked for its attention weights, or given a head mask, leaves scaled_dot_product_attention.
A quantised checkpoint whose kernels are missing is dequantised as it is loaded, or computed without them (AutoGPTQ,
Quanto).

**At which setting it speaks.** A warning at the default verbosity, once a text and process.

**When it is silent.** With `TRANSFORMERS_VERBOSITY=error`; from 5.24 also while torch.compile traces. Which attention
implementation was taken from the start (eager, sdpa, flash_attention_2), and whether sdpa found a fused kernel, no
line says.

**What proves the end.** Nothing: no line says that the fast path is on.

Wording seen in 5.24 (run), in the source of 4.36 to 5.x and in public logs.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.compilers.serving import hf_quantization
from fallback_gate.compilers.serving.python_log import OPENS
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

NAME = hf_quantization.NAME


def _fast_path(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The layer, by the kernels or the library that the message names."""
    kernels = tuple(name.strip() for name in (match["kernels"] or "").split(",") if name.strip())
    if "flash-linear-attention" in record.text:
        layer: tuple[str, ...] = ("linear_attention", "linear attention")
    elif kernels:
        layer = ("selective_scan", "mamba") if "selective" in kernels[0] else (kernels[0],)
    else:
        layer = ("fast_path",)
    names = tuple(dict.fromkeys((*layer, *kernels, "fast path")))
    yield by_groups(rule, record, match)._replace(op=layer[0], names=names)


FAST_PATH = Rule(
    id="transformers/fast-path",
    compiler=NAME,
    anchor=("The fast path is not available because",),
    pattern=OPENS
    + r"The fast path is not available because (?P<reason>one of the required library is not installed"
    r"|(?:one? of )?`?\(?(?P<kernels>[\w, ]{3,300})\)?`? is None)"
    r"\. (?:Falling back to (?:the )?(?:torch|naive|sequential) implementation|To install follow)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The layer's fused kernels are not installed: it runs as a loop of PyTorch calls.",
    help="Install what the message names: flash-linear-attention, mamba-ssm, causal-conv1d.",
    seen_in="4.39 to 5.x (source), WARNING, once",
    matches=(
        "[transformers] The fast path is not available because one of the required library is not installed. Falling back to torch implementation. To install follow https://github.com/fla-org/flash-linear-attention#installation",
        "The fast path is not available because one of `(selective_state_update, causal_conv1d_fn, causal_conv1d_update)` is None. Falling back to the naive implementation. To install follow https://github.com/state-spaces/mamba/#installation",
        "The fast path is not available because on of `(selective_state_update, selective_scan_fn, causal_conv1d_fn)` is None. Falling back to the sequential implementation of Mamba, as use_mambapy is set to False.",
    ),
    ignores=(
        'Otherwise the model logs "The fast path is not available because one of the required library is not installed. Falling back to torch implementation"',
        "The fast path is not available because of road works.",
    ),
    at_least=True,
    read=_fast_path,
)
REFERENCE = Rule(
    id="transformers/reference-implementation",
    compiler=NAME,
    anchor=("is falling back to its reference ",),
    pattern=OPENS
    + r"`(?P<op>\w{1,100})` is falling back to its reference PyTorch implementation because (?P<reason>`(?P<library>[\w.-]{1,100})` is not installed)",
    kind=Kind.REFERENCE_KERNEL,
    scope=Scope.OPERATOR,
    meaning=FAST_PATH.meaning,
    help="Install the library that the message names; it must fit this GPU and this PyTorch.",
    seen_in="5.24 (run), WARNING, once",
    matches=(
        "[transformers] `causal_conv1d_fn` is falling back to its reference PyTorch implementation because `causal_conv1d` is not installed. This is correct but much slower; install `causal_conv1d` for the optimized kernel.",
        "[transformers] `selective_scan_fn` is falling back to its reference PyTorch implementation because `mamba_ssm` is not installed. This is correct but much slower; install `mamba_ssm` for the optimized kernel.",
    ),
    ignores=(
        "We warn that `x` is falling back to its reference PyTorch implementation because `y` is not installed",
    ),
    at_least=True,
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            names=tuple(dict.fromkeys((match["op"], match["op"].removesuffix("_fn"), match["library"])))
        ),
    ),
)
EAGER = Rule(
    id="transformers/eager-attention",
    compiler=NAME,
    anchor=(
        "Falling back to the manual attention",
        "Falling back to the eager attention",
        "Falling back to eager attention",
        "Falling back to manual attention",
    ),
    pattern=OPENS
    + r"(?:(?:\w{1,100} is using |`?)(?P<name>\w{1,100})`?(?: is used)?,? but )?`torch\.nn\.functional\.scaled_dot_product_attention`"
    r" (?P<reason>does not support .{1,200}?)\. Falling back to (?:(?:the )?(?:manual|eager) attention)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The layer can't take the fused attention as it is called here: it runs as single products, with all scores in memory.",
    help='Do not ask for attention weights or a head mask in the hot path; attn_implementation="eager" makes it a decision.',
    seen_in="4.36 to 4.52 (source and public threads), WARNING, once",
    matches=(
        "GateModel is using GateSdpaAttention, but `torch.nn.functional.scaled_dot_product_attention` does not support `output_attentions=True`. Falling back to the manual attention implementation, but specifying the manual implementation will be required from Transformers version v5.0.0 onwards.",
        "`GateSdpaAttention` is used but `torch.nn.functional.scaled_dot_product_attention` does not support `output_attentions=True` or `head_mask`. Falling back to the manual attention implementation, but",
        "GateSdpaAttention is used but `torch.nn.functional.scaled_dot_product_attention` does not support non-absolute `position_embedding_type` or `output_attentions=True` or `head_mask`. Falling back to the eager attention implementation, but",
        "`torch.nn.functional.scaled_dot_product_attention` does not support `output_attentions=True`. Falling back to eager attention. This warning can be removed",
    ),
    ignores=(
        "docs: `torch.nn.functional.scaled_dot_product_attention` does not support `output_attentions=True`. Falling back to eager attention.",
    ),
    at_least=True,
    read=lambda rule, record, match: shared.called(
        "attention", "aten::scaled_dot_product_attention", *filter(None, (match["name"],))
    )(rule, record, match),
)
DEQUANTISED = Rule(
    id="transformers/dequantized",
    compiler=NAME,
    anchor=("default to dequantizing the model",),
    pattern=OPENS
    + r"(?P<reason>(?:Using )?(?P<name>\w{2,12}) (?:quantiz(?:ation|ed models?) (?:requires?|is only supported) .{1,300}?)),?\.?"
    r" [Ww]e will default to dequantizing the model to (?:bf16|the original dtype)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The checkpoint's format has no kernel here: its weights are expanded as they are loaded, and all layers of "
    "it computed in bfloat16.",
    help="Install what the message names (triton, kernels), run on a GPU that has the format, or take a checkpoint in another one.",
    seen_in="4.55 to 5.x (source and public logs), WARNING, once",
    matches=(
        "MXFP4 quantization requires triton >= 3.4.0 and kernels installed, we will default to dequantizing the model to bf16",
        "MXFP4 quantization requires Triton and kernels installed: CUDA requires Triton >= 3.4.0, XPU requires Triton >= 3.5.0, we will default to dequantizing the model to bf16",
        "Using MXFP4 quantized models requires a GPU, we will default to dequantizing the model to bf16",
        "Using MXFP4 quantized models requires model on cuda/xpu/cpu, but found mps, we will default to dequantizing the model to bf16. To use mxfp4, please disable the current accelerator.",
        "[transformers] FP8 quantized models is only supported on GPUs with compute capability >= 8.9 (e.g 4090/H100), actual = `8.0`. We will default to dequantizing the model to bf16. Feel free to",
        "Metal quantization requires an Apple Silicon GPU (MPS), but none is available. We will default to dequantizing the model to the original dtype.",
    ),
    ignores=("we will default to dequantizing the model to bf16",),
    read=shared.called("linear", "quantized_linear"),
)
REQUIRED = frozenset({Kind.OP_FALLBACK})
WHY = "Transformers does not print that a layer took its fast path, and warns once for many layers"

READER = Reader(
    name=NAME,
    rules=(FAST_PATH, REFERENCE, EAGER, DEQUANTISED, *hf_quantization.RULES),
    markers=(),
    required=REQUIRED,
    prove=shared.unended(WHY, "", *REQUIRED),
    manual=__doc__,
    silent="partly: a layer without its kernels is warned of once, the first choice of attention is not told",
    seen_in="5.24 (run), 4.36 to 5.x (source and public logs)",
)
