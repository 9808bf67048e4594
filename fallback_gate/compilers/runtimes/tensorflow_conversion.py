r"""Room 3: functions of TensorFlow with jit_compile=True that XLA does not take, though it has each operator, and models of Keras.

    InvalidArgumentError: Input 1 to node `bincount/DenseBincount` with op DenseBincount must be a compile-time constant.
             [[{{node bincount/DenseBincount}}]]
        tf2xla conversion failed while converting __inference_net_48[_XlaMustCompile=true,...]. Run with ...

The last line follows each failed conversion; where the first one lists operators that XLA lacks, that one tells.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.tensorflow_clusters import NAME
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

MOST_ABOVE = 60  # lines of one error
_WITH_OP = Pattern(r"\bwith op (?P<op>[A-Z]\w{0,80})\b")
_NODE = Pattern(r"\[\[\{\{node (?P<node>[^{}]{1,300})\}\}\]\]")
_BEGINS = Pattern(r"Error: |OP_REQUIRES failed at \S{1,80} : ")
_NUMBER = Pattern(r"_\d+$")
_FUNCTION = Pattern(r"^(?:__(?:inference|forward|backward))?_?(?P<name>\w{1,200}?)_\d{1,9}$")


def unconverted(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The node that the error names, and the function."""
    op = node = None
    report = by_groups(rule, record, match)
    for line in record.preceding(MOST_ABOVE):
        if "Detected unsupported operations" in line.text:
            return
        node = node or (found["node"] if (found := _NODE.search(line.text)) else None)
        op = op or (found["op"] if (found := _WITH_OP.search(line.text)) else None)
        if begins := _BEGINS.search(line.text):
            said = line.text[begins.end() :].strip()
            report = report._replace(position=record.position_at(line.at), text=line.text, reason=said[:500])
            break
    plain = _NUMBER.sub("", node.rpartition("/")[2]) if node else "*"
    function = _FUNCTION.match(match["function"])
    stack = (function["name"],) if function else ()
    names = tuple(dict.fromkeys(name for name in (op or plain, node) if name and name != "*"))
    yield report._replace(op=op or plain, names=names, layer=node, stack=stack, location=None)


NOT_CONVERTED = Rule(
    id="tensorflow/xla-not-converted",
    compiler=NAME,
    anchor=("tf2xla conversion failed while converting ",),
    pattern=r"\btf2xla conversion failed while converting (?P<function>\w{1,300})\[(?P<reason>.{0,300})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The function must be compiled by XLA as a whole (jit_compile=True), and could not be: the program ended, or went on without it.",
    help="The error above the line says what XLA can't take: mostly a shape that depends on data. Make it static, or leave the node out of the function.",
    seen_in="2.21 (run), an exception and a WARNING",
    matches=(
        "InvalidArgumentError: Input 1 to node `bincount/DenseBincount` with op DenseBincount must be a compile-time constant.\n\n\t [[{{node bincount/DenseBincount}}]]\n\ttf2xla conversion failed while converting __inference_net_48[_XlaMustCompile=true,config_proto=1]. Run with TF_DUMP_GRAPH_PREFIX=/path",
        "\ttf2xla conversion failed while converting __inference_step_7[_XlaMustCompile=true]. Run with TF_DUMP_GRAPH_PREFIX=/path",
    ),
    ignores=("tf2xla conversion failed while converting: see above",),
    read=unconverted,
)

NO_JIT = Rule(
    id="tensorflow/keras-without-jit",
    compiler=NAME,
    anchor=("jit_compile=False",),
    pattern=r"UserWarning: (?P<reason>Model doesn't support `jit_compile=True`\. Proceeding with `jit_compile=False`\.)",
    kind=Kind.EAGER_FRAME,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="Keras was asked to compile the model with XLA, and one of its layers can't be: none of the model is.",
    help="Take the layer that has supports_jit=False (lookups, hashing, random images) out of the model, into the input pipeline.",
    seen_in="Keras 3.15 (run), a Python warning",
    matches=(
        "/opt/venv/keras/src/trainers/trainer.py:248: UserWarning: Model doesn't support `jit_compile=True`. Proceeding with `jit_compile=False`.",
    ),
    ignores=('                "Proceeding with `jit_compile=False`."',),
)
