"""paddle: PaddlePaddle and Paddle Inference: kernels that a device lacks, devices that are missing, graph breaks of SOT.

    kernel_factory.cc:200] missing XPU kernel: top_k, expected_kernel_key:{...}, fallbacking to CPU one!
    E1130 15:52:44.039687  8395 analysis_config.cc:169] Please use PaddlePaddle with GPU version.
    [BreakGraph] call function Break graph:
        Calling `Tensor.numpy` causes breakgraph.

**What falls back.** The device has no kernel for this type and layout: the CPU's is taken. A predictor for the GPU in
a build without one runs on the CPU, one for an engine that is not built in on Paddle's own kernels.
`paddle.jit.to_static(full_graph=False)` (SOT) breaks the graph at what it can't trace: the code there runs eager, and so
does a function that was compiled too often.

**At which setting it speaks.** Kernels: `GLOG_v=3`. Graph breaks: `SOT_LOG_LEVEL=3`; the limit of the cache: 2. A missing
device or engine: always.

**When it is silent.** By default, on kernels and graph breaks. Strict: `FLAGS_enable_api_kernel_fallback=0` and
`full_graph=True` make them errors.

**What proves the end.** Nothing.

Wording seen in 3.1 and 3.3 without a GPU (run), and in the source of 2.x and 3.x.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Reader, Rule
from fallback_gate.model import Kind, Location, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "paddle"
SETTING = "GLOG_v=3, or FLAGS_enable_api_kernel_fallback=0 (the program then fails)"
_NEARBY = 400  # lines of SOT's own log between the start of a function and a break in it
_CODE = Pattern(
    r"<code object (?:\S{0,200}@)?(?P<name>[\w<>.]{1,200}) at 0x\w{1,20}, file \"(?P<file>[^\"]{1,500})\""
)
_LINE = Pattern(r"^\[Translate Executor \d{1,6}\] \(line\s{1,8}(?P<line>\d{1,9})\)")
_RUN = Pattern(r"^\[EXECUTOR RUN\] (?P<at>Start|End) execute opcode: ")
_CALLING = Pattern(r"Calling `(?P<call>[\w.]{1,200})`")
_HASH = Pattern(r"_[0-9a-f]{5}$")

MISSING = Rule(
    id="paddle/missing-kernel",
    compiler=NAME,
    anchor=("fallbacking to CPU one!",),
    pattern=r"(?P<reason>missing \w{1,40} kernel): (?P<op>\w{1,120}), expected_kernel_key:.{0,600}, fallbacking to CPU one!",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The device has no kernel for this type and layout: the operator runs on the CPU.",
    help="Look at the key: mostly the data type is what the device lacks.",
    seen_in="Paddle 2.x and 3.x (source), VLOG(3)",
    matches=(
        "I1130 00:00:00.000000 11 kernel_factory.cc:200] missing XPU kernel: top_k, expected_kernel_key:{data_type[float32]; data_layout[NCHW]; place[xpu:0]; library_type[PLAIN]}, fallbacking to CPU one!",
        "fluid missing NPU kernel: top_k, expected_kernel_key:{data_type[float32]}, fallbacking to CPU one!",
    ),
)

NO_GPU = Rule(
    id="paddle/no-gpu",
    compiler=NAME,
    anchor=("Please use PaddlePaddle with GPU version",),
    pattern=r"analysis_config\.cc:\d{1,6}\] (?P<reason>Please use PaddlePaddle with (?P<op>GPU) version)",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.PROGRAM,
    meaning="The predictor is configured for the GPU, and this build has none: the model runs on the CPU.",
    help="Install paddlepaddle-gpu, without the plain package beside it.",
    seen_in="Paddle 3.1 and 3.3 (run), ERROR",
    matches=(
        "E1130 15:52:44.039687  8395 analysis_config.cc:169] Please use PaddlePaddle with GPU version.",
    ),
)

NO_ENGINE = Rule(
    id="paddle/no-engine",
    compiler=NAME,
    anchor=("Please compile with ",),
    pattern=r"analysis_config\.cc:\d{1,6}\] (?P<reason>Please compile with (?P<op>\w{1,40}) (?:first )?to (?:Enable\w{1,40}\(\)|use \w{1,40}))",
    kind=Kind.DEVICE_FALLBACK,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="The predictor is configured for an engine that this build lacks: Paddle's own kernels run the model.",
    help="Install a package that is built with the engine, or take the option out of the configuration.",
    seen_in="Paddle 3.3 (run), ERROR",
    matches=(
        "E1201 03:55:12.345542 25328 analysis_config.cc:451] Please compile with onnxruntime to EnableONNXRuntime()",
    ),
    ignores=("Please compile with onnxruntime to EnableONNXRuntime()",),
)

NOT_BUILT_IN = Rule(
    id="paddle/not-built-in",
    compiler=NAME,
    anchor=(
        "PaddlePaddle is not compiled with ",
        "To use Paddle-TensorRT, please compile with",
        "To use XPU inference, please compile with",
    ),
    pattern=r"(?:ValueError|RuntimeError): .{0,300}?(?P<reason>PaddlePaddle is not compiled with (?P<device>\w{1,40})"
    r"|To use Paddle-(?P<engine>TensorRT), please compile with \w{1,40} first"
    r"|To use (?P<other>XPU) inference, please compile with [^.\x22]{1,80} first)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.PROGRAM,
    meaning="This build lacks the device or the engine that the program asks for: the program ended, or went on without it.",
    help="Install the package that is built with it (paddlepaddle-gpu, or a wheel with TensorRT).",
    seen_in="Paddle 3.1 and 3.3 (run), an exception",
    matches=(
        "ValueError: The device should not be <re.Match object; span=(0, 5), match='gpu:0'>, since PaddlePaddle is not compiled with CUDA",
        "RuntimeError: (PreconditionNotMet) To use Paddle-TensorRT, please compile with TENSORRT first. (at /paddle/paddle/fluid/inference/api/analysis_config.cc:786)",
        "RuntimeError: (PreconditionNotMet) To use XPU inference, please compile with option 'WITH_XPU' or 'LITE_WITH_XPU' first. (at /paddle/paddle/fluid/inference/api/analysis_config.cc:247)",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(
            op=(lacks := match["device"] or match["engine"] or match["other"]), names=(lacks,)
        ),
    ),
)


NOT_REGISTERED = Rule(
    id="paddle/kernel-not-registered",
    compiler=NAME,
    anchor=("The kernel with key (",),
    pattern=r"The kernel with key (?P<reason>\(.{1,200}?\) of kernel `(?P<op>\w{1,120})` is not registered)",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="Neither the device nor the CPU has a kernel of the operator for this type, or the fallback is off: the program ended.",
    help="The key tells device, layout and type; cast the input to a type that the message lists.",
    seen_in="Paddle 3.3 on a CPU (run), 2.4 to 3.x (public threads and code that quotes it), an exception",
    matches=(
        "RuntimeError: (NotFound) The kernel with key (npu, Undefined(AnyLayout), bfloat16) of kernel `round` is not registered and fail to fallback to CPU one.",
    ),
    read=lambda rule, record, match: (
        by_groups(rule, record, match)._replace(names=(match["op"],), site=match["reason"]),
    ),
)


def _function(code: Match[str]) -> str:
    """The user's function: what is left of one that was cut is `$resume_1@gate_8b59f`."""
    return _HASH.sub("", code["name"]) if "@" in code[0] else code["name"]


