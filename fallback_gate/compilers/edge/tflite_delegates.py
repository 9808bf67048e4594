"""Room 3: the operators that delegates of TensorFlow Lite other than the GPU's name, and delegates that are not there."""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.edge.tflite_gpu import NAME, by_number
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.shared import hinted
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import BEFORE
from fallback_gate.scan.record import Record

_MADE = "Created TensorFlow Lite "
_NEAR = 20  # lines between the delegate that was made and its refusal of the model


NNAPI = Rule(
    id="tflite/nnapi-refused",
    compiler=NAME,
    anchor=("refused by NNAPI delegate: ",),
    pattern=r"Operator (?P<op>\w{1,80}) \(v\d{1,4}\) refused by NNAPI delegate: (?P<reason>.{1,400})",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Android's neural network API does not take the operator: it runs on the CPU.",
    help="The line gives the reason: the version of the operator, of the API, or the quantisation.",
    seen_in="TensorFlow Lite 2.3 to 2.9 (public threads), WARNING",
    matches=("WARNING: Operator QUANTIZE (v2) refused by NNAPI delegate: OP Version different from 1",),
)
NNAPI_CODE = Rule(
    id="tflite/nnapi-code",
    compiler=NAME,
    anchor=("is currently not delegated to NNAPI",),
    pattern=r"Op code (?P<code>\d{1,6}) (?P<reason>is currently not delegated to NNAPI)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning=NNAPI.meaning,
    help="The number is that of BuiltinOperator in the schema of TensorFlow Lite.",
    seen_in="TensorFlow Lite 1.13 (public threads)",
    matches=("E/tflite: Op code 67 is currently not delegated to NNAPI",),
    read=by_number,
)
VX = Rule(
    id="tflite/vx-unsupported",
    compiler=NAME,
    anchor=("Fallback unsupported op ",),
    pattern=r"(?P<reason>Fallback unsupported op) (?P<code>\d{1,6}) to TfLite",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="VeriSilicon's NPU (in NXP's i.MX 8, say) does not take the operator: it runs on the CPU.",
    help="The number is that of BuiltinOperator in the schema of TensorFlow Lite; 32 is a custom operator, "
    "such as TFLite_Detection_PostProcess.",
    seen_in="tflite-vx-delegate (source and public logs), WARNING, earlier ERROR",
    matches=("WARNING: Fallback unsupported op 32 to TfLite",),
    read=by_number,
)


