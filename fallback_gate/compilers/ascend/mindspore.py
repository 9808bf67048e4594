r"""mindspore: MindSpore's graphs: code that Python runs, kernels that move to the CPU, graphs that are not compiled.

    [ERROR] PIPELINE(4711,7f00,python):2026-... CheckInterpretNodeLineInfos] Found unsupported syntax in graph mode, those codes would be fallen back to Python interpreter:
     After Optimizer Phase (total: 1)
    # No. 1:
    In file /app/net.py:14, 12~22
            w = np.sort(z)
                ^~~~~~~~~~

**What falls back.** Syntax that the graph compiler does not know (NumPy calls, `asnumpy()`, Python objects)
is run by the Python interpreter in the midst of the graph. `jit(capture_mode="bytecode")` breaks the graph at what it
can't capture, and leaves what it can't compile to Python. A kernel that the device lacks is taken by the CPU; one that
no unit has ends the program, with an exception.

**At which setting it speaks.** Up to 1.9 as a warning, by default. In 2.x at INFO (`GLOG_v=1`), or as an
error message with `MS_DEV_FALLBACK_DUMP_NODE=1`, which lists the code after parsing and after optimizing: only the
latter runs. Breaks of bytecode: at INFO, or with their reasons by `MS_JIT_BYTECODE_LOGS=graph_break`; a function that is
not compiled at all is an ERROR without its name, and named at INFO. Kernels that move to the CPU are named at INFO.

**When it is silent.** In 2.x at the default level, on all but the ERROR. A graph from the compile cache is not parsed
again, and nothing is listed. In PyNative mode there is no graph at all.

**What proves the end.** At INFO a process tells that it clears its singletons, last of all: what each graph left to the
interpreter was listed before. For code that is captured as bytecode nothing is proven.

Seen in 2.10 without an accelerator (run), and in the source of 1.5 to 2.7 and public threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.ascend import mindspore_bytecode as bytecode
from fallback_gate.compilers.ascend import mindspore_code as code
from fallback_gate.compilers.ascend.names import named, process_id
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.scan.record import Record

NAME = code.NAME


def _of_node(node: str) -> tuple[str, str | None]:
    """The operator of a node, and the layer that it stands in: `Default/gate/Sort-op12` is a `Sort` in `Default/gate`."""
    layer, _, last = node.rpartition("/")
    return last.rpartition("-op")[0] or last, layer or None


def moved(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The operator and the layer of the node that moved; a GPU tells the kernel alone."""
    node = match["node"] or match["built"] or match["kernel"]
    kernel, layer = _of_node(node)
    yield named(rule, record, match, kernel, node)._replace(site=node, layer=layer)


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
    node = match["chosen"] or match["none"] or match["cpu"] or match["selected"] or match["op"]
    kernel, layer = _of_node(node)
    report = named(rule, record, match, kernel, node)
    yield report._replace(site=node, layer=layer, reason=match["reason"] or report.reason)


