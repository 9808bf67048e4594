"""Room 3: sessions that ONNX Runtime does not make, in the words of its other languages: JavaScript, C#, Java.

    Error: no available backend found. ERR: [webgpu] backend not found.
    TypeError: cannot resolve operator 'Erf' with opsets: ai.onnx v15
    Error: Can't create a session. ERROR_CODE: 7, ERROR_MESSAGE: Failed to load model because protobuf parsing failed.
    Microsoft.ML.OnnxRuntime.OnnxRuntimeException: [ErrorCode:RuntimeException] Exception during initialization: ...
    ai.onnxruntime.OrtException: Error code - ORT_FAIL - message: Load model from ...

A browser's back ends are `webgpu`, `webnn`, `webgl` and `wasm`, the CPU; one that can't be had is left out with a warning
where another is named behind it.
"""

from __future__ import annotations

from collections.abc import Iterable
from re import Match

from fallback_gate.compilers.rule import Rule
from fallback_gate.compilers.runtimes.onnxruntime_placement import NAME
from fallback_gate.compilers.runtimes.onnxruntime_session import FAILED, by_reason
from fallback_gate.model import Kind, Report, Scope
from fallback_gate.scan.record import Record

_CODES = r"(?:Fail|EpFail|NotImplemented|InvalidGraph|InvalidProtobuf|EngineError|RuntimeException)"
_NAMES = r"(?:FAIL|EP_FAIL|NOT_IMPLEMENTED|INVALID_GRAPH|INVALID_PROTOBUF|ENGINE_ERROR|RUNTIME_EXCEPTION)"


def refused(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """What the error names; not where the text below C#'s or Java's words is the library's own line, which has its rule."""
    reason = (match["web"] or match["sharp"] or match["java"]).rstrip()
    if reason.count("'") % 2:
        reason = reason.removesuffix("'")  # Visual Studio shows the whole of it in quotes
    if "[ONNXRuntimeError] : " not in reason:
        yield by_reason(rule, record, match, reason)._replace(hint=True)


REFUSED = Rule(
    id="onnxruntime/session-not-made-by-binding",
    compiler=NAME,
    anchor=("ERROR_MESSAGE: ", "OnnxRuntimeException", "OrtException: Error code - ORT_"),
    pattern=r"\bCan't (?:create a session|append execution provider: \w{2,20})\. ERROR_CODE: \d{1,3}, ERROR_MESSAGE: (?P<web>\S.{0,2000})"
    rf"|\bOnnxRuntimeException ?: '?\[ErrorCode:{_CODES}\] (?P<sharp>(?!Non-zero status)\S.{{0,2000}})"
    rf"|\bOrtException: Error code - ORT_{_NAMES} - message: (?P<java>(?!Non-zero status)\S.{{0,2000}})",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning=FAILED.meaning,
    help=FAILED.help,
    seen_in="1.11 to 1.24 (source and public threads), an exception",
    matches=(
        "Error: Can't create a session. ERROR_CODE: 7, ERROR_MESSAGE: Failed to load model because protobuf parsing failed.",
        "error: Can't append execution provider: WEBNN. ERROR_CODE: 2, ERROR_MESSAGE: WEBNN execution provider is not supported in this build. ",
        "Microsoft.ML.OnnxRuntime.OnnxRuntimeException: [ErrorCode:RuntimeException] Exception during initialization: x.cpp(78) The parameter is incorrect.",
        "ai.onnxruntime.OrtException: Error code - ORT_FAIL - message: inference_session.cc:1409 LoadOrtModelWithLoader ORT model verification failed.",
    ),
    ignores=(
        "failed to call OrtRun(). ERROR_CODE: 2, ERROR_MESSAGE: Got invalid dimensions for input: x",
        "Microsoft.ML.OnnxRuntime.OnnxRuntimeException : [ErrorCode:RuntimeException] Non-zero status code returned while running ReduceMean node.",
        "ai.onnxruntime.OrtException: Error code - ORT_INVALID_ARGUMENT - message: Load model from m.onnx failed:Load model m.onnx failed",
    ),
    read=refused,
)

NO_BACKEND = Rule(
    id="onnxruntime/no-web-backend",
    compiler=NAME,
    anchor=("no available backend found. ERR: ",),
    pattern=r"\bno available backend found\. ERR: \[(?P<op>\w{2,20})\] (?P<reason>\S.{0,1000})",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="None of the back ends that were asked for is there: the session is not made.",
    help="Import the bundle that holds the back end (onnxruntime-web/webgpu), and let the page find the .wasm files.",
    seen_in="1.10 to 1.27 (source and public threads), an exception",
    matches=("Error: no available backend found. ERR: [webgpu] backend not found.",),
    ignores=("no available backend found. ERR: ${errors.map((e) => `[${e.name}] ${e.err}`)}",),
)

NO_OPERATOR = Rule(
    id="onnxruntime/no-web-operator",
    compiler=NAME,
    anchor=("cannot resolve operator '",),
    pattern=r"\bcannot resolve operator '(?P<op>\w{1,80})' (?P<reason>with opsets: [\w.]{2,60} v\d{1,3}.{0,300})",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning="The WebGL back end has no such operator in this version: the session is not made.",
    help="Use the webgpu or the wasm back end, or export the model with operators that WebGL has.",
    seen_in="1.8 to 1.24 (source and public threads), an exception",
    matches=("TypeError: cannot resolve operator 'Erf' with opsets: ai.onnx v15",),
    ignores=("cannot resolve operator '+' on types 'int' and 'string'",),
)

LEFT_OUT = Rule(
    id="onnxruntime/web-backend-left-out",
    compiler=NAME,
    anchor=("removing requested execution provider ",),
    pattern=r"\bremoving requested execution provider \x22(?P<op>\w{2,20})\x22 (?P<reason>from session options because it is not available: .{0,1000})",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The back end is not there: the session runs on the next one of the list.",
    help="The line says why; import the bundle that holds the back end, in a browser that has it.",
    seen_in="1.17 to 1.27 (source), a warning of the console",
    matches=(
        'removing requested execution provider "webgpu" from session options because it is not available: backend not found.',
    ),
    ignores=(
        'console.warn(`removing requested execution provider "${name}" from session options because it is not available: ${err}`)',
    ),
)

RULES = (REFUSED, NO_BACKEND, NO_OPERATOR, LEFT_OUT)
