"""webnn: WebNN in a browser: graphs and operators that it refuses.

    DOMException: Failed to execute 'build' on 'MLGraphBuilder': DirectML: This operator (gru) is not supported.
    Failed to execute 'reduceL1' on 'MLGraphBuilder': [reduceL1_op] Unsupported data type int8 for argument input.

**What falls back.** Nothing by itself: a graph is built whole or not. A page, or ONNX Runtime Web, that catches the exception
computes the model with WebGPU or WebAssembly.

**At which setting it speaks.** Always: it is an exception. ONNX Runtime Web tells at VERBOSE which nodes it gives to WebNN;
see the reader `onnxruntime`.

**When it is silent.** On the device that the browser takes: a context for the GPU or the NPU may run operators on the CPU.

**What proves the end.** Nothing.

Wording of Chromium 121 to 148 (public threads; the head comes from its bindings and is the same for each method).
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers import shared
from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Reader, Rule
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "webnn"
SEEN = "Chromium 121 to 148 (public threads), an exception"
_OPERATOR = Pattern(
    r"\b(?:This operator \((?P<told>\w{1,60})\) is not supported|Unsupported operator (?P<named>\w{1,60}))"
)
_OF_THE_GRAPH = {"build", "buildSync", "constant", "input"}


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator of the text, else the method that was called, which is an operator's unless it is the graph's."""
    report = by_groups(rule, record, match)
    if told := _OPERATOR.search(match["reason"]):
        op = told["told"] or told["named"]
    elif match["method"] in _OF_THE_GRAPH:
        yield report._replace(scope=Scope.PROGRAM)
        return
    else:
        op = match["method"]
    yield report._replace(op=op, names=(op,))


REFUSED = Rule(
    id="webnn/not-built",
    compiler=NAME,
    anchor=(" on 'MLGraphBuilder': ",),
    pattern=r"\bFailed to execute '(?P<method>\w{2,60})' on 'MLGraphBuilder': (?P<reason>\S.{0,400})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The browser's back end does not take the operator, or the graph: the graph is not built.",
    help="Change the operator's types or shape to what opSupportLimits() tells, or leave the model to another back end.",
    seen_in=SEEN,
    matches=(
        "DOMException: Failed to execute 'build' on 'MLGraphBuilder': DirectML: This operator (gru) is not supported.",
        "DOMException: Failed to execute 'build' on 'MLGraphBuilder': XNNPACK only supports constant padding mode.",
        "Uncaught TypeError: Failed to execute 'reduceL1' on 'MLGraphBuilder': [reduceL1_op] Unsupported data type int8 for argument input.",
    ),
    read=refused,
)

NO_CONTEXT = Rule(
    id="webnn/no-context",
    compiler=NAME,
    anchor=("Failed to execute 'createContext' on 'ML': ",),
    pattern=r"\bFailed to execute 'createContext' on 'ML': (?P<reason>\S.{0,400})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="The browser gives no context for the device: no graph is built.",
    help="The line says what the device or its driver lacks; ask for another device, or update the driver.",
    seen_in=SEEN,
    matches=(
        "NotSupportedError: Failed to execute 'createContext' on 'ML': DirectML: WebNN is blocklisted for NPU.",
    ),
)

REQUIRED = frozenset({Kind.COMPILE_ERROR, Kind.DEVICE_FALLBACK})

READER = Reader(
    name=NAME,
    rules=(REFUSED, NO_CONTEXT),
    markers=(),
    required=REQUIRED,
    prove=shared.unended("no line shows that each graph was built, and on which device", "", *REQUIRED),
    manual=__doc__,
    silent="partly: what is refused is an error, where it runs is not told",
    seen_in="Chromium 121 to 148 (public threads)",
)
