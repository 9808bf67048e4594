"""Room 3: what the lines mean. One module for each compiler or runtime, and each is its own manual page.

A reader declares rules (what reports a fallback), markers (what says something about the evidence) and how
to weigh the evidence of one process. Readers stand in a folder for each family, and `MODULES` lists them: a
new compiler is one module and one line there. A user's own rules come from the policy as data and take the
same road.

What is not in a folder is the machinery. `rule` is the shape of all that is declared, `library` brings in the
readers that a log asks for, `book` holds their rules ready for the scan, `log` is what one log says by them.
"""

from __future__ import annotations

from collections.abc import Mapping

from fallback_gate.compilers import index
from fallback_gate.compilers.library import Library
from fallback_gate.compilers.rule import Reader

MODULES = (  # that declare a `READER`, or several in `READERS`
    "torch.compile",
    "torch.device",
    "tvm.relax",
    "tvm.relay",
    "tvm.auto_scheduler",
    "tvm.byoc",
    "tvm.build",
    "tvm.target",
    "runtimes.onnxruntime",
    "runtimes.webnn",
    "runtimes.openvino",
    "runtimes.openvino_torch",
    "runtimes.jax_xla",
    "runtimes.tensorflow",
    "runtimes.litert_converter",
    "runtimes.executorch",
    "runtimes.tilelang",
    "runtimes.triton",
    "runtimes.tinygrad",
    "runtimes.iree",
    "amd.migraphx",
    "amd.miopen",
    "amd.rocm",
    "amd.aiter",
    "amd.tunableop",
    "apple.coreml",
    "apple.mlx",
    "ascend.cann",
    "ascend.torch_npu",
    "ascend.torch_npu_inductor",
    "ascend.torchair",
    "ascend.torchair_inductor",
    "ascend.mindspore",
    "ascend.tilelang_ascend",
    "ascend.vllm_ascend",
    "ascend.mindie",
    "ascend.sglang_npu",
    "serving.vllm",
    "serving.sglang",
    "serving.lmdeploy",
    "serving.text_generation_inference",
    "serving.deepspeed",
    "serving.hf_transformers",
    "serving.llama_cpp",
    "accelerators.gaudi",
    "accelerators.torch_xpu",
    "accelerators.ipex",
    "accelerators.onednn",
    "accelerators.neuron",
    "accelerators.nxd_inference",
    "accelerators.torch_xla",
    "accelerators.tpu_inference",
    "accelerators.torch_mlu",
    "accelerators.torch_musa",
    "accelerators.torch_dipu",
    "accelerators.poptorch",
    "accelerators.paddle",
    "accelerators.tf_trt",
    "accelerators.mlc_llm",
    "edge.tflite",
    "edge.edgetpu",
    "edge.vela",
    "edge.rknn",
    "edge.tidl",
    "edge.tpu_mlir",
    "edge.vitis_ai",
    "edge.mnn",
    "edge.nncase",
    "edge.hailo",
    "edge.qnn_sdk",
    "nvidia.tensorrt",
    "nvidia.torch_tensorrt",
    "nvidia.tensorrt_llm",
    "nvidia.transformer_engine",
    "nvidia.flashinfer",
    "nvidia.xformers",
    "nvidia.cudnn",
    "nvidia.cublaslt",
    "nvidia.torch_sdpa",
    "generic",
)
CLOSINGS = ("closing.torch", "closing.runtimes", "closing.graphs")  # what closing records say
READERS: Mapping[str, Reader] = Library(index.PLACES, index.ANCHORS)
