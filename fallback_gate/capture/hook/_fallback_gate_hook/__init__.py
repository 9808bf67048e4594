"""The side door: what a process of a recorded run knows of its compilers, written down as it ends.

Logs leave things out that the process itself could tell: a stance that sends every recompile to eager, a
compiler that is off, where a session's nodes were placed. One closing record a process tells them; `record`
puts it into the log. Each compiler has a module here that looks at what the compiler keeps anyway, and wraps
the least where that is not enough; none of them changes a result, and nothing runs before a compiler is
imported.

Python 3.8 and the standard library only: this is loaded into the user's own interpreter.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from . import imports, patches, use
from .record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from types import ModuleType
    from typing import Any, Callable

COMPILERS = {
    "torch.compile": ("torch_compile", "torch._dynamo"),
    "onnxruntime": ("onnxruntime_sessions", "onnxruntime"),
    "openvino": ("openvino_models", "openvino"),
    "jax": ("jax_modules", "jax._src.compiler"),
    "triton": ("triton_interpreter", "triton.runtime.interpreter"),
    "tvm": ("tvm_builds", "tvm.relax"),
}
_WATCHERS: list[None] = []


def start() -> None:
    """Watch this process, and write its closing record into the folder that the environment names."""
    record = Record(os.environ["FALLBACK_GATE_RECORD_DIR"], facts, baseline)
    use.TELL.append(record.used)
    watch()
    record.begin()


def watch() -> None:
    """Watch each compiler from its import on: its module here is loaded only then."""
    _WATCHERS.append(None)
    if len(_WATCHERS) == 1:
        for own, theirs in COMPILERS.values():
            imports.after(theirs, _watching(own))
        imports.after("jax._src.api", _watching("jax_jit"))
        imports.after("jax._src.pallas.hlo_interpreter", _watching("jax_pallas"))
        imports.after("torch._inductor.compile_worker.subproc_pool", _watching("torch_workers"))


def unwatch() -> None:
    """Undo one `watch`; the last takes off all that was wrapped."""
    _WATCHERS.pop()
    if not _WATCHERS:
        imports.forget()
        patches.undo()


def _watching(own: str) -> Callable[[ModuleType], None]:
    def load(module: ModuleType) -> None:
        import_module(f".{own}", __name__).watch(module)

    return load


def _loaded() -> dict[str, Any]:
    """The modules here of those compilers that were imported, by the compiler's name."""
    found = {name: sys.modules.get(f"{__name__}.{own}") for name, (own, _) in COMPILERS.items()}
    return {name: module for name, module in found.items() if module is not None}


def baseline() -> dict[str, Any]:
    """Where each compiler stands now; for facts about what comes after."""
    return {name: compiler.baseline() for name, compiler in _loaded().items()}


def facts(since: dict[str, Any] | None = None) -> dict[str, Any]:
    """What each compiler that was used tells; one that can't be asked says why."""
    told = {}
    for name, compiler in _loaded().items():
        try:
            said = compiler.facts(since.get(name) if since else None)
        except Exception as problem:
            said = {"problem": f"{type(problem).__name__}: {problem}"[:300]}
        if said:
            told[name] = said
    return told
