"""qnn_sdk: Qualcomm's own converters and runtimes, QAIRT with SNPE and QNN: operators that they do not take.

    KeyError: 'No translation registered for op type onnx_dft. Op is most likely not supported by the converter.'
    error_code=1002; ... No backend could validate Op=/act/Sigmoid Type=ElementWiseNeuron error code=3110; ...

**What falls back.** Nothing by itself in these tools: a model with an operator that no back end takes is not converted,
or not loaded. (SNPE's option for a fallback to the CPU prints no line.)

**At which setting it speaks.** Always, as an error.

**When it is silent.** On SNPE's own fallback to the CPU (`setCPUFallbackMode`).

**What proves the end.** Nothing.

Wording seen in public logs of QAIRT 2.22 to 2.47, and of the converter's translations in the source of AIMET's samples
(https://github.com/quic/aimet). ONNX Runtime's, ExecuTorch's and LiteRT's use of QNN have readers of their own.
"""

from __future__ import annotations

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Scope

NAME = "qnn_sdk"
SEEN = "QAIRT 2.22 to 2.47 (public logs)"

NOT_CONVERTED = Rule(
    id="qnn-sdk/not-converted",
    compiler=NAME,
    anchor=("No translation registered for op type ",),
    pattern=r"(?:Error: |: |^)['\x22]?(?P<reason>No translation registered for op type (?P<name>(?:(?:onnx|tf|tflite|pytorch|relay|caffe2?)_)?(?P<op>[A-Za-z]\w{0,80})))",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The converter has no translation of the operator: there is no model for the chip.",
    help="Rewrite the operator in the model, keep it outside, or register a package of custom operators.",
    seen_in=f"{SEEN}, ERROR",
    matches=(
        "KeyError: 'No translation registered for op type onnx_dft. Op is most likely not supported by the converter.'",
        "2026-11-30 16:32:10,266 - 273 - ERROR - Node image_Quantize: 'No translation registered for op type onnx_dynamicquantizelinear.'",
    ),
    ignores=('            raise KeyError("No translation registered for op type %s. "',),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(names=tuple(dict.fromkeys((match["op"], match["name"])))),
    ),
)
NOT_VALIDATED = Rule(
    id="qnn-sdk/not-validated",
    compiler=NAME,
    anchor=("No backend could validate Op=",),
    pattern=r"(?P<reason>No backend could validate) Op=(?P<layer>\S{1,300}) Type=(?P<op>\w{1,80})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="No back end of the device that was asked for takes the operator with these types and parameters: the model is not loaded.",
    help="Quantise all of the operator's inputs and outputs, or ask for a device that has it.",
    seen_in=f"{SEEN}, an error",
    matches=(
        "error_code=1002; error_message=Layer parameter value is invalid. No backend could validate Op=/act/Sigmoid Type=ElementWiseNeuron error code=3110; error_component=Model Validation",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(names=(match["op"], match["layer"]), site=match["layer"]),
    ),
)

NOT_IMPLEMENTED = Rule(
    id="qnn-sdk/not-implemented",
    compiler=NAME,
    anchor=("Encountered Error: The following operators are not implemented: ",),
    pattern=r"Encountered Error: (?P<reason>The following operators are not implemented): (?P<ops>\[.{1,4000}\])",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning=NOT_CONVERTED.meaning,
    help=NOT_CONVERTED.help,
    seen_in="QAIRT 2.40 (public logs), ERROR",
    matches=(
        "2026-11-30 16:32:10,266 - 273 - ERROR - Encountered Error: The following operators are not implemented: ['aten::gate_attn', 'aten::sort']",
    ),
    read=shared.listed,
)

REQUIRED = frozenset({Kind.COMPILE_ERROR})

READER = Reader(
    name=NAME,
    rules=(NOT_CONVERTED, NOT_VALIDATED, NOT_IMPLEMENTED),
    markers=(),
    required=REQUIRED,
    prove=shared.unended("no line shows that each model was converted and loaded", "", *REQUIRED),
    manual=__doc__,
    silent="partly: SNPE's own fallback to the CPU is not told",
    seen_in=SEEN,
)
