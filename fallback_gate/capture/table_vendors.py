"""The side door: the settings of vendors' libraries, devices and serving stacks. See `table`."""

from __future__ import annotations

from typing import Final

from fallback_gate.capture.stack import Setting, Stack

_ONLY_ARGUMENT = "no variable: an argument of the program"

STACKS: Final[tuple[Stack, ...]] = (
    Stack(
        "transformer_engine",
        (
            Setting("NVTE_DEBUG", "1", "which attention back end was selected"),
            Setting("NVTE_DEBUG_LEVEL", "2", "why the others were not"),
        ),
        packages=("transformer-engine",),
        page="https://docs.nvidia.com/deeplearning/transformer-engine/",
    ),
    Stack(
        "flashinfer",
        (Setting("FLASHINFER_LOGGING_LEVEL", "debug", "kernels that run with a default configuration"),),
        packages=("flashinfer-python",),
        page="https://docs.flashinfer.ai/",
    ),
    Stack(
        "cudnn",
        (
            Setting("CUDNN_FRONTEND_LOG_INFO", "1", "graphs that no engine supports"),
            Setting("CUDNN_FRONTEND_LOG_FILE", "stderr", "the same, on standard error"),
        ),
        wordy=True,
        packages=("nvidia-cudnn-frontend",),
        page="https://docs.nvidia.com/deeplearning/cudnn/",
    ),
    Stack(
        "miopen",
        (Setting("MIOPEN_LOG_LEVEL", "6", "naive solvers and misses of the find-db"),),
        wordy=True,
        short="rocm",
        page="https://rocm.docs.amd.com/projects/MIOpen/",
    ),
    Stack(
        "rocm.blas",
        (Setting("HIPBLASLT_LOG_LEVEL", "5", "products that hipBLASLt hands to another library"),),
        wordy=True,
        short="rocm",
        page="https://rocm.docs.amd.com/projects/hipBLASLt/",
    ),
    Stack(
        "migraphx",
        (),
        "no variable: migraphx-driver compile MODEL --gpu prints the compiled program",
        short="rocm",
        page="https://rocm.docs.amd.com/projects/AMDMIGraphX/",
    ),
    Stack(
        "aiter",
        (
            Setting("AITER_LOG_LEVEL", "INFO", "kernels that run without a tuned configuration"),
            Setting("AITER_LOG_TUNED_CONFIG", "1", "those that have one"),
        ),
        short="rocm",
        packages=("aiter", "amd-aiter"),
        page="https://github.com/ROCm/aiter",
    ),
    Stack(
        "torch_npu",
        (),
        "a warning for each operator by default; the strict mode",
        short="ascend",
        strict=(
            Setting("TORCH_NPU_FALLBACK_CPU_DISABLE", "1", "an operator that the NPU lacks is an error"),
        ),
        packages=("torch-npu",),
        page="https://github.com/Ascend/pytorch",
    ),
    Stack(
        "torch_npu.inductor",
        (Setting("ANIR_FALLBACK_WARNING", "1", "kernels that run as an eager FX graph"),),
        short="ascend",
        packages=("torch-npu",),
        page="https://github.com/Ascend/pytorch",
    ),
    Stack(
        "cann",
        (
            Setting("ASCEND_GLOBAL_LOG_LEVEL", "0", "which engine each operator was placed on"),
            Setting("ASCEND_SLOG_PRINT_TO_STDOUT", "1", "the same, in the log in place of a folder"),
        ),
        wordy=True,
        short="ascend",
        page="https://www.hiascend.com/document",
    ),
    Stack(
        "mindspore",
        (Setting("GLOG_v", "1", "operators on the CPU and graphs that were cut"),),
        wordy=True,
        packages=("mindspore",),
        page="https://www.mindspore.cn/docs/",
    ),
    Stack(
        "mindie",
        (Setting("MINDIE_LOG_LEVEL", "info", "graphs that were not captured"),),
        short="ascend",
        packages=("mindie-llm",),
        page="https://www.hiascend.com/document",
    ),
    Stack(
        "gaudi",
        (Setting("ENABLE_CONSOLE", "true", "the count of calls on the CPU, at the end of the process"),),
        short="hpu",
        strict=(
            Setting("PT_HPU_PLACE_ON_CPU", "none", "an operator that the HPU lacks is an error"),
            Setting(
                "PT_HPU_USE_EAGER_FALLBACK", "0", "a node that the graph compiler leaves eager is an error"
            ),
        ),
        packages=("habana-torch-plugin",),
        page="https://docs.habana.ai/en/latest/PyTorch/Reference/Runtime_Flags.html",
    ),
    Stack(
        "torch.mlu",
        (),
        "a warning for each base name by default; the strict mode",
        short="mlu",
        strict=(Setting("ENABLE_FALLBACK_TO_CPU", "0", "an operator that the MLU lacks is an error"),),
        packages=("torch-mlu",),
        page="https://github.com/Cambricon/torch_mlu",
    ),
    Stack(
        "torch.dipu",
        (Setting("DIPU_DUMP_OP_ARGS", "0", "each operator that runs on the CPU"),),
        packages=("torch-dipu",),
        page="https://github.com/DeepLink-org/deeplink.framework",
    ),
    Stack(
        "paddle",
        (Setting("GLOG_v", "3", "each kernel that falls back to the CPU"),),
        wordy=True,
        strict=(
            Setting("FLAGS_enable_api_kernel_fallback", "0", "a kernel that the device lacks is an error"),
        ),
        packages=("paddlepaddle", "paddlepaddle-gpu"),
        page="https://www.paddlepaddle.org.cn/documentation/docs/",
    ),
    Stack(
        "vLLM",
        (
            Setting("VLLM_LOGGING_LEVEL", "DEBUG", "kernels and back ends that were refused"),
            Setting(
                "VLLM_DISABLE_COMPILE_CACHE", "1", "what the compile says, which its cache hides", cold=True
            ),
        ),
        "the structured trace of torch.compile comes from its worker processes too",
        packages=("vllm",),
        page="https://docs.vllm.ai/",
    ),
    Stack(
        "vllm-ascend",
        (Setting("VLLM_LOGGING_LEVEL", "DEBUG", "operators and graphs that were refused"),),
        short="ascend",
        packages=("vllm-ascend",),
        page="https://github.com/vllm-project/vllm-ascend",
    ),
    Stack(
        "SGLang",
        (),
        f"{_ONLY_ARGUMENT}, --log-level info, which is the default",
        packages=("sglang",),
        page="https://docs.sglang.ai/",
    ),
    Stack(
        "llama.cpp",
        (Setting("GGML_SCHED_DEBUG", "2", "which back end each node of the graph runs on, with -v"),),
        wordy=True,
        short="ggml",
        page="https://github.com/ggml-org/llama.cpp",
    ),
    Stack(
        "torch.xla",
        (),
        "no variable: print(torch_xla.debug.metrics.metrics_report()) at the end of the program",
        packages=("torch-xla",),
        page="https://github.com/pytorch/xla",
    ),
    Stack(
        "torch.sdpa",
        (),
        "nothing: sdpa_kernel([...]) in the program makes the call fail instead",
        packages=("torch",),
        page="https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.sdpa_kernel.html",
    ),
    Stack(
        "coreml",
        (),
        "nothing tells the compute unit; logging at INFO for ExecuTorch's lowering",
        packages=("coremltools",),
        page="https://apple.github.io/coremltools/",
    ),
    Stack(
        "executorch",
        (),
        f"{_ONLY_ARGUMENT}: print get_delegation_info(...)",
        packages=("executorch",),
        page="https://docs.pytorch.org/executorch/",
    ),
)