def _frames(record: Record) -> tuple[Match[str] | None, list[Match[str]]]:
    """The line that the translated function is at, and it and the functions within it that SOT traced into,
    innermost first: the break is one of the outermost, which calls the others."""
    at, frames, ended = None, [], 0
    for line in record.preceding(_NEARBY):
        at = at or _LINE.match(line.text)
        run = _RUN.match(line.text)
        if run and run["at"] == "End":
            ended += 1
        elif run and ended:
            ended -= 1
        elif run and (code := _CODE.search(line.text)):
            frames.append(code)
            if at:
                break
    return at, frames


def broken(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A break: its reason on the line below it, its line and the user's functions on lines above."""
    reason = match["why"]
    if match["below"]:
        reason = next((line.text.strip() for line in record.following(1)), "") or reason
    at, frames = _frames(record)
    report = by_groups(rule, record, match)._replace(reason=reason)
    if not frames:
        yield report._replace(scope=Scope.UNKNOWN)
        return
    code = frames[-1]
    stack = tuple(dict.fromkeys(map(_function, frames)))
    files = tuple(dict.fromkeys(frame["file"] for frame in frames))
    where = Location(code["file"], int(at["line"]) if at else None, stack[-1])
    call = _CALLING.match(reason)
    names = (*stack[::-1], *([call["call"]] if call else []))
    yield report._replace(op=stack[-1], names=names, stack=stack, files=files, location=where)


BROKEN = Rule(
    id="paddle/graph-break",
    compiler=NAME,
    anchor=("[BreakGraph] ",),
    pattern=r"^\[BreakGraph\] (?P<why>call function Break graph(?P<below>:)|break graph for if jump tensor|FOR_ITER sim for loop failed for: .*)",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.SITE,
    meaning="SOT can't trace what stands there: the graph ends, the code runs eager, and another graph begins behind it.",
    help="Take the call out of the function, or write it with Paddle's operators; full_graph=True makes it an error.",
    seen_in="Paddle 3.1 and 3.3 (run), SOT_LOG_LEVEL=3",
    matches=(
        '[EXECUTOR RUN] Start execute opcode: <code object forward at 0x7fac0c2f1830, file "/app/pad.py", line 7>\n'
        "[Translate Executor 1] (line  10) PRECALL      0, stack is [NullVariable(object_202)]\n"
        "[BreakGraph] call function Break graph:\n    Calling `Tensor.numpy` causes breakgraph.",
        "[BreakGraph] break graph for if jump tensor",
    ),
    ignores=("[BreakGraph] is a word of SOT's log",),
    read=broken,
)


def limited(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The function that was to be translated, where a line before it tells."""
    report = by_groups(rule, record, match)
    lines = (line.text for line in record.preceding(_NEARBY))
    before = next(
        (text for text in lines if text.startswith("[eval_frame_callback] start to translate: ")), ""
    )
    if not (code := _CODE.search(before)):
        yield report
        return
    name = _function(code)
    where = Location(code["file"], None, name)
    yield report._replace(
        op=name, names=(name,), stack=(name,), files=(code["file"],), location=where, scope=Scope.REGION
    )


LIMIT = Rule(
    id="paddle/cache-limit",
    compiler=NAME,
    anchor=("[Cache] Exceed max ",),
    pattern=r"^\[Cache\] (?P<reason>Exceed max (?:cache size|compile time per code), skip it)",
    kind=Kind.RECOMPILE_LIMIT,
    scope=Scope.UNKNOWN,
    meaning="A function was compiled for too many shapes or values, or for too long: from here on it runs eager.",
    help="Give the function an input_spec with dynamic sizes, and take changing numbers out of its arguments.",
    seen_in="Paddle 3.3 (run), 3.1 (source), SOT_LOG_LEVEL=2",
    matches=(
        "[Cache] Exceed max cache size, skip it",
        '[eval_frame_callback] start to translate: <code object gate at 0x7ff4f2068f30, file "/app/net.py", line 5>\n[Cache] Exceed max cache size, skip it',
    ),
    read=limited,
)

REQUIRED = frozenset({Kind.DEVICE_FALLBACK})


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """The default level shows no missing kernels, and no line shows that all was told."""
    why = "the default level does not print missing kernels"
    proof = dict.fromkeys(REQUIRED, Proof(State.UNOBSERVABLE, why, None, SETTING))
    why = "the lines come as the program runs, and none shows its end"
    others = evidence.reported & {Kind.COMPILE_ERROR, Kind.GRAPH_BREAK, Kind.RECOMPILE_LIMIT}
    return proof | dict.fromkeys(others, Proof(State.UNPROVEN, why, None, SETTING))


READER = Reader(
    name=NAME,
    rules=(MISSING, NO_GPU, NO_ENGINE, NOT_BUILT_IN, NOT_REGISTERED, BROKEN, LIMIT),
    markers=(),
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="partly: a missing device is told, a missing kernel and a graph break are not",
    seen_in="Paddle 3.1 and 3.3 (run), 2.x and 3.x (source)",
)
