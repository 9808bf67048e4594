"""The vocabulary: what people call a compiler, and the name by which the tool knows it.

One table for all commands and for policies. A name that is known as it stands is never taken for another one.
"""

from __future__ import annotations

from collections.abc import Iterable

ALIASES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("pytorch", "torch"), ("torch.compile",)),
    **dict.fromkeys(("dynamo", "torchdynamo", "inductor", "torchinductor"), ("torch.compile",)),
    **dict.fromkeys(("onnx", "ort"), ("onnxruntime",)),
    **dict.fromkeys(("hpu", "habana"), ("gaudi",)),
    **dict.fromkeys(("dnnl", "mkldnn"), ("onednn",)),
    **dict.fromkeys(("ascend", "canntoolkit"), ("cann",)),
    **dict.fromkeys(("fa", "flashattention"), ("flash-attn",)),
    "ck": ("rocm.ck",),
    "coremltools": ("coreml",),
    "ggml": ("llama.cpp",),
    "mlu": ("torch.mlu",),
    "mps": ("torch.device",),
    "musa": ("torch.musa",),
    "npu": ("torch_npu",),
    "qnn": ("executorch",),
    "relax": ("tvm.relax",),
    "relay": ("tvm.relay",),
    "rocm": ("miopen", "migraphx", "rocm.blas", "rocm.ck", "aiter"),
    "sdpa": ("torch.sdpa",),
    "te": ("transformer_engine",),
    "tf": ("tensorflow",),
    "tpu": ("tpu_inference",),
    "trt": ("tensorrt",),
    "trtllm": ("tensorrt_llm",),
    "torchtrt": ("torch_tensorrt",),
    "tvm": ("tvm.relax", "tvm.relay", "tvm.byoc", "tvm.build", "tvm.target", "tvm.auto_scheduler"),
    "xla": ("jax",),
    "xpu": ("torch.xpu",),
}  # fmt: skip
"""By the plain form of what people write; several where a family has that name."""


def called(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """The known compilers that a name means: itself, else another spelling, else its aliases; or none."""
    names = tuple(known)
    if name in names:
        return (name,)
    if spelled := tuple(one for one in names if plain(one) == plain(name)):
        return spelled
    return tuple(one for one in ALIASES.get(plain(name), ()) if one in names)


def plain(name: str) -> str:
    """A compiler's name as people write it: `TensorRT-LLM` and `tensorrt_llm` are one."""
    return "".join(character for character in name.casefold() if character.isalnum())


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known compiler that is written most like a name which means none; None where none is like it."""
    from difflib import get_close_matches  # for mistakes alone

    near = get_close_matches(name.lower(), sorted(known), n=1)
    return near[0] if near else None
