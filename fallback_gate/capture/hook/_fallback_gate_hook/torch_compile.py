"""The side door: what torch.compile did in this process, by its own counters and by what was asked of it.

Read at the end: `torch._dynamo.utils.counters`, the frames that were traced, the metrics of the last
compiles. Watched in life, since nothing keeps it: each function that is given to torch.compile, with its back
end, each stance that is set, and `torch._dynamo.reset`. Seen in 2.7 and 2.14.
"""

from __future__ import annotations

import contextlib
import os
import sys
import weakref
from types import ModuleType
from typing import Any, Callable

from . import patches

MODULE = "torch._dynamo"
USED: list[Callable[[], None]] = []
MOST = 200
_SWITCHES = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")
_GROUPS = ("inductor", "aot_autograd", "dynamo_cache", "stats")


class _Asked:
    """One call of torch.compile: what was given to it, where it stands, and the back end."""

    def __init__(self, given: Any, context: Any, off: bool) -> None:
        self.backend = _backend(context)
        self.off = off
        self.tells = _functions(given)
        self.module: Callable[[], Any] = lambda: None
        owner = getattr(given, "__self__", given)
        if hasattr(owner, "forward"):
            with contextlib.suppress(TypeError):
                self.module = weakref.ref(owner)

    def told(self) -> dict[str, Any]:
        """The facts of this call; a forward that was exchanged since counts too."""
        module = self.module()
        later = _functions(module) if module is not None else {}
        names = {**self.tells, **later}
        disabled = bool(self.tells["disabled"] or later.get("disabled"))
        return {**names, "backend": self.backend, "off": self.off, "disabled": disabled}


_CALLS = [0]
_ASKED: list[_Asked] = []
_STANCES: list[dict[str, Any]] = []
_RESETS: list[str] = []


def watch(dynamo: ModuleType) -> None:
    """Wrap what nothing keeps: calls of torch.compile, set_stance and reset."""
    frame = dynamo.eval_frame
    _watch_calls(frame.OptimizeContext, off=False)
    if hasattr(frame, "_NullDecorator"):
        _watch_calls(frame._NullDecorator, off=True)
    if hasattr(frame, "_set_stance"):
        original = frame._set_stance

        def set_stance(stance: Any) -> Any:
            _note_stance(stance)
            return original(stance)

        patches.put(frame, "_set_stance", set_stance)
        if hasattr(dynamo.decorators, "_set_stance"):
            patches.put(dynamo.decorators, "_set_stance", set_stance)
    original_reset = dynamo.reset

    def reset() -> None:
        _RESETS.append("reset")
        original_reset()

    patches.put(dynamo, "reset", reset)


def _watch_calls(context: Any, off: bool) -> None:
    original = context.__call__

    def call(self: Any, given: Any, *arguments: Any, **named: Any) -> Any:
        _note_call(given, self, off)
        return original(self, given, *arguments, **named)

    patches.put(context, "__call__", call)


def _note_call(given: Any, context: Any, off: bool) -> None:
    try:
        code = getattr(given, "__code__", None)
        inner = code is not None and "torch/nn/modules/module.py" in code.co_filename.replace("\\", "/")
        if inner and not hasattr(given, "__self__"):
            return
        if getattr(context, "export", False):
            return
        if inner and _ASKED and _ASKED[-1].module() is given.__self__:
            return  # the module itself was noted just before
        _CALLS[0] += 1
        if len(_ASKED) < 10 * MOST:
            _ASKED.append(_Asked(given, context, off))
        for used in USED:
            used()
    except Exception:
        pass


def _functions(given: Any) -> dict[str, Any]:
    """Name and place of the user's function behind a function, a module or a bound method."""
    owner = getattr(given, "__self__", None)
    if owner is not None and hasattr(owner, "forward"):
        given = owner
    function = given.forward if hasattr(given, "forward") else given
    disabled, depth = False, 0
    while depth < 20:
        disabled = disabled or bool(getattr(function, "_torchdynamo_disable", False))
        inner = getattr(function, "_torchdynamo_orig_callable", None) or getattr(
            function, "__wrapped__", None
        )
        if inner is None or inner is function:
            break
        function, depth = inner, depth + 1
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None and callable(function) and not isinstance(function, type):
        code = getattr(type(function).__call__, "__code__", None)
    return {
        "name": getattr(code, "co_name", getattr(function, "__name__", type(function).__name__)),
        "file": getattr(code, "co_filename", None),
        "line": getattr(code, "co_firstlineno", None),
        "disabled": disabled,
    }


def _backend(context: Any) -> str | None:
    """The name of the back end behind a context's callback."""
    found = getattr(context, "callback", None)
    name = None
    for _ in range(20):
        if found is None:
            break
        told = getattr(found, "compiler_name", None)
        if isinstance(told, str):
            name = told
        inner = None
        for attribute in ("_torchdynamo_orig_backend", "_torchdynamo_orig_callable", "compiler_fn"):
            inner = inner or getattr(found, attribute, None)
        if inner is None or inner is found:
            name = name or getattr(found, "__name__", None)
            break
        found = inner
    return str(name)[:100] if name else None


def _note_stance(stance: Any) -> None:
    name = getattr(stance, "stance", None)
    backend = getattr(stance, "backend", None)
    if (name != "default" or backend is not None) and len(_STANCES) < MOST:
        _STANCES.append({"stance": str(name), "backend": _named(backend), **_caller()})


def _named(backend: Any) -> str | None:
    if backend is None or isinstance(backend, str):
        return backend
    return str(getattr(backend, "__name__", type(backend).__name__))[:100]


