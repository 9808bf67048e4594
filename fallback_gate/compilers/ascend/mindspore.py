r"""mindspore: MindSpore's graph mode: code that the interpreter runs, and kernels that move to the CPU.

    [WARNING] PIPELINE(4711,7f00,python):2026-... CheckInterpretNodeLineInfos] Found unsupported syntax in Graph mode, those codes would be fallen back to Python interpreter:
            #1: In file /app/net.py(31)
            a = np.array([1, 2, 3])

**What falls back.** Syntax that the graph compiler does not know (NumPy calls, `asnumpy()`, Python objects)
is run by the Python interpreter in the midst of the graph. A kernel that the device lacks is taken by the CPU; one that
no unit has ends the program, with an exception.

**At which setting it speaks.** Up to 1.9 as a warning, by default. In 2.x at INFO (`GLOG_v=1`), or as an
error message with `MS_DEV_FALLBACK_DUMP_NODE=1`, which lists the code after parsing and after optimizing.
Kernels that move to the CPU are named at INFO.

**When it is silent.** In 2.x at the default level, on both. In PyNative mode there is no graph at all.

**What proves the end.** Nothing yet: no line ends the compile of the last graph.

Wording from MindSpore's source of 1.5 to 2.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.ascend.names import named, sighted
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule
from fallback_gate.model import Kind, Location, Proof, Report, Scope, State
from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Record

NAME = "mindspore"
MOST_LINES = 2000
_ITEM = Pattern(r"^\s*# ?(?:No\. )?\d{1,6}:")
_PLACE = Pattern(r"\bIn file (?P<file>[^()\n]{1,400}?)(?:\((?P<line>\d{1,9})\)|:(?P<row>\d{1,9})\b)")
_CALL = Pattern(r"(?P<call>[A-Za-z_][\w.]{0,200})\(")
_RECORD = Pattern(r"^\[(?:ERROR|WARNING|INFO|DEBUG|CRITICAL)\] \w{1,32}\(\d")
_RULER = Pattern(r"^\s*-{3,}\s*$|^ ?After \w+ Phase")


def _items(record: Record) -> list[list[tuple[str, int]]]:
    """The listed pieces of code, each with its lines and where they stand."""
    items: list[list[tuple[str, int]]] = []
    for line in record.following(MOST_LINES):
        if _RECORD.match(line.text):
            break
        if _ITEM.match(line.text):
            items.append([])
        elif not items and not line.text.strip():
            break
        elif items and (_RULER.match(line.text) or len(items[-1]) > 20):
            continue
        if items:
            items[-1].append((line.text, line.at))
    return items


def interpreted(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """One report for each piece of code; where none is listed in a known form, one that names nothing."""
    report = named(rule, record, match)
    found = False
    for item in _items(record):
        place = next((p for text, _ in item if (p := _PLACE.search(text))), None)
        code = [
            text.strip().removeprefix("Script: ")
            for text, _ in item
            if text.strip(" ^~\t") and not _PLACE.search(text) and not _ITEM.match(text)
        ]
        call = next((c["call"] for text in code if (c := _CALL.search(text))), None)
        if place is None and not code:
            continue
        found = True
        yield report._replace(
            op=call or "*",
            names=(call,) if call else (),
            scope=Scope.SITE if call or place else Scope.UNKNOWN,
            reason=code[0] if code else report.reason,
            location=Location(place["file"], int(place["line"] or place["row"])) if place else None,
            files=(place["file"],) if place else (),
            position=record.position_at(item[0][1]),
            text=item[0][0],
        )
    if not found:
        yield report


INTERPRETED = Rule(
    id="mindspore/interpreted-code",
    compiler=NAME,
    anchor=("back to Python interpreter:",),
    pattern=r"(?P<reason>Found unsupported syntax in [Gg]raph mode, those codes would be (?:fallen|fell) back to Python interpreter):",
    kind=Kind.GRAPH_BREAK,
    scope=Scope.UNKNOWN,
    meaning="The graph compiler does not know this code: the Python interpreter runs it, with a stop of the graph.",
    help="Rewrite the code with mindspore.ops, or move it out of construct and of functions under jit.",
    seen_in="1.5 to 1.9 WARNING (1.5 ERROR), 2.x INFO, or ERROR with MS_DEV_FALLBACK_DUMP_NODE=1",
    matches=(
        "Found unsupported syntax in Graph mode, those codes would be fallen back to Python interpreter:",
        "[WARNING] PIPELINE(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/pipeline/jit/pipeline.cc:123] CheckInterpretNodeLineInfos] Found unsupported syntax in Graph mode, those codes would be fallen back to Python interpreter:\n\t#1: In file /app/net.py(31)\n        a = np.array([1, 2, 3])",
        "[ERROR] PIPELINE(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/pipeline/jit/ps/pipeline.cc:123] CheckInterpretNodeLineInfos] Found unsupported syntax in graph mode, those codes would be fallen back to Python interpreter:\n----------------------------------------\n After Parser Phase (total: 1)\n----------------------------------------\n# No. 1:\nIn file /app/net.py:31, 8~24\n        a = x.asnumpy()\n            ^~~~~~~~~~~",
    ),
    ignores=(
        'expected_msg = "Found unsupported syntax in graph mode, those codes would be fallen back to Python interpreter"',
    ),
    read=interpreted,
)


def moved(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """A node `Default/gate/Sort-op12` is the operator `Sort` in the layer `Default/gate`."""
    node = match["node"] or match["built"] or match["kernel"]
    layer, _, last = node.rpartition("/")
    kernel = last.rpartition("-op")[0] or last
    yield named(rule, record, match, kernel, node)._replace(site=node, layer=layer or None)


MOVED = Rule(
    id="mindspore/kernel-on-cpu",
    compiler=NAME,
    anchor=(
        "Try to use backoff CPU kernel",
        "and will try to backoff on CPU",
        "rebuild kernel on CPU successfully for node",
    ),
    pattern=r"(?P<reason>Try to use backoff CPU kernel), node: ?(?P<node>\S{1,512})"
    r"|Backoff and rebuild kernel on CPU successfully for node: (?P<built>[^\s,]{1,512})"
    r"|GPU doesn't support the kernel (?P<kernel>\w{1,128}) and will try to backoff on CPU",
    kind=Kind.DEVICE_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The device has no kernel for the operator with these types: the CPU runs it.",
    help="Cast the inputs to a type that the device takes, or replace the operator.",
    seen_in="2.0 to 2.10 (source), INFO",
    matches=(
        "[INFO] DEVICE(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/plugin/device/cpu/hal/hardware/cpu_device_context.cc:123] RebuildKernelSelectBackoffOp] Backoff and rebuild kernel on CPU successfully for node: Default/gate/Sort-op12, node attr: input[Float16], output[Float16]",
        "[INFO] DEVICE(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/plugin/device/ascend/hal/hardware/ascend_kernel_executor.cc:123] SetKernelInfoBeforeCreateKernel] Try to use backoff CPU kernel, node:Default/gate/Sort-op12",
        "[INFO] DEVICE(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/plugin/device/gpu/hal/hardware/gpu_device_context.cc:123] SetBackoffInfo] GPU doesn't support the kernel Sort and will try to backoff on CPU.",
    ),
    read=moved,
)


def without_kernel(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The kernel's type, from a node's name or told by itself."""
    node = match["chosen"] or match["none"] or match["cpu"]
    layer, _, last = node.rpartition("/")
    kernel = last.rpartition("-op")[0] or last
    report = named(rule, record, match, kernel, node)
    yield report._replace(site=node, layer=layer or None, reason=match["reason"] or report.reason)


