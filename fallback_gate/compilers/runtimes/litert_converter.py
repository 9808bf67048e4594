r"""litert.converter: the converter to TFLite (`tf.lite.TFLiteConverter`): operators that TFLite lacks.

    W0000 00:00:1795998351.7    3323 flatbuffer_export.cc:4237] TFLite interpreter needs to link Flex delegate in order to run the model since it contains the following Select TFop(s):
    Flex ops: FlexDenseBincount, FlexIFFT
    TF Select ops: IFFT

**What falls back.** A Flex operator runs as a kernel of TensorFlow inside the interpreter, and no delegate
takes it. A custom operator needs a kernel of the user's. Without Flex operators allowed there is no model.

**At which setting it speaks.** A warning at the default level, of all such operators of the model; an error where
they are not allowed.

**When it is silent.** With `TF_CPP_MIN_LOG_LEVEL=2` or more. On operators that a quantised model keeps in float
where TFLITE_BUILTINS is allowed beside TFLITE_BUILTINS_INT8.

**What proves the end.** `Estimated count of arithmetic ops`: the converter's own last line, at INFO, so that its
warnings were on too. It must stand behind the last conversion that began: a quantised one prints it twice.

Wording seen in 2.21 (run), and in the source and public threads of 1.12 to 2.20.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.patterns import BEFORE, BEHIND, Pattern
from fallback_gate.scan.record import Record

NAME = "litert.converter"
_NAME = Pattern(r"[A-Za-z_][\w.:]{0,100}")


_DETAILS = Pattern(rf"{BEFORE}Details:")


def custom(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """As `listed`, between the sentence that asks for implementations and the details: else it may be anyone's list."""
    above = (line.text for line in record.preceding(1))
    below = (line.text for line in record.following(1))
    if _DETAILS.match(next(below, "")) or "custom op" in next(above, ""):
        yield from listed(rule, record, match)


def listed(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """Each operator of the list; a Flex operator is one of TensorFlow, with `Flex` before its name."""
    report = by_groups(rule, record, match)
    found: dict[str, None] = {}
    rest = match["listed"]
    while (name := _NAME.search(rest)) and len(found) < 200:
        found.setdefault(name[0])
        rest = rest[name.end() :]
    for op in found:
        yield report._replace(
            op=op, names=tuple(dict.fromkeys((op, op.removeprefix("Flex")))), reason=match["how"]
        )


SELECT = Rule(
    id="litert-converter/not-converted",
    compiler=NAME,
    anchor=("TF Select ops: ",),
    pattern=rf"^{BEFORE}(?P<how>TF Select ops): (?P<listed>\w{{1,100}}(?:, \w{{1,100}}){{0,200}}){BEHIND}",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="TFLite lacks the operator, and the program does not allow TensorFlow's kernels: there is no model.",
    help="Replace the operator by TFLite's own; allowing SELECT_TF_OPS converts it, as a fallback.",
    seen_in="2.21 (run), an exception",
    matches=("TF Select ops: IFFT", "TF Select ops: DenseBincount, IFFT"),
    ignores=("TF Select ops: see the guide",),
    read=listed,
)

FLEX = Rule(
    id="litert-converter/flex",
    compiler=NAME,
    anchor=("Flex ops: ",),
    pattern=rf"^{BEFORE}(?P<how>Flex ops): (?P<listed>Flex\w{{1,100}}(?:, Flex\w{{1,100}}){{0,200}}){BEHIND}",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="TFLite lacks the operator: it runs as a kernel of TensorFlow, outside every delegate.",
    help="Replace the operator by TFLite's own (https://www.tensorflow.org/lite/guide/ops_select lists them).",
    seen_in="2.21 (run), WARNING",
    matches=("Flex ops: FlexDenseBincount, FlexIFFT",),
    ignores=("Flex ops: none are used", "I like Flex ops: FlexIFFT"),
    read=listed,
)

CUSTOM = Rule(
    id="litert-converter/custom",
    compiler=NAME,
    anchor=("Custom ops: ",),
    pattern=rf"^{BEFORE}(?P<how>Custom ops): (?P<listed>\w[\w.:]{{0,99}}(?:, \w[\w.:]{{0,99}}){{0,200}})(?<![.:]){BEHIND}",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="TFLite lacks the operator: without allow_custom_ops there is no model, with it the user must bring a kernel.",
    help="Replace the operator, or register a kernel for it in the interpreter that ships.",
    seen_in="2.21 (run), WARNING and an exception",
    matches=("Custom ops: PyFunc\nDetails:", "Custom ops: PyFunc, stablehlo.custom_call\nDetails:"),
    ignores=("Custom ops: PyFunc", "Custom ops: see the guide", "Custom ops: none.", "// Custom ops: PyFunc"),
    read=custom,
)

NEITHER = Rule(
    id="litert-converter/neither-custom-nor-flex",
    compiler=NAME,
    anchor=("op is neither a custom op nor a flex op",),
    pattern=r"'tf\.(?P<op>\w{1,100})' (?P<reason>op is neither a custom op nor a flex op)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="TFLite lacks the operator (or its type), and neither TensorFlow's kernels nor a custom one are allowed: there is no model.",
    help=SELECT.help,
    seen_in="2.1 to 2.21 (source and public threads), an exception; the list of TF Select ops stands below it",
    matches=("<unknown>:0: error: 'tf.TensorListReserve' op is neither a custom op nor a flex op",),
    ignores=('return inst->emitOpError("is neither a custom op nor a flex op"),',),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(names=(match["op"], f"tf.{match['op']}"), hint=True),
    ),
)