def _caller() -> dict[str, Any]:
    """The innermost place on the stack that is neither PyTorch's nor ours."""
    frame = sys._getframe(1)
    libraries = (
        os.path.dirname(__file__),
        os.path.dirname(sys.modules["torch"].__file__ or ""),
        contextlib.__file__,
    )
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(libraries):
            return {"file": file, "line": frame.f_lineno, "function": frame.f_code.co_name}
        frame = frame.f_back  # type: ignore[assignment]
    return {}


def _traced(dynamo: Any) -> list[str] | None:
    """The frames that Dynamo attempted, as `function file:line`; None before 2.7, which keeps none."""
    tls = getattr(dynamo.eval_frame, "dynamo_tls", None)
    infos = getattr(tls, "traced_frame_infos", None)
    return None if infos is None else list(infos)


def _metrics(dynamo: Any) -> list[Any]:
    try:
        return list(dynamo.utils.get_compilation_metrics())
    except Exception:
        return []


def _stance_now(dynamo: Any) -> dict[str, Any] | None:
    stance = getattr(dynamo.eval_frame, "_stance", None)
    name, backend = getattr(stance, "stance", "default"), getattr(stance, "backend", None)
    if name == "default" and backend is None:
        return None
    return {"stance": str(name), "backend": _named(backend)}


def baseline() -> dict[str, Any] | None:
    """What was there before; None where Dynamo is not loaded."""
    dynamo = sys.modules.get(MODULE)
    if dynamo is None or not hasattr(dynamo, "utils"):
        return None
    return {
        "asked": len(_ASKED),
        "calls": _CALLS[0],
        "stances": len(_STANCES),
        "resets": len(_RESETS),
        "stance": _stance_now(dynamo),
        "traced": len(_traced(dynamo) or ()),
        "counters": {group: dict(table) for group, table in list(dynamo.utils.counters.items())},
        "metrics": _metrics(dynamo),
    }


def facts(since: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """What torch.compile did since; None where it was neither asked for anything nor traced a frame."""
    dynamo, torch = sys.modules.get(MODULE), sys.modules.get("torch")
    if dynamo is None or torch is None or not hasattr(dynamo, "utils"):
        return None
    since = since or {}
    counters = _since(dynamo.utils.counters, since.get("counters", {}))
    traced = _traced(dynamo)
    if traced is not None:
        traced = traced[since.get("traced", 0) :]
    kept = _ASKED[since.get("asked", 0) :]
    calls = _CALLS[0] - since.get("calls", 0)
    asked = _distinct([one.told() for one in kept])
    frames = counters.get("frames", {})
    if not calls and not traced and not frames.get("total"):
        return None
    stances = ([since["stance"]] if since.get("stance") else []) + _STANCES[since.get("stances", 0) :]
    old = {id(one) for one in since.get("metrics", ())}
    metrics = [one for one in _metrics(dynamo) if id(one) not in old]
    return {
        "version": str(getattr(torch, "__version__", "")),
        "switched_off": [name for name in _SWITCHES if os.environ.get(name) == "1"],
        "config_disable": bool(getattr(dynamo.config, "disable", False)),
        "suppress_errors": bool(getattr(dynamo.config, "suppress_errors", False)),
        "stances": _distinct(stances)[:MOST],
        "asked": asked[:MOST],
        "calls": calls,
        "left_out": calls - len(kept) + len(asked[MOST:]),
        "traced": None if traced is None else list(dict.fromkeys(traced))[:MOST],
        "attempts": None if traced is None else len(traced),
        "frames": frames,
        "graph_breaks": _shortened(counters.get("graph_break", {})),
        "unimplemented": _shortened(counters.get("unimplemented", {})),
        "resumes": _shortened(counters.get("resumes", {})),
        "failed": [said for said in map(_failed, metrics) if said][:MOST],
        "resets": len(_RESETS) - since.get("resets", 0),
        "counters": {group: counters[group] for group in _GROUPS if counters.get(group)},
    }


def _since(counters: Any, before: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    """The counters without what was counted before."""
    found: dict[str, dict[str, int]] = {}
    for group, table in list(counters.items()):
        old = before.get(group, {})
        more = {
            str(key): count - old.get(key, 0)
            for key, count in dict(table).items()
            if count != old.get(key, 0)
        }
        if more:
            found[group] = more
    return found


def _distinct(asked: list[dict[str, Any]]) -> list[dict[str, Any]]:
    seen: dict[Any, dict[str, Any]] = {}
    for one in asked:
        seen.setdefault(tuple(one.items()), one)
    return list(seen.values())


def _shortened(table: dict[str, int]) -> dict[str, int]:
    """The first lines that tell something, and how often."""
    found: dict[str, int] = {}
    for text, count in list(table.items())[:MOST]:
        lines = [said.strip() for said in text.splitlines() if said.strip()]
        told = next((said for said in lines if not said.endswith(":")), lines[0] if lines else "")[:300]
        found[told] = found.get(told, 0) + count
    return found


def _failed(metrics: Any) -> dict[str, Any] | None:
    """A frame of which nothing was compiled."""
    told = getattr(metrics, "fail_type", None)
    counted = (
        getattr(metrics, "graph_op_count", None) is not None
        or getattr(metrics, "guard_count", None) is not None
    )
    if not told and (counted or getattr(metrics, "has_guarded_code", None) is not False):
        return None
    return {
        "name": getattr(metrics, "co_name", None),
        "file": getattr(metrics, "co_filename", None),
        "line": getattr(metrics, "co_firstlineno", None),
        "type": told,
        "reason": str(getattr(metrics, "fail_reason", None) or "")[:300],
    }
