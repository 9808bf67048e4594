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
from types import ModuleType
from typing import Any, Callable

from . import imports, jax_modules, onnxruntime_sessions, openvino_models, patches, torch_compile, tvm_builds
from .record import Record

COMPILERS: dict[str, ModuleType] = {
    "torch.compile": torch_compile,
    "onnxruntime": onnxruntime_sessions,
    "openvino": openvino_models,
    "jax": jax_modules,
    "tvm": tvm_builds,
}
_WATCHERS: list[None] = []


def start() -> None:
    """Watch this process, and write its closing record into the folder that the environment names."""
    record = Record(os.environ["FALLBACK_GATE_RECORD_DIR"], facts, baseline)
    watch(record.used)
    record.begin()


def watch(used: Callable[[], None] | None = None) -> None:
    """Watch each compiler from its import on; `used` is called whenever one is put to use."""
    _WATCHERS.append(None)
    for compiler in COMPILERS.values():
        if used:
            compiler.USED.append(used)
        if len(_WATCHERS) == 1:
            imports.after(compiler.MODULE, compiler.watch)


def unwatch() -> None:
    """Undo one `watch`; the last takes off all that was wrapped."""
    _WATCHERS.pop()
    if not _WATCHERS:
        imports.forget()
        patches.undo()


def baseline() -> dict[str, Any]:
    """Where each compiler stands now; for facts about what comes after."""
    return {name: compiler.baseline() for name, compiler in COMPILERS.items()}


def facts(since: dict[str, Any] | None = None) -> dict[str, Any]:
    """What each compiler that was used tells; one that can't be asked says why."""
    told = {}
    for name, compiler in COMPILERS.items():
        try:
            said = compiler.facts(since.get(name) if since else None)
        except Exception as problem:
            said = {"problem": f"{type(problem).__name__}: {problem}"[:300]}
        if said:
            told[name] = said
    return told
