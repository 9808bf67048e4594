"""The side door: what each TVM Relax module calls when its pipeline is done, which TVM itself never prints.

At code generation a Relax function calls generated functions of its module, the virtual machine's own
builtins, or packed functions of a library; a generated function may in turn call a packed one, and may have
no schedule. dlight's rule of last resort, `Fallback`, is watched, since nothing tells which rule it was. Seen
in 0.27.
"""

from __future__ import annotations

import sys
from types import ModuleType

from . import imports, patches, use

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from typing import Any, Callable

MOST = 200
_BUILTIN = ("vm.builtin.", "runtime.", "tirx.", "tir.")
_BUILDS: list[dict[str, Any]] = []
_COUNT = [0]
_FALLBACK: dict[str, None] = {}
_PIPELINES: list[Any] = []
_WATCHED: list[str] = []
_LAST_RESORT = (
    "tvm.s_tir.dlight.gpu.fallback",
    "tvm.s_tir.dlight.adreno.fallback",
    "tvm.dlight.gpu.fallback",
)


def watch(relax: ModuleType) -> None:
    """Look at each module that goes to code generation, or comes out of a named pipeline."""
    vm_build = sys.modules["tvm.relax.vm_build"]
    original = vm_build._vmcodegen

    def vmcodegen(builder: Any, mod: Any, *arguments: Any, **named: Any) -> Any:
        use.used()
        _note(mod)
        return original(builder, mod, *arguments, **named)

    patches.put(vm_build, "_vmcodegen", vmcodegen)
    for home in _LAST_RESORT:
        imports.after(home, _watch_fallback)
    _watch_pipelines(relax)


def _watch_pipelines(relax: Any) -> None:
    """Look at what a named pipeline makes of a module: it may never go to code generation here."""
    original = relax.get_pipeline

    def get_pipeline(*arguments: Any, **named: Any) -> Any:
        pipeline = original(*arguments, **named)
        if len(_PIPELINES) < MOST:
            _PIPELINES.append(pipeline)
        return pipeline

    for home in (relax, relax.pipeline):
        patches.put(home, "get_pipeline", get_pipeline)
    passes = sys.modules["tvm.ir.transform"].Pass
    run = passes.__call__

    def call(self: Any, mod: Any) -> Any:
        made = run(self, mod)
        if any(self is pipeline for pipeline in _PIPELINES):
            use.used()
            _note(made, codegen=False)
        return made

    patches.put(passes, "__call__", call)


def _watch_fallback(module: ModuleType) -> None:
    original = module.Fallback.apply

    def apply(self: Any, func: Any, *arguments: Any, **named: Any) -> Any:
        schedule = original(self, func, *arguments, **named)
        if schedule is not None and len(_FALLBACK) < 100 * MOST:
            _FALLBACK[_rule_applied()] = None
        return schedule

    patches.put(module.Fallback, "apply", apply)
    _WATCHED.append(module.__name__)


def _rule_applied() -> str:
    """The name of the function that a rule is applied to: the rule is not told, its caller knows."""
    frame = sys._getframe(1)
    for _ in range(8):
        if frame is None:
            break
        for variable in frame.f_locals.values():
            if type(variable).__name__ == "GlobalVar":
                return str(getattr(variable, "name_hint", ""))
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _note(mod: Any, codegen: bool = True) -> None:
    _COUNT[0] += 1
    if len(_BUILDS) >= MOST:
        return
    try:
        told = _calls(mod)
    except Exception as problem:
        told = {"problem": f"{type(problem).__name__}: {problem}"[:300]}
    _BUILDS.append({"codegen": codegen, **told})


def _calls(mod: Any) -> dict[str, Any]:
    """The calls of the module's Relax functions by what they reach, and what its generated functions lack."""
    tvm: Any = sys.modules["tvm"]
    relax = tvm.relax
    tir = getattr(tvm, "tirx", None) or tvm.tir
    generated: dict[str, int] = {}
    packed: dict[str, int] = {}
    operators: dict[str, int] = {}

    def visit(expression: Any) -> None:
        if not isinstance(expression, relax.Call):
            return
        called = expression.op
        if isinstance(called, tvm.ir.GlobalVar):
            generated[called.name_hint] = generated.get(called.name_hint, 0) + 1
        elif isinstance(called, relax.ExternFunc):
            name = str(called.global_symbol)
            if not name.startswith(_BUILTIN):
                packed[name] = packed.get(name, 0) + 1
        elif hasattr(called, "name") and not str(called.name).startswith(("relax.vm.", "relax.memory.")):
            operators[str(called.name)] = operators.get(str(called.name), 0) + 1

    functions: list[dict[str, Any]] = []
    for variable, function in mod.functions.items():
        if isinstance(function, relax.Function):
            relax.analysis.post_order_visit(function, visit)
        elif isinstance(function, tir.PrimFunc):
            functions.append(_function(tir, variable.name_hint, function))
    return {
        "generated": sum(generated.values()),
        "packed": dict(list(packed.items())[:MOST]),
        "operators": dict(list(operators.items())[:MOST]),
        "functions": [one for one in functions if _lacks(one)][:MOST],
        "all_functions": len(functions),
        "scheduled": sum(bool(one["scheduled"]) for one in functions),
    }


def _lacks(one: dict[str, Any]) -> bool:
    return bool(one["extern"] or one["fallback"] or not one["scheduled"])


def _function(tir: Any, name: str, function: Any) -> dict[str, Any]:
    """One generated function: whether it is scheduled, reduces, calls a library."""
    attributes = function.attrs if function.attrs is not None else {}
    marks = [key for key in ("tirx.is_scheduled", "tir.is_scheduled") if key in attributes]
    scheduled = any(bool(attributes[key]) for key in marks)
    reduces = [False]
    extern: list[str] = []

    def visit(node: Any) -> None:
        for axis in getattr(node, "iter_vars", None) or ():
            reduces[0] = reduces[0] or int(getattr(axis, "iter_type", 0)) == 2
        operator = str(getattr(getattr(node, "op", None), "name", ""))
        if operator.startswith(("tirx.tvm_call", "tir.tvm_call", "tirx.call_packed", "tir.call_packed")) or (
            operator in ("tirx.call_extern", "tir.call_extern")
        ):
            extern.append(str(node.args[0]).strip('"')[:200])

    _walk(tir, function.body, visit)
    return {
        "name": name,
        "scheduled": scheduled,
        "reduces": reduces[0],
        "extern": extern[:MOST],
        "fallback": name in _FALLBACK,
    }


def _walk(tir: Any, body: Any, visit: Callable[[Any], None]) -> None:
    """Visit each node of a function's body, as this version does it."""
    ffi: Any = sys.modules.get("tvm_ffi")
    if hasattr(ffi, "structural_walk"):
        ffi.structural_walk(body, visit)
    else:
        tir.stmt_functor.post_order_visit(body, visit)


def baseline() -> int:
    """How many modules there were."""
    return _COUNT[0]


def facts(since: int | None = None) -> dict[str, Any] | None:
    """The modules that were built since; None where there is none."""
    made = _COUNT[0] - (since or 0)
    if not made:
        return None
    version = str(getattr(sys.modules.get("tvm"), "__version__", ""))
    return {
        "version": version,
        "made": made,
        "builds": _BUILDS[since or 0 :],
        "last_resort": "unnamed" if "" in _FALLBACK else "watched" if _WATCHED else "unknown",
    }
