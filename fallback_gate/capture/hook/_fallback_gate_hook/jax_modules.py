"""The side door: host callbacks, custom calls and expanded operations in each module that JAX compiles.

A module is looked at as it goes to XLA, also where the compiled program then comes from a cache: callbacks
and library calls are `custom_call`s, and an operation that was expanded before (`lax.ragged_dot` on the
CPU) lives on in the locations of what it became. Seen in 0.10.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from types import ModuleType

from . import jax_jit, patches, use

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from typing import Any, Iterator

MOST = 200
MOST_OPERATIONS = 200_000  # of one module that are looked at
_EXPANDED = re.compile(r"/(ragged_dot\w*)\"")
_PATH = re.compile(r"\"([^\"]*\([^\"]*\)/[^\"]*)\"")
_PLACE = re.compile(r"\"(\w[^\"]*)\"\(\"([^\"]+)\":(\d+)")
_SITES: list[dict[str, Any]] = []
_TOTAL: Counter[str] = Counter()
_PLATFORMS: list[str] = []


def watch(compiler: ModuleType) -> None:
    """Look at each module that is compiled."""
    original = compiler.compile_or_get_cached

    def compile_or_get_cached(backend: Any, computation: Any, *arguments: Any, **named: Any) -> Any:
        use.used()
        try:
            _look(backend, computation)
        except Exception as problem:
            _TOTAL["unread"] += 1
            _SITES.append({"problem": f"{type(problem).__name__}: {problem}"[:300]})
        return original(backend, computation, *arguments, **named)

    patches.put(compiler, "compile_or_get_cached", compile_or_get_cached)


def _operations(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from _operations(inner.operation)


def _look(backend: Any, computation: Any) -> None:
    platform = str(getattr(backend, "platform", ""))
    if platform not in _PLATFORMS:
        _PLATFORMS.append(platform)
    _TOTAL["modules"] += 1
    for at, operation in enumerate(_operations(computation.operation)):
        if at >= MOST_OPERATIONS:
            _TOTAL["unread"] += 1
            return
        if operation.name == "stablehlo.custom_call":
            target = str(operation.attributes["call_target_name"]).strip('"')
            _TOTAL[f"custom_call {target}"] += 1
            if "callback" in target:
                _note("callback", target, str(operation.location))
        elif "ragged" not in operation.name:
            location = str(operation.location)
            expanded = _EXPANDED.search(location)
            if expanded:
                _note("expanded", expanded.group(1), location)


def _kernels() -> list[dict[str, Any]]:
    """The Pallas kernels that ran by their interpreter."""
    return list(getattr(sys.modules.get(f"{__package__}.jax_pallas"), "KERNELS", ()))


def _note(what: str, name: str, location: str) -> None:
    path, place = _PATH.search(location), _PLACE.search(location)
    said = {
        "what": what,
        "name": name,
        "path": path.group(1)[:300] if path else None,
        "function": place.group(1)[:200] if place else None,
        "file": place.group(2)[:500] if place else None,
        "line": int(place.group(3)) if place else None,
    }
    _TOTAL[what] += 1
    if said not in _SITES and len(_SITES) < MOST:
        _SITES.append(said)


def baseline() -> dict[str, Any]:
    """What was seen before."""
    return {
        "total": dict(_TOTAL),
        "sites": len(_SITES),
        "interpreted": len(_kernels()),
        "off": jax_jit.ENTERED[0],
    }


def facts(since: dict[str, Any] | None = None) -> dict[str, Any] | None:
    """What was compiled since; None where nothing was."""
    before = since["total"] if since else {}
    total = {
        name: count - before.get(name, 0) for name, count in _TOTAL.items() if count != before.get(name, 0)
    }
    if not total:
        return None
    jax = sys.modules.get("jax")
    asked = getattr(getattr(jax, "config", None), "jax_platforms", None) or os.environ.get("JAX_PLATFORMS")
    return {
        "version": str(getattr(jax, "__version__", "")),
        "asked": asked,
        "platforms": list(_PLATFORMS),
        "modules": total.get("modules", 0),
        "unread": total.get("unread", 0),
        "custom_calls": {name[12:]: n for name, n in total.items() if name.startswith("custom_call ")},
        "without_jit": jax_jit.ENTERED[0] - (since.get("off", 0) if since else 0) + jax_jit.is_off(),
        "interpreted": _kernels()[since.get("interpreted", 0) if since else 0 :],
        "sites": _SITES[since["sites"] if since else 0 :],
    }
