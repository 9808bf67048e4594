r"""tvm.target: the machine that TVM compiles for or runs on is not the one that was asked for.

    [00:34:06] /project/src/backend/cuda/codegen/target_kind.cc:80: Warning: Unable to detect CUDA version, default to "-arch=sm_50" instead

**What falls back.** The code is made for an old GPU, an OpenCL program runs on the CPU, a library that the
target asks for is not built in.

**At which setting it speaks.** By default, when it happens.

**When it is silent.** Where the target names the wrong architecture itself, and where no device was opened.

**What proves the end.** Nothing: no line says which device was opened when all is well.

Wording from the source of 0.27, in part unchanged since 0.8.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "tvm.target"
_SRC = "[00:34:06] /project/src/"

NO_ARCH = Rule(
    id="tvm-target/default-architecture",
    compiler=NAME,
    anchor=(
        "Unable to detect CUDA version",
        "Unable to detect ROCm version",
        "ROCm not detected, using default",
    ),
    pattern=r"(?P<reason>^ROCm not detected, using default gfx\w{1,10}|Unable to detect (?:CUDA|ROCm) version, (?:default to \S+|assuming \S+ \S+))",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="The GPU was not seen, so code is made for an old one: no tensor cores, no asynchronous copies.",
    help="Name the architecture in the target: cuda -arch=sm_90, rocm -mcpu=gfx942.",
    seen_in="0.8 to 0.27 (source), WARNING",
    matches=(
        _SRC
        + 'backend/cuda/codegen/target_kind.cc:80: Warning: Unable to detect CUDA version, default to "-arch=sm_50" instead',
        _SRC
        + "backend/rocm/codegen/target_kind.cc:96: Warning: Unable to detect ROCm version, assuming >= 3.5",
        "ROCm not detected, using default gfx900",
    ),
    ignores=("Unable to detect CUDA version of the driver",),
)

OPENCL = Rule(
    id="tvm-target/opencl-cpu",
    compiler=NAME,
    anchor=("Using CPU OpenCL device", "No OpenCL platform matched given", "No OpenCL device"),
    pattern=r"\.(?:cc|h):\d+: (?:Warning: )?(?P<reason>Using CPU OpenCL device|No OpenCL platform matched given existing options|No OpenCL device)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="No GPU was found for OpenCL: kernels run on the CPU, or nowhere.",
    help="Install the GPU's OpenCL driver, and look at clinfo.",
    seen_in="0.8 to 0.27 (source), WARNING",
    matches=(
        _SRC + "backend/opencl/runtime/opencl_device_api.cc:728: Warning: Using CPU OpenCL device",
        _SRC + "backend/opencl/runtime/opencl_device_api.cc:732: Warning: No OpenCL device",
        _SRC
        + "backend/opencl/runtime/opencl_device_api.cc:683: Warning: No OpenCL platform matched given existing options ...",
    ),
    ignores=("No OpenCL device was found by hashcat",),
)

LIMITS = Rule(
    id="tvm-target/assumed-limits",
    compiler=NAME,
    anchor=(
        "Fallback to warp size 1",
        "Cannot get maximum number of threads for AMD codegen",
        "max_shared_memory_per_block",
    ),
    pattern=r"(?P<reason>Fallback to warp size 1|Cannot get maximum number of threads for AMD codegen"
    r"|Target \w+ missing 'max_shared_memory_per_block'; using \d+ bytes)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="A limit of the device is not known, so schedules are made for an assumed, smaller one.",
    help="Give the attribute in the target (max_shared_memory_per_block, max_num_threads, thread_warp_size).",
    seen_in="0.27 (source), WARNING",
    matches=(
        _SRC
        + "backend/metal/runtime/metal_device_api.mm:64: Warning: The CPU architecture is neither x86 nor aarch64. Fallback to warp size 1.",
        _SRC
        + "backend/rocm/codegen/codegen_amdgpu.cc:78: Warning: Cannot get maximum number of threads for AMD codegen",
        "Target opencl missing 'max_shared_memory_per_block'; using 32768 bytes.",
    ),
    ignores=('{"kind": "cuda", "max_shared_memory_per_block": 49152}',),
)

THRUST = Rule(
    id="tvm-target/no-thrust",
    compiler=NAME,
    anchor=("thrust is requested but TVM is not built with thrust",),
    pattern=r"(?P<reason>thrust is requested but TVM is not built with thrust)",
    kind=Kind.SLOWER_KERNEL,
    scope=Scope.PROGRAM,
    meaning="Sort, topk and scan run with TVM's own kernels, which are slower than thrust's.",
    help="Build TVM with USE_THRUST=ON.",
    seen_in="0.8 to 0.27 (source), WARNING of the root logger",
    matches=("WARNING:root:thrust is requested but TVM is not built with thrust.",),
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK})


READER = Reader(
    name=NAME,
    rules=(NO_ARCH, OPENCL, LIMITS, THRUST),
    markers=(),
    required=REQUIRED,
    prove=shared.unended("TVM does not print which device it opened when all is well", "", *REQUIRED),
    manual=__doc__,
    silent="no: said when it happens",
    seen_in="0.8 to 0.27 (source)",
)
