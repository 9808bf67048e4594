"""nncase: Canaan's compiler for the K210, K510 and K230: models that it does not import.

    Fatal: Not supported ONNX opcode: LogSoftmax
    Unhandled exception. System.NotSupportedException: Not Supported Onnx op: Loop

**What falls back.** A model with an operator that the importer lacks is not compiled at all: the program ended, or
went on without it. What the KPU lacks runs on the chip's CPU cores, and no line tells.

**At which setting it speaks.** Always: the error ends the compiler.

**When it is silent.** On operators that run on the CPU cores: `dump_ir` writes the graph that shows them.

**What proves the end.** Nothing in the log.

Seen in 1.9 for the K210 (run: a model that is not quantised runs on the CPU cores whole, without a line), wording from the
source of 0.2 to 1.9 (https://github.com/kendryte/nncase) and from public threads for 2.x.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "nncase"
SETTING = "compile_options.dump_ir = True, and the dumped graph looked at"

NOT_IMPORTED = Rule(
    id="nncase/not-imported",
    compiler=NAME,
    anchor=("Not supported ", "Not Supported "),
    pattern=r"(?:^|: )(?P<reason>Not [sS]upported (?:ONNX|Onnx|tflite|Tflite|TFLite|caffe|Caffe|Ncnn|ncnn) op(?:code)?): (?P<op>[A-Za-z]\w{0,80})\s*$",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The importer lacks the operator: there is no kmodel.",
    help="Replace the operator in the model (onnxsim folds many), run it behind the model, or take a later nncase.",
    seen_in="nncase 1.9 (run), 0.2 to 1.8 (source), 2.10 (public threads), an error",
    matches=(
        "Fatal: Not supported ONNX opcode: LogSoftmax",
        "Fatal: Not supported tflite opcode: LOGISTIC",
        "RuntimeError: Not supported ONNX opcode: NonZero",
        "Unhandled exception. System.NotSupportedException: Not Supported Onnx op: Loop",
    ),
    ignores=(
        '    throw runtime_error("Not supported ONNX opcode: " + op_type);',
        "Not supported data type: float64",
    ),
)

NOT_SUPPORTED = Rule(
    id="nncase/layer-not-supported",
    compiler=NAME,
    anchor=("Layer ",),
    pattern=r"^Fatal: Layer (?P<op>[A-Za-z]\w{0,80}) (?P<reason>is not supported(?:: \S.{0,300})?)\s*$",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=NOT_IMPORTED.meaning,
    help="The line tells which form of the operator is taken, where it is the form; else as for an operator that lacks.",
    seen_in="nncase 0.1 (source and public threads), an error",
    matches=("Fatal: Layer Pad is not supported: Only paddings of [[0,0],[1,1],[1,1],[0,0]] is supported",),
    ignores=("Fatal: Layer is not supported", "Layer Pad is not supported by this viewer"),
)

REQUIRED = frozenset({Kind.COMPILE_ERROR, Kind.DEVICE_FALLBACK})

READER = Reader(
    name=NAME,
    rules=(NOT_IMPORTED, NOT_SUPPORTED),
    markers=(),
    required=REQUIRED,
    prove=shared.unshown("no line tells which operators run on the CPU cores", SETTING, *REQUIRED),
    setting=SETTING,
    manual=__doc__,
    silent="partly: an operator that can't be imported is an error, one on the CPU cores is not told",
    seen_in="nncase 1.9 (run), 0.1 to 1.8 (source), 2.10 (public threads)",
)