TOCO = Rule(
    id="litert-converter/toco",
    compiler=NAME,
    anchor=("for which you will need custom implementations: ",),
    pattern=r"(?P<how>operators for which you will need custom implementations): (?P<listed>\w[\w.:]{0,99}(?:, \w[\w.:]{0,99}){0,200})(?<![.:])\.?\s*$",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="TFLite lacks the operator, and custom ones are not allowed: there is no model.",
    help="Allow SELECT_TF_OPS, take the converter of TensorFlow 2.2 or later, or replace the operator by TFLite's own.",
    seen_in="the converter of TensorFlow 1.12 to 2.1, TOCO (source and public threads), an exception",
    matches=(
        "calling tf.lite.TFLiteConverter(). Here is a list of builtin operators you are using: ADD, CONV_2D. Here is a list of operators for which you will need custom implementations: MyCustomOp1, MyCustomOp2.",
    ),
    ignores=('"of operators for which you will need custom implementations: ",',),
    read=listed,
)

ENDED = Marker(
    id="litert-converter/ended",
    compiler=NAME,
    anchor=("Estimated count of arithmetic ops: ",),
    pattern=r"flatbuffer_export\.cc:\d{1,6}\] Estimated count of arithmetic ops: ",
    shows="A model was converted to its end, with the converter's messages on.",
    seen_in="2.21 (run)",
    matches=(
        "I0000 00:00:1795998329.175465    3151 flatbuffer_export.cc:4302] Estimated count of arithmetic ops: 0.596 M  ops, equivalently 0.298 M  MACs",
    ),
    ignores=("Estimated count of arithmetic ops: 3",),
    read=shared.step,
)
BEGAN = Marker(
    id="litert-converter/began",
    compiler=NAME,
    anchor=("] Ignored output_format",),
    pattern=r"tf_tfl_flatbuffer_helpers\.cc:\d{1,6}\] Ignored output_format",
    shows="A conversion began.",
    seen_in="2.21 (run)",
    matches=(
        "W0000 00:00:1795998328.857488    3151 tf_tfl_flatbuffer_helpers.cc:364] Ignored output_format.",
    ),
    read=shared.step,
)

REQUIRED = frozenset({Kind.OP_FALLBACK})
SETTING = "TF_CPP_MIN_LOG_LEVEL=0, and a marker in the policy for the line that is printed after convert()"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """Each conversion that began must have come to its end before the next one; some print it twice."""
    begun, ended = shared.steps(evidence, BEGAN), shared.steps(evidence, ENDED)
    if Kind.COMPILE_ERROR in evidence.reported:
        why = "a model could not be converted, and nothing shows that it was after all"
        return {kind: Proof(State.UNPROVEN, why, None, SETTING) for kind in (*REQUIRED, Kind.COMPILE_ERROR)}
    if shared.each_ended(begun, ended) or (ended and not begun):
        why = "each conversion came to its end: operators that TFLite lacks would be listed"
        return {Kind.OP_FALLBACK: Proof(State.PROVEN, why, evidence.first(ENDED.id))}
    why = "the log does not show that each conversion came to its end"
    return {Kind.OP_FALLBACK: Proof(State.UNPROVEN, why, None, SETTING)}


READER = Reader(
    name=NAME,
    rules=(FLEX, CUSTOM, SELECT, NEITHER, TOCO),
    markers=(ENDED, BEGAN),
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="no",
    seen_in="2.21 (run)",
)
