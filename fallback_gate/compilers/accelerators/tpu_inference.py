"""tpu_inference: vLLM's TPU plug-in: kernels and models that gave way to slower ones.

    No tuned block sizes found for flash attention with tuning key: ..., falling back to the default ...

**What falls back.** A Pallas kernel to a plain JAX one, tuned block sizes to a rule of thumb, a JAX model to
vLLM's PyTorch one.

**At which setting it speaks.** By default, as WARNING; most lines once for each wording.

**When it is silent.** Operators that XLA itself lowers badly.

**What proves the end.** Nothing: a kernel that was taken prints no line.

Wording seen in the source of tpu-inference.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "tpu_inference"
SEEN = "tpu-inference (source), WARNING"

MOE = Rule(
    id="tpu-inference/moe-gmm",
    compiler=NAME,
    anchor=("USE_MOE_EP_KERNEL=1 but expert",),
    pattern=r"(?P<reason>USE_MOE_EP_KERNEL=1 but expert parallelism is not enabled)\. Falling back to gmm",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The experts run by grouped matrix products in place of the fused kernel that was asked for.",
    help="Enable expert parallelism, or unset USE_MOE_EP_KERNEL.",
    seen_in=SEEN,
    matches=(
        "USE_MOE_EP_KERNEL=1 but expert parallelism is not enabled. Falling back to gmm implementation.",
    ),
    at_least=True,
    read=shared.called("fused_moe", "moe", "gmm"),
)

FLASH = Rule(
    id="tpu-inference/flash-attention-untuned",
    compiler=NAME,
    anchor=("No tuned block sizes found for flash attention",),
    pattern=r"No tuned block sizes found for flash attention with tuning key: (?P<reason>.{1,400}), falling back",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="Flash attention runs with block sizes by a rule of thumb: none were tuned for this shape.",
    help="Tune the kernel for the key that the line gives, and add it to the table.",
    seen_in=SEEN,
    matches=(
        "No tuned block sizes found for flash attention with tuning key: (bf16, 128), falling back to the default block size heuristic.",
    ),
    at_least=True,
    read=shared.called("flash_attention", "attention"),
)

TRANSPOSE = Rule(
    id="tpu-inference/transpose",
    compiler=NAME,
    anchor=("xpose_pipeline failed for shape=",),
    pattern=r"xpose_pipeline failed for (?P<reason>shape=.{1,200}? dtype=\S{1,40}) .{0,2000}Falling back to jnp\.transpose",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="A transpose of latent attention runs by JAX's own operator in place of the pipelined kernel.",
    help="Pad the shape to a multiple of the tile that the line names.",
    seen_in=SEEN,
    matches=(
        "xpose_pipeline failed for shape=(8, 128) dtype=bfloat16 (sublane_multiple=16): x. Falling back to jnp.transpose — this may be slower.",
    ),
    read=shared.called("transpose", "jnp.transpose", "xpose_pipeline"),
)

PIPELINE = Rule(
    id="tpu-inference/model",
    compiler=NAME,
    anchor=("PP is not fully supported on Jax flax_nnx ",),
    pattern=r"(?P<reason>PP is not fully supported on Jax flax_nnx) (?P<op>[\w.]+) models yet, fallback to vllm models",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="The model runs by vLLM's PyTorch code in place of its JAX one.",
    help="Leave out pipeline parallelism, or allow it.",
    seen_in=SEEN,
    matches=(
        "PP is not fully supported on Jax flax_nnx LlamaForCausalLM models yet, fallback to vllm models.",
    ),
)

GATHER = Rule(
    id="tpu-inference/gather-untuned",
    compiler=NAME,
    anchor=("No tuned params found for ragged_gather",),
    pattern=r"No tuned params found for (?P<op>ragged_gather_reduce) with \w{1,8}: (?P<reason>.{1,400}), falling back",
    kind=Kind.UNTUNED_CONFIG,
    scope=Scope.OPERATOR,
    meaning="The gather of the experts' outputs runs with parameters by a rule of thumb.",
    help="Tune the kernel for the key that the line gives, and add it to the table.",
    seen_in="0.32 (source), WARNING",
    matches=(
        "No tuned params found for ragged_gather_reduce with ke0y: (bf16, 128), falling back to default heuristic.",
    ),
    at_least=True,
)

ENCODER = Rule(
    id="tpu-inference/encoder-eager",
    compiler=NAME,
    anchor=("MM encoder JIT does not support", "vision tower does NOT support JIT"),
    pattern=r"(?P<reason>MM encoder JIT does not support encoder capture axes yet|vision tower does NOT support JIT compilation)",
    kind=Kind.EAGER_FRAME,
    scope=Scope.REGION,
    meaning="The vision encoder runs operator by operator: it is not compiled.",
    help="Take the options that the encoder's compile allows, or allow it as cold.",
    seen_in="0.32 (source), WARNING",
    matches=(
        "MM encoder JIT does not support encoder capture axes yet; running the vision encoder eagerly.",
        "<class 'vllm.x.GateVL'>'s vision tower does NOT support JIT compilation.",
    ),
    at_least=True,
    read=shared.called("vision_encoder", "vision_tower"),
)

FP4 = Rule(
    id="tpu-inference/quantised-product",
    compiler=NAME,
    anchor=("multiplications are not natively supported by TPU", "Can potentially yield"),
    pattern=r"(?P<reason>fp4xfp4 multiplications are not natively supported by TPU hardware"
    r"|Unsupported linear layer type of .{1,200}\. Can potentially yield)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.OPERATOR,
    meaning="The quantised product has no unit on the chip, or the layer no quantised path: a wider one runs.",
    help="Quantise for a format that the chip has.",
    seen_in="0.32 (source), WARNING",
    matches=(
        "fp4xfp4 multiplications are not natively supported by TPU hardware. The current sharded_quantized_matmul implementation will attempt to fallback",
        "Unsupported linear layer type of <class 'x'>. Can potentially yield  bad performance.",
    ),
    read=shared.called("linear", "matmul"),
)

REQUIRED = frozenset({Kind.OP_FALLBACK, Kind.UNTUNED_CONFIG, Kind.SLOWER_KERNEL})

READER = Reader(
    name=NAME,
    rules=(MOE, FLASH, TRANSPOSE, PIPELINE, GATHER, ENCODER, FP4),
    markers=(),
    required=REQUIRED,
    prove=shared.unended("a kernel that was taken prints no line", "", *REQUIRED),
    manual=__doc__,
    silent="no: warned of by default",
    seen_in="tpu-inference (source)",
)