def of_library(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The delegate by the name of its library."""
    library = match["library"]
    names = (library, f"lib{library}")
    yield by_groups(rule, record, match)._replace(op=library, names=names, reason=match["reason"])


LIBRARY = Rule(
    id="tflite/delegate-library-missing",
    compiler=NAME,
    anchor=("elegate.so", "elegate.dylib", "libedgetpu"),
    pattern=r"(?:^|(?<=[\s/('\x22]))lib(?P<library>edgetpu|\w{0,60}[dD]elegate)\.(?:so(?:\.\d{1,3})*|(?:(?<=edgetpu\.)\d\.)?dylib): (?P<reason>cannot open shared object file.{0,100}|undefined symbol: .{1,200})",
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The library of the delegate, or one that it needs, is not there: the model runs on the CPU, or the program ended.",
    help="Install the delegate's runtime (libedgetpu1-std, say), or put its folder into LD_LIBRARY_PATH.",
    seen_in="tflite-runtime 2.14 and LiteRT 2.3 (run), the OSError of load_delegate()",
    matches=(
        "OSError: libedgetpu.so.1: cannot open shared object file: No such file or directory",
        "GPU delegate unavailable (libtensorflowlite_gpu_delegate.so: cannot open shared object file: No such file or directory)",
        "OSError: /usr/lib/libvx_delegate.so: undefined symbol: tflite_plugin_create_delegate",
    ),
    ignores=(
        "cp libedgetpu.so.1 /usr/lib",
        "OSError: libdelegates.so: cannot open shared object file: No such file or directory",
    ),
    read=of_library,
)
GPU_FAILED = Rule(
    id="tflite/gpu-not-prepared",
    compiler=NAME,
    anchor=("TfLiteGpuDelegate Prepare: ",),
    pattern=r"\bTfLiteGpuDelegate Prepare: (?P<reason>(?!%s)\S.{0,300})",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The GPU delegate can't prepare its part of the model: the whole model runs on the CPU, or none is made.",
    help="The line, or the one with `TfLiteGpuDelegate Init: ` above it, gives the reason: a driver, or an operator's shape.",
    seen_in="TensorFlow Lite 1.14 to 2.21 (source and public threads), ERROR",
    matches=("E/tflite: TfLiteGpuDelegate Prepare: delegate is not initialized",),
    ignores=('            "TfLiteGpuDelegate Prepare: %s", status.message().data());',),
    # Where the interpreter says that it went back to the CPU, that line tells.
    read=hinted,
)
ARMNN = Rule(
    id="tflite/armnn-unsupported",
    compiler=NAME,
    anchor=("is not supported by armnn_delegate.", ": not supported by armnn: "),
    pattern=r"(?:Operator |\s|^)(?P<op>[A-Z][A-Z0-9_]{1,80})(?: \[\d{1,6}\] is not supported by armnn_delegate\.|: not supported by armnn: (?P<reason>.{1,400}))",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Arm NN does not take the operator: TensorFlow Lite runs it by its own kernels.",
    help="Take a later release of Arm NN, or the type that the line asks for.",
    seen_in="Arm NN 22 to 23 (source and public threads)",
    matches=(
        "ERROR: Operator TILE [69] is not supported by armnn_delegate.",
        "WARNING: DEQUANTIZE: not supported by armnn: in validate_arguments src/cpu/kernels/CpuDequantizeKernel.cpp:51: ITensor data type F16 not supported by this kernel",
    ),
)
ARMNN_LAYER = Rule(
    id="tflite/armnn-next-backend",
    compiler=NAME,
    anchor=("is not supported on requested backend ",),
    pattern=r"Layer of type (?P<op>\w{1,80}) is not supported on requested backend (?P<reason>\w{1,40} for .{1,600}?)(?:, falling back to the next backend|\s*$)",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="Arm NN does not take the layer on the backend that was asked for: the next one of the list runs it, "
    "mostly the plain loops of CpuRef.",
    help=ARMNN.help,
    seen_in="Arm NN 19 to 25 (source and public threads), WARNING",
    matches=(
        "WARNING: Layer of type DetectionPostProcess is not supported on requested backend CpuAcc for input data type QAsymm8 and output data type Float32 (reason: IsDetectionPostProcessSupported is not implemented [LayerSupportBase.cpp:171]), falling back to the next backend.",
        "), falling back to the next backend.WARNING: Layer of type Quantize is not supported on requested backend VsiNpu for input data type Float32 and output data type QAsymmS8 (reason: Npu quantize: output type not supported.",
    ),
    ignores=("Layer of type Resize is not supported on requested backend ' + backend",),
)
ARMNN_NO_BACKEND = Rule(
    id="tflite/armnn-no-backend",
    compiler=NAME,
    anchor=("is not supported on any preferred backend ",),
    pattern=r"Layer of type (?P<op>\w{1,80}) is (?P<reason>not supported on any preferred backend \[[\w ]{1,120}\])",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="No backend of the list takes the layer: Arm NN makes no network.",
    help="Put CpuRef at the end of the list of backends, or change the layer as the lines above it ask.",
    seen_in="Arm NN 19 to 25 (source and public threads), ERROR",
    matches=(
        "Warning: ERROR: Layer of type Convolution2d is not supported on any preferred backend [CpuAcc ]",
    ),
    ignores=('<< " is not supported on any preferred backend " << backendPreferences;',),
)


def needs_static(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Where the delegate that was made last is XNNPACK, the model stays on the CPU, with plainer kernels."""
    report = by_groups(rule, record, match)
    made = next((line.text for line in record.preceding(_NEAR) if _MADE in line.text), "")
    if "XNNPACK" in made:
        report = report._replace(kind=Kind.SLOWER_KERNEL)
    yield report


STATIC = Rule(
    id="tflite/delegate-needs-static",
    compiler=NAME,
    anchor=("a delegate that only supports static-sized tensors",),
    pattern=rf"^{BEFORE}(?:\w*Error: |(?:ERROR|WARNING|INFO): |[EWI]/tflite *(?:\( *\d{{1,9}}\))?: |[EWI] tflite *: )?Attempting to use (?P<reason>a delegate that only supports static-sized tensors with a graph that has dynamic-sized tensors)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The delegate takes no tensor whose size is not fixed: none of the model is given to it.",
    help="Convert the model with fixed sizes (batch included), or resize the inputs before the delegate is applied.",
    seen_in="TensorFlow Lite 1.14 to 2.21 and LiteRT 1 (source and public threads), ERROR, later WARNING",
    matches=(
        "ERROR: Attempting to use a delegate that only supports static-sized tensors with a graph that has dynamic-sized tensors.",
        "W/tflite: Attempting to use a delegate that only supports static-sized tensors with a graph that has dynamic-sized tensors (tensor#21 is a dynamic-sized tensor).",
        "INFO: Created TensorFlow Lite XNNPACK delegate for CPU.\nAttempting to use a delegate that only supports static-sized tensors with a graph that has dynamic-sized tensors (tensor#-1 is a dynamic-sized tensor).",
    ),
    ignores=("r'Attempting to use a delegate that only supports static-sized tensors',",),
    read=needs_static,
)

TELLING = (NNAPI, NNAPI_CODE, VX, ARMNN, ARMNN_LAYER, ARMNN_NO_BACKEND, STATIC)  # why not all is delegated
RULES = (*TELLING, GPU_FAILED, LIBRARY)