NO_KERNEL = Rule(
    id="mindspore/no-kernel",
    compiler=NAME,
    anchor=(
        "Can not select a valid kernel info for [",
        "Can not find any available kernel info for: ",
        "Not registered CPU kernel: op[",
    ),
    pattern=r"Can not select a valid kernel info for \[(?P<chosen>[^\]\s]{1,512})\] in AI CORE or AI CPU"
    r"|Can not find any available kernel info for: (?P<none>[\w/.-]{1,511}\w)(?:\.? (?P<reason>Maybe the operator is not supported on Ascend platform))?"
    r"|(?:\bError: |^\[ERROR\] ).{0,400}Not registered CPU kernel: op\[(?P<cpu>\w{1,128})\]!",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The device has no kernel for the operator with these types or shapes: the graph is not compiled.",
    help="Cast the inputs to a type that the device takes (the candidates are listed below the line), or replace the operator.",
    seen_in="1.3 to 2.3 (source and public threads), an exception",
    matches=(
        "TypeError: Can not select a valid kernel info for [Default/gate/ScatterNdUpdate-op12] in AI CORE or AI CPU kernel info candidates list.",
        "RuntimeError: Can not find any available kernel info for: Default/gate/Sort-op12. Maybe the operator is not supported on Ascend platform.",
        "[ERROR] KERNEL(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/backend/kernel_compiler/cpu/cpu_kernel_factory.cc:157] GetSupportedKernelAttrList] Not registered CPU kernel: op[Sort]!",
    ),
    ignores=(
        "[INFO] KERNEL(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/plugin/device/cpu/kernel/cpu_kernel_factory.cc:57] CPUKernelAttrCheck] Not registered CPU kernel: op[Sort]!",
    ),
    read=without_kernel,
)

