"""The side door: what torch.compile is asked for in this process, which nothing keeps.

Each function that is given to torch.compile, with its back end and whether it is marked to be left alone;
each stance that is set; each `torch._dynamo.reset`. The calls of what was compiled are not touched.
"""

from __future__ import annotations

import contextlib
import os
import sys
import weakref
from types import ModuleType

from . import patches, use

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from typing import Any, Callable

MOST = 200
_LIBRARIES = ("site-packages", "dist-packages")


class Asked:
    """One call of torch.compile: what was given to it, where it stands, and the back end."""

    def __init__(self, given: Any, context: Any, off: bool) -> None:
        self.backend = _backend(context)
        self.off = off
        self.by_import = _importing()
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

    @property
    def perhaps_unused(self) -> bool:
        """A library's own function, decorated as its module was imported: many are never called."""
        file = str(self.tells["file"] or "").replace("\\", "/").split("/")
        return self.by_import and any(part in _LIBRARIES for part in file)


CALLS = [0]
ASKED: list[Asked] = []
STANCES: list[dict[str, Any]] = []
RESETS: list[str] = []


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
        RESETS.append("reset")
        original_reset()

    patches.put(dynamo, "reset", reset)


def _watch_calls(context: Any, off: bool) -> None:
    original = context.__call__

    def call(self: Any, given: Any, *arguments: Any, **named: Any) -> Any:
        _note_call(given, self, off)
        return original(self, given, *arguments, **named)

    patches.put(context, "__call__", call)


def _note_call(given: Any, context: Any, off: bool) -> None:
    with contextlib.suppress(Exception):
        code = getattr(given, "__code__", None)
        inner = code is not None and "torch/nn/modules/module.py" in code.co_filename.replace("\\", "/")
        if inner and not hasattr(given, "__self__"):
            return
        if getattr(context, "export", False):
            return
        if inner and ASKED and ASKED[-1].module() is given.__self__:
            return  # the module itself was noted just before
        CALLS[0] += 1
        if len(ASKED) < 10 * MOST:
            ASKED.append(Asked(given, context, off))
        if not (ASKED and ASKED[-1].perhaps_unused):
            use.used()


def _importing() -> bool:
    """Whether a module is being imported on this thread's stack."""
    frame = sys._getframe(1)
    for _ in range(200):
        if frame is None:
            return False
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


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
    if (name != "default" or backend is not None) and len(STANCES) < MOST:
        STANCES.append({"stance": str(name), "backend": named(backend), **_caller()})


def named(backend: Any) -> str | None:
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
