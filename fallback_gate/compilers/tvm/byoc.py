r"""tvm.byoc: what TVM hands to a vendor's compiler (TensorRT, CUTLASS, CLML, DNNL, ...), and what is left out.

    @R.function
    def main(...):
        lv24: R.Tuple(...) = R.topk(lv2, k=2, ...)

**What falls back.** A partition takes the operators that the vendor's compiler knows; the others stay calls
in the outer function, and TVM compiles them.

**At which setting it speaks.** `partition_for_*` of Relax prints nothing. The module does, printed right
after the partition (`print(mod.script())`, `mod.show()`, or `PrintAfterAll`): offloaded is what stands in functions with
`R.func_attr({"Codegen": ...})`, left out are the `R.*` calls of the functions without it. Relay's TensorRT
predicate gives its reasons at INFO of the logger TensorRT. A module of Relay in its text format shows the same: calls
of `@tvmgen_default_<compiler>_main_<n>`, and the operators beside them.

**When it is silent.** Without the printed module. In a module that was lowered already: calls of
generated and packed functions (`R.call_tir`, `R.call_dps_packed`) no longer tell their operator.

**What proves the end.** A module that was printed whole: each function ends in its `return`, each function
that is called is there, and so is the one that calls the partitions.

Wording seen in 0.25 and 0.27 (run), and in the source of 0.8 to 0.19 for Relay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from re import Match

from fallback_gate.compilers.matching import by_groups
from fallback_gate.compilers.rule import Evidence, Marker, Reader, Rule, Sighting
from fallback_gate.compilers.tvm import byoc_engines, names, relay_module
from fallback_gate.compilers.tvm.byoc_engines import NAME
from fallback_gate.compilers.tvm.printed_module import alone, functions
from fallback_gate.model import Kind, Proof, Report, Scope, State
from fallback_gate.scan.record import Record


def left_out(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The calls outside the partitions of a printed module; none where the module has no partition."""
    module = functions(record)
    targets = sorted({function.target for function in module if function.target})
    if not targets:
        return
    report = by_groups(rule, record, match)
    for function in module:
        if function.target or function.composite:
            continue
        for op, line in function.calls:
            yield names.named(report, names.relax(op))._replace(
                position=record.position_at(line.at),
                text=line.text,
                site=f"{function.name} {line.text.strip()[:200]}",
                reason=f"left in {function.name}, outside the partitions for {', '.join(targets)}",
            )


def left_in_function(rule: Rule, record: Record, match: Match[str]) -> Iterable[Report]:
    """The calls of a function that is printed alone, where it calls partitions, which its module would show."""
    function = alone(record)
    if function is None or not function.target:
        return
    report = by_groups(rule, record, match)
    for op, line in function.calls:
        yield names.named(report, names.relax(op))._replace(
            position=record.position_at(line.at),
            text=line.text,
            site=f"{function.name} {line.text.strip()[:200]}",
            reason=f"left in {function.name}, outside the partitions for {function.target}",
        )


def printed(marker: Marker, record: Record, match: Match[str]) -> Iterable[Sighting]:
    """Whether a partitioned module was printed whole, and before it was lowered."""
    module = functions(record)
    parts = {function.name for function in module if function.target}
    if not parts:
        return
    outer = [function for function in module if function.relax and not function.target]
    called = set().union(*(function.called for function in outer)) if outer else set()
    there = {function.name for function in module}
    state = "whole"
    whole = all((function.ended and not function.torn) or not function.relax for function in module)
    if not whole or not parts <= called <= there:
        state = "cut"
    elif any(function.lowered for function in outer):
        state = "lowered"
    yield Sighting(marker.id, record.position, (state,))


MODULE = """@I.ir_module
class Module:
    @R.function
    def fused_relax_matmul_tensorrt(x: R.Tensor((16, 64), dtype="float32")) -> R.Tensor((16, 4), dtype="float32"):
        R.func_attr({"Codegen": "tensorrt"})
        return gv
    @R.function
    def main(x: R.Tensor((16, 64), dtype="float32")) -> R.Tensor((16, 4), dtype="float32"):
        cls = Module
        lv: R.Tensor((16, 4), dtype="float32") = cls.fused_relax_matmul_tensorrt(x)
        gv: R.Tuple(R.Tensor((16, 2), dtype="float32")) = R.topk(lv, k=2, axis=-1)
        return gv"""
FORMATTED = MODULE.replace(
    'R.Tuple(R.Tensor((16, 2), dtype="float32")) = R.topk(lv',
    'R.Tuple(\n            R.Tensor((16, 2), dtype="float32")\n        ) = R.topk(lv',
)
LEFT_OUT = Rule(
    id="tvm-byoc/left-out",
    compiler=NAME,
    anchor=("I.ir_module",),
    pattern=r"^\s*@(?:I|tvm\.script)\.ir_module\b",
    kind=Kind.OP_FALLBACK,
    scope=Scope.OPERATOR,
    meaning="The vendor's compiler did not take the operator: TVM compiles it, and tensors cross over and back.",
    help="Look in the partition's pattern table for the operator, its types and its attributes; rewrite what it lacks.",
    seen_in="0.27, IRModule.script() after partition_for_tensorrt",
    matches=(MODULE, FORMATTED),
    ignores=("from tvm.script import ir as I",),
    read=left_out,
)

