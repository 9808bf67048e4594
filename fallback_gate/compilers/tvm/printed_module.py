"""Room 3: the functions of a module, or one function alone, that TVM printed as TVMScript.

    @R.function
    def main(...):
        lv24: R.Tuple(...) = R.topk(lv2, k=2, ...)

Calls of Relax operators are those that nothing took yet: no partition, no lowering.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fallback_gate.patterns import Pattern
from fallback_gate.scan.record import Line, Record

LONGEST = 50_000  # lines of one printed module

_DEF = Pattern(r"\s+def (?P<name>\w+)\(")
_CODEGEN = Pattern(r"R\.func_attr\(\{.*\"Codegen\": \"(?P<target>[\w.]+)\"")
_COMPOSITE = Pattern(r"R\.func_attr\(\{.*\"Composite\": ")
_CALL = Pattern(r"^\s*(?:\w+(?:: .*)? = |\) = |return )?R\.(?P<op>[a-z_][\w.]*)\(")
_CALLED = Pattern(r"\bcls\.(?P<name>\w+)")
_DEF_ALONE = Pattern(r"def (?P<name>\w+)\(")
_PARTITION = Pattern(
    r" = fused_\w*?_(?P<target>tensorrt|cutlass|cublas|cudnn|hipblas|dnnl|clml|coreml|nnapi|xnnpack|example_npu)\d*\("
)
_PLUMBING = (
    "call_", "invoke_", "make_closure", "output", "func_", "dataflow", "match_cast", "prim_value", "const",
    "str", "dtype", "shape", "tensor_to_shape", "null_value", "tuple", "print", "assert_op", "memory.", "vm.",
    "builtin.", "ccl.", "dist.", "to_vdevice", "hint_on_device", "goto",
)  # fmt: skip


@dataclass(slots=True)
class Function:
    """One function of a printed module: who compiles it, the calls that stand in it outside inner functions."""

    name: str
    relax: bool
    target: str = ""  # the vendor's compiler, where it goes to one
    composite: bool = False
    calls: list[tuple[str, Line]] = field(default_factory=list)
    called: set[str] = field(default_factory=set)  # functions of the module
    lowered: bool = False
    ended: bool = False
    torn: bool = False  # lines that stand behind its end are of something else


def functions(record: Record) -> list[Function]:
    """The functions of the module whose first line is the record; the last one may be cut."""
    found: list[Function] = []
    level, inner, relax = 0, 0, False
    for line in record.following(LONGEST):
        text = line.text
        bare = text.strip()
        if not bare:
            continue
        depth = len(text) - len(text.lstrip())
        if bare.startswith(("class ", "# from tvm", "@I.ir_module")) and not found:
            continue
        if level and depth < level:
            break
        if bare.startswith("@") and (depth == level or not level):
            relax = bare.startswith(("@R.function", "@relax.function"))
            continue
        opened = _DEF.match(text)
        if opened and (not level or depth == level):
            level, inner = depth, 0
            found.append(Function(opened["name"], relax))
            continue
        if not level:
            break
        if inner and depth > inner:
            continue
        if opened or not bare.startswith(")"):  # a formatter puts the end of a head on a line of its own
            inner = depth if opened else 0
        if not opened and not bare.startswith(("@", "#")):
            _read(found[-1], line, bare)
    return found


def _read(function: Function, line: Line, bare: str) -> None:
    """Take one statement of a function's own body."""
    if function.ended or not function.relax:
        function.torn = function.ended
        return
    if bare.startswith("R.func_attr("):
        offloaded = _CODEGEN.search(bare)
        function.target = offloaded["target"] if offloaded else function.target
        function.composite = function.composite or bool(_COMPOSITE.search(bare))
        return
    function.ended = bare.startswith("return ")
    rest = line.text
    while called := _CALLED.search(rest):
        function.called.add(called["name"])
        rest = rest[called.end() :]
    if call := _CALL.match(line.text):
        function.lowered = function.lowered or call["op"].startswith("call_")
        if not call["op"].startswith(_PLUMBING):
            function.calls.append((call["op"], line))


def alone(record: Record) -> Function | None:
    """The function that is printed by itself below the record, without its module; None where there is none.

    Its `target` is what the partitions that it calls are for, as their names end.
    """
    function: Function | None = None
    for line in record.following(LONGEST):
        bare = line.text.strip()
        if function is None:
            opened = _DEF_ALONE.match(line.text)
            if opened is None:
                return None
            function = Function(opened["name"], relax=True)
        elif bare and not line.text.startswith((" ", ")")):
            break
        else:
            _read(function, line, bare)
            if part := _PARTITION.search(line.text):
                function.target = part["target"]
    return function