NO_KERNEL = Rule(
    id="mindspore/no-kernel",
    compiler=NAME,
    anchor=(
        "Can not select a valid kernel info for [",
        "Can not find any available kernel info for: ",
        "Not registered CPU kernel: op[",
        "Select CPU operator[",
        "Select GPU operator[",
        "Unsupported op [",
    ),
    pattern=r"Can not select a valid kernel info for \[(?P<chosen>[^\]\s]{1,512})\] in AI CORE or AI CPU"
    r"|Can not find any available kernel info for: (?P<none>[\w/.-]{1,511}\w)(?:\.? (?P<reason>Maybe the operator is not supported on Ascend platform))?"
    r"|(?:\bError: |^\[ERROR\] ).{0,400}Not registered CPU kernel: op\[(?P<cpu>\w{1,128})\]!"
    r"|^(?:\w{1,40}Error: )?Select [CG]PU operator\[(?P<selected>\w{1,128})\] fail! "
    r"|^(?:\w{1,40}Error: )?Unsupported op \[(?P<op>\w{1,128})\] on [CG]PU, ",
    kind=Kind.COMPILE_ERROR,
    scope=Scope.OPERATOR,
    meaning="The device has no kernel for the operator with these types or shapes: the graph is not compiled.",
    help="Cast the inputs to a type that the device takes (the candidates are listed below the line), or replace the operator.",
    seen_in="2.10 on a CPU (run), 1.3 to 2.3 (source and public threads), an exception",
    matches=(
        "TypeError: Can not select a valid kernel info for [Default/gate/ScatterNdUpdate-op12] in AI CORE or AI CPU kernel info candidates list.",
        "RuntimeError: Can not find any available kernel info for: Default/gate/Sort-op12. Maybe the operator is not supported on Ascend platform.",
        "[ERROR] KERNEL(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/backend/kernel_compiler/cpu/cpu_kernel_factory.cc:157] GetSupportedKernelAttrList] Not registered CPU kernel: op[Sort]!",
        "Select CPU operator[Erfinv] fail! Unsupported data type!",
        "Unsupported op [NPUAllocFloatStatus] on CPU, Please confirm whether the device target setting is correct, or refer to 'mindspore.ops' at https://www.mindspore.cn to query the operator support list.",
    ),
    shared_anchor=True,
    ignores=(
        "[INFO] DEVICE(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/plugin/cpu/cpu_device_context.cc:472] SetOperatorInfo] Unsupported op [SumExt] on CPU, Please confirm whether the device target setting is correct",
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
    seen_in="2.10 (run), 2.0 to 2.7 (source), an exception",
    matches=(
        "RuntimeError: Unsupported device target Ascend. This process only supports one of the ['CPU']. Please check whether the Ascend environment is installed and configured correctly",
    ),
    ignores=("Unsupported device target Ascend",),
)


def stepped(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Which step of the compiler begins or ends."""
    step = match["action"] or match["step"] or ""
    facts = (step, match["at"] or match["now"] or "")
    yield Sighting(marker.id, record.position, facts, process_id(record))


COMPILED = Marker(
    id="mindspore/compiled",
    compiler=NAME,
    anchor=("Status record: ", "operator()] Pass "),
    pattern=r"^\[INFO\] PIPELINE\(\d.{0,400}\] (?:Status record: (?P<at>start|end) (?P<action>\w[\w-]{0,63}) action\b"
    r"|operator\(\)\] Pass (?P<step>\w[\w-]{0,63}) (?P<now>start|end)\b)",
    shows="INFO was on, and the graph compiler began or ended this step.",
    seen_in="2.10 (run)",
    matches=(
        "[INFO] PIPELINE(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/pipeline/jit/ps/pipeline.cc:123] Run] Status record: end validate action.",
        "[INFO] PIPELINE(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/frontend/jit/ps/executor/jit_executor_py.cc:90] operator()] Pass type_inference start ...",
    ),
    ignores=(
        "Status record: end create kernel.",
        "[INFO] SESSION(11,7f00,python):2026-01-01-00:00:00.000.000 [a.cc:70] BackendCommonOptimization] Status record: start common optimization. graph id: 0",
    ),
    read=stepped,
)
CACHED = Marker(
    id="mindspore/cached",
    compiler=NAME,
    anchor=("Use the compilation cache",),
    pattern=r"\] Use the compilation cache\b.{0,300} and execute the backend actions only",
    shows="A graph comes from the compile cache: it is not parsed again, and nothing is listed.",
    seen_in="2.10 (run), WARNING",
    matches=(
        "[WARNING] PIPELINE(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/frontend/jit/ps/compile_cache_manager.cc:471] GetCachedFuncGraph] Use the compilation cache and execute the backend actions only. Be aware of correctness risks.",
    ),
    read=code.counted,
)
ENDED = Marker(
    id="mindspore/ended",
    compiler=NAME,
    anchor=("ClearSingleton] End clear singleton",),
    pattern=r"^\[INFO\] COMMON\(\d.{0,300}\] ClearSingleton\] End clear singleton",
    shows="INFO was on, and the process came to its end.",
    seen_in="2.10 (run), INFO",
    matches=(
        "[INFO] COMMON(11,7f00,python):2026-01-01-00:00:00.000.000 [mindspore/ccsrc/pybind_api/frontend/manager.cc:257] ClearSingleton] End clear singleton.",
    ),
    read=code.counted,
)
REQUIRED = frozenset({Kind.GRAPH_BREAK, Kind.DEVICE_FALLBACK})
SETTING = "GLOG_v=1, to the end of the process"


def _unproven(evidence: Evidence) -> str | None:
    """Why the lists of interpreted code may not be all that there is to tell, or None."""
    if evidence.first(CACHED.id) is not None:
        return "a graph came from the compile cache: what it leaves to the interpreter was told when it was compiled"
    if evidence.first(bytecode.CAPTURES.id) is not None or Kind.EAGER_FRAME in evidence.reported:
        return "code is captured as bytecode, and no line shows that each break was told"
    if evidence.last.get(code.PARSED.id, -1) > evidence.last.get(code.LISTED.id, -1):
        return "code was handed to the interpreter, and no list tells whether it stayed there"
    begun = {step for step, at in evidence.of(COMPILED.id) if at == "start"}
    if any(
        evidence.times(COMPILED.id, (step, "start")) != evidence.times(COMPILED.id, (step, "end"))
        for step in begun
    ):
        return "the compile of a graph did not come to its end"
    ended, compiled = evidence.last.get(ENDED.id), evidence.last.get(COMPILED.id, -1)
    if ended is None or ended < compiled:
        return "INFO was on, but no line shows that the last graph was compiled"
    return None


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """INFO shows interpreted code, up to the end of the process; which kernels moved, as far as is known."""
    moved = Proof(State.UNOBSERVABLE, "not each kernel's device is told", None, SETTING)
    compiled = evidence.first(COMPILED.id)
    if compiled is None:
        why = "MindSpore 2.x says it at INFO only, and the log shows no line of that level"
        broken = Proof(State.UNOBSERVABLE, why, None, SETTING)
    elif missing := _unproven(evidence):
        broken = Proof(State.UNPROVEN, missing, compiled, SETTING)
    else:
        why = "INFO was on, and what each graph left to the interpreter was listed before the process ended"
        broken = Proof(State.PROVEN, why, evidence.last[ENDED.id], None)
    others = evidence.reported & {Kind.COMPILE_ERROR, Kind.EAGER_FRAME}
    why = "no line shows that nothing else was refused"
    return {Kind.GRAPH_BREAK: broken, Kind.DEVICE_FALLBACK: moved} | dict.fromkeys(
        others, Proof(State.UNPROVEN, why, None, SETTING)
    )


READER = Reader(
    name=NAME,
    rules=(*code.RULES, *bytecode.RULES, MOVED, NO_KERNEL, NO_TARGET),
    markers=(COMPILED, CACHED, ENDED, *code.MARKERS, bytecode.CAPTURES),
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="yes in 2.x, but for a function that is not compiled; no up to 1.9",
    seen_in="2.10 (run), 1.5 to 2.7 (source)",
)