ALONE = Rule(
    id="tvm-byoc/left-in-function",
    compiler=NAME,
    anchor=("R.function",),
    pattern=r"^@R\.function\b",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=LEFT_OUT.meaning,
    help=LEFT_OUT.help,
    seen_in="0.27 (run), IRModule['main'].script() after a partition",
    matches=(
        '@R.function\ndef main(x: R.Tensor((4, 3), dtype="float32")) -> R.Tensor((4, 3), dtype="float32"):\n    with R.dataflow():\n'
        '        lv: R.Tensor((4, 3), dtype="float32") = fused_relax_nn_conv2d_cudnn(x)\n'
        '        gv: R.Tensor((4, 3), dtype="float32") = R.nn.relu(lv)\n        R.output(gv)\n    return gv',
    ),
    ignores=(
        '@R.function\ndef main(x: R.Tensor((4, 3), dtype="float32")) -> R.Tensor((4, 3), dtype="float32"):\n'
        '    gv: R.Tensor((4, 3), dtype="float32") = R.nn.relu(x)\n    return gv',
        "    @R.function",
    ),
    read=left_in_function,
)

REFUSED = Rule(
    id="tvm-byoc/refused",
    compiler=NAME,
    anchor=("INFO:TensorRT:",),
    pattern=r"INFO:TensorRT:(?P<op>[a-z][\w.]*): (?P<reason>(?=.*\b(?:must|[Cc]an't|cannot|can only|supported|requires|required"
    r"|Excluding|bug in TRT)\b).+)",
    kind=Kind.OP_FALLBACK,
    shared_anchor=True,
    scope=Scope.OPERATOR,
    meaning=LEFT_OUT.meaning,
    help="The line says which type, shape or attribute TensorRT's code generator does not take.",
    seen_in="0.8 to 0.19 (source), INFO of the logger TensorRT",
    matches=(
        "INFO:TensorRT:nn.dense: Only float32 tensor dtypes are supported.",
        "INFO:TensorRT:nn.conv2d: data_layout is NHWC but must be NCHW.",
        "INFO:TensorRT:sum: cannot reduce to scalar.",
        "INFO:TensorRT:erf: requires TensorRT version 7.0.0 or higher.",
        "INFO:TensorRT:nn.pad: can only pad 4D or 5D inputs",
        "INFO:TensorRT:multiply: Excluding since problematic in implicit batch mode",
    ),
    ignores=(
        "INFO:TensorRT:nn.dense: Predicate passes",
        "INFO:TensorRT:Loaded engine size: 12 MiB",
        "INFO:TensorRT:engine: built in 3 s",
    ),
    read=lambda rule, record, match: (
        names.named(by_groups(rule, record, match), (match["op"], match["op"].rpartition(".")[2])),
    ),
)

RULES = (LEFT_OUT, ALONE, relay_module.LEFT, REFUSED, *byoc_engines.RULES)
MARKERS = (
    Marker(
        id="tvm-byoc/module-printed",
        compiler=NAME,
        anchor=("I.ir_module",),
        pattern=LEFT_OUT.pattern,
        shows="A partitioned module was printed: whole, cut, or lowered already.",
        seen_in=LEFT_OUT.seen_in,
        matches=(MODULE,),
        read=printed,
    ),
)
REQUIRED = frozenset({Kind.OP_FALLBACK})
SETTING = "print(mod.script()) right after partition_for_...(mod)"


def prove(evidence: Evidence) -> Mapping[Kind, Proof]:
    """A module that was printed whole shows all that a partition left out."""
    said = evidence.of("tvm-byoc/module-printed")
    if Kind.COMPILE_ERROR in evidence.reported:
        why = "a partition could not be compiled, and nothing shows that one was after all"
        return {kind: Proof(State.UNPROVEN, why, None, SETTING) for kind in (*REQUIRED, Kind.COMPILE_ERROR)}
    if ("whole",) in said and ("cut",) not in said:
        why = "the partitioned module is printed whole: what was left out would stand in it"
        shown = Proof(State.PROVEN, why, evidence.first("tvm-byoc/module-printed"))
    elif ("cut",) in said:
        shown = Proof(State.UNPROVEN, "the printed module is cut: functions of it are missing", None, SETTING)
    elif ("lowered",) in said:
        why = "the module was printed after it was lowered: its calls no longer tell their operator"
        shown = Proof(State.UNPROVEN, why, None, SETTING)
    else:
        shown = Proof(State.UNPROVEN, "no partitioned module is printed", None, SETTING)
    return {Kind.OP_FALLBACK: shown}


READER = Reader(
    name=NAME,
    rules=RULES,
    markers=MARKERS,
    required=REQUIRED,
    prove=prove,
    setting=SETTING,
    manual=__doc__,
    silent="yes",
    seen_in="0.8 to 0.27 (0.27 run)",
)