NO_TARGET = Rule(
    id="mindspore/no-such-target",
    compiler=NAME,
    anchor=("Unsupported device target ",),
    pattern=r"Unsupported device target (?P<op>\w{2,20})\. (?P<reason>This process only supports one of the \[.{0,200}?\])",
    kind=Kind.COMPILE_ERROR,
    shared_anchor=True,
    scope=Scope.PROGRAM,
    meaning="MindSpore could not load the device that was asked for: the program ends, or goes on with another.",
    help="The lines below it say which library is missing: source CANN's set_env.sh, and install the wheel for the device.",
    seen_in="2.0 to 2.7 (source), an exception",
    matches=(
        "RuntimeError: Unsupported device target Ascend. This process only supports one of the ['CPU']. Please check whether the Ascend environment is installed and configured correctly",
    ),
    ignores=("Unsupported device target Ascend",),
)


MARKERS = (
    Marker(
        id="mindspore/compiled",
        compiler=NAME,
        anchor=("Status record: ",),
        pattern=r"\[INFO\] \w{1,32}\(\d.{0,400}\] Status record: (?:start|end) (\w{1,64}) action\b",
        shows="INFO was on, and the graph compiler ran this step.",
        seen_in="2.x (source)",
        matches=(
            "[INFO] PIPELINE(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/pipeline/jit/ps/pipeline.cc:123] Run] Status record: end validate action.",
        ),
        ignores=("Status record: end create kernel.",),
        read=sighted,
    ),
)
REQUIRED = frozenset({Kind.GRAPH_BREAK, Kind.DEVICE_FALLBACK})
SETTING = "GLOG_v=1, and a marker in the policy for the line that ends the run"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """INFO shows both kinds; no line ends the compile."""
    if evidence.first("mindspore/compiled") is None:
        why = "MindSpore 2.x says it at INFO only, and the log shows no line of that level"
        proof = Proof(State.UNOBSERVABLE, why, None, SETTING)
    else:
        why = "INFO was on, but no line shows that the last graph was compiled"
        proof = Proof(State.UNPROVEN, why, None, SETTING)
    return dict.fromkeys(REQUIRED, proof)


READER = Reader(
    name=NAME,
    rules=(INTERPRETED, MOVED, NO_KERNEL, NO_TARGET),
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="yes in 2.x, no up to 1.9",
    seen_in="1.5 to 2.7 (source)",
)
