"""The side door: the settings of compilers and runtimes that are not one vendor's. See `table`."""

from __future__ import annotations

from typing import Final

from fallback_gate.capture.stack import TRACES, Setting, Stack

_HOOK = "in-process hook"
_ONLY_ARGUMENT = "no variable: an argument of the program"

STACKS: Final[tuple[Stack, ...]] = (
    Stack(
        "torch.compile",
        (
            Setting(
                "TORCH_TRACE",
                TRACES,
                "each graph break, frame and generated wrapper, as a structured trace, also on a cache hit",
            ),
            Setting(
                "TORCH_LOGS",
                "dynamo,graph_breaks,recompiles,perf_hints",
                "which frames were traced by which back end, limits, and that the compile phase ended",
                listed=True,
            ),
        ),
        f"{_HOOK} for what is silent at every level: the compiler off, eager back ends, stances",
        short="torch",
        packages=("torch",),
        page="https://docs.pytorch.org/docs/stable/logging.html",
    ),
    Stack(
        "torch.device",
        (),
        "strict modes; by default one warning for many calls",
        strict=(Setting("PYTORCH_ENABLE_MPS_FALLBACK", "0", "an operator that MPS lacks is an error"),),
        packages=("torch",),
        page="https://docs.pytorch.org/docs/stable/mps_environment_variables.html",
    ),
    Stack(
        "torch.xpu",
        (Setting("PYTORCH_DEBUG_XPU_FALLBACK", "1", "the name of each operator that runs on the CPU"),),
        short="xpu",
        packages=("torch",),
        page="https://github.com/intel/torch-xpu-ops",
    ),
    Stack(
        "torch.tunableop",
        (Setting("PYTORCH_TUNABLEOP_VERBOSE", "3", "a results file that is thrown away"),),
        "speaks only where TunableOp is on",
        packages=("torch",),
        page="https://docs.pytorch.org/docs/stable/cuda.tunable.html",
    ),
    Stack(
        "triton",
        (
            Setting(
                "MLIR_ENABLE_DIAGNOSTICS",
                "warnings,remarks",
                "dot products off the newest matrix units, loads that are not pipelined",
                listed=True,
            ),
            Setting(
                "TRITON_ALWAYS_COMPILE",
                "1",
                "all of these again, which a cached kernel does not repeat",
                cold=True,
            ),
        ),
        "the interpreter (TRITON_INTERPRET=1) says nothing; the PTX is an artefact that shows all",
        packages=("triton", "pytorch-triton", "triton-windows"),
        page="https://github.com/triton-lang/triton#tips-for-hacking",
    ),
    Stack(
        "tvm.relax",
        (),
        f"no variable: {_HOOK}, which prints the module at the pipeline's end; enable_warning=True by hand",
        short="tvm",
        packages=("apache-tvm", "mlc-ai-nightly"),
        page="https://tvm.apache.org/docs/",
    ),
    Stack(
        "tvm.relay",
        (),
        "no variable: logging at DEBUG in the build script",
        packages=("apache-tvm",),
        page="https://tvm.apache.org/docs/",
    ),
    Stack(
        "tilelang",
        (),
        f"no variable of a released wheel: {_HOOK} or the generated source; T.tma_copy fails instead",
        packages=("tilelang",),
        page="https://github.com/tile-ai/tilelang",
    ),
    Stack(
        "iree",
        (),
        f"{_ONLY_ARGUMENT}, --iree-hal-dump-executable-configurations-to=-; success prints nothing",
        packages=("iree-base-compiler",),
        page="https://iree.dev/reference/mlir-passes/",
    ),
    Stack(
        "onnxruntime",
        (),
        f"no variable: {_HOOK} for providers and placement; session.disable_cpu_ep_fallback fails instead",
        short="ort",
        packages=("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-qnn"),
        page="https://onnxruntime.ai/docs/execution-providers/",
    ),
    Stack(
        "openvino",
        (),
        f"no variable: {_HOOK} for the executed graph's kernels; benchmark_app -pc",
        packages=("openvino",),
        page="https://docs.openvino.ai/",
    ),
    Stack(
        "onednn",
        (Setting("ONEDNN_VERBOSE", "1", "the implementation of each primitive"),),
        "nodes that are no oneDNN primitive are not among them",
        wordy=True,
        packages=("onednn",),
        page="https://uxlfoundation.github.io/oneDNN/dev_guide_verbose.html",
    ),
    Stack(
        "jax",
        (),
        f"no variable: {_HOOK} for callbacks, custom calls and the platform that ran",
        packages=("jax", "jaxlib"),
        page="https://docs.jax.dev/en/latest/",
    ),
    Stack(
        "tensorflow",
        (
            Setting("TF_CPP_MIN_LOG_LEVEL", "0", "the compiler's own messages"),
            Setting(
                "TF_CPP_VMODULE",
                "mark_for_compilation_pass=5,compilability_check_util=5",
                "nodes that XLA's clusters leave out, by name",
                listed=True,
            ),
        ),
        packages=("tensorflow", "tensorflow-cpu", "tf-nightly"),
        page="https://www.tensorflow.org/xla",
    ),
    Stack(
        "tensorrt_llm",
        (Setting("TLLM_LOG_LEVEL", "INFO", "plug-ins and attention kernels that were refused"),),
        packages=("tensorrt-llm",),
        page="https://nvidia.github.io/TensorRT-LLM/",
    ),
    Stack(
        "tensorrt",
        (),
        f"{_ONLY_ARGUMENT}: trt.Logger(trt.Logger.INFO); trtexec without --allowGPUFallback fails instead",
        packages=("tensorrt",),
        page="https://docs.nvidia.com/deeplearning/tensorrt/",
    ),
    Stack(
        "torch_tensorrt",
        (),
        f"{_ONLY_ARGUMENT}: dryrun=True, or require_full_compilation=True, which fails instead",
        packages=("torch-tensorrt",),
        page="https://docs.pytorch.org/TensorRT/",
    ),
)
