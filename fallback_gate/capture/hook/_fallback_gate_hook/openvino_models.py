"""The side door: the kernels and devices of each model that OpenVINO compiled, from its execution graph.

The graph is the only place that names the implementation of a node (`jit_avx512_f32`, `ref_i64`), and no log
level prints it. It is read when a model is compiled. Seen in 2026.4.
"""

from __future__ import annotations

from collections import Counter
from types import ModuleType

from . import patches, use

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from typing import Any, Callable

MOST = 200
_MODELS: list[dict[str, Any]] = []
_COUNT = [0]
_VERSION = [""]


def watch(openvino: ModuleType) -> None:
    """Note each model that is compiled or imported."""
    _VERSION[0] = str(getattr(openvino, "__version__", ""))
    for name in ("compile_model", "import_model"):
        if hasattr(openvino.Core, name):
            patches.put(openvino.Core, name, _watched(getattr(openvino.Core, name)))


def _watched(original: Callable[..., Any]) -> Callable[..., Any]:
    def compile_model(*arguments: Any, **named: Any) -> Any:
        use.used()
        asked = named.get("device_name", arguments[2] if len(arguments) > 2 else None)
        try:
            compiled = original(*arguments, **named)
        except BaseException as problem:
            _note(asked, None, f"{type(problem).__name__}: {problem}"[:300])
            raise
        _note(asked, compiled, None)
        return compiled

    return compile_model


def _note(asked: Any, compiled: Any, error: str | None) -> None:
    _COUNT[0] += 1
    if len(_MODELS) >= MOST:
        return
    said: dict[str, Any] = {"asked": None if asked is None else str(asked)[:100], "error": error}
    if compiled is not None:
        try:
            devices = compiled.get_property("EXECUTION_DEVICES")
            said["devices"] = [str(one) for one in ([devices] if isinstance(devices, str) else devices)]
            said.update(_kernels(compiled))
        except Exception as problem:
            said["problem"] = f"{type(problem).__name__}: {problem}"[:300]
    _MODELS.append(said)


def _kernels(compiled: Any) -> dict[str, Any]:
    """How many nodes have each kind of kernel, and those that run a reference kernel."""
    kinds: Counter[str] = Counter()
    reference: list[list[str]] = []
    for node in compiled.get_runtime_model().get_ordered_ops():
        told = node.get_rt_info()
        layer, how = (told[key].astype(str) if key in told else "" for key in ("layerType", "primitiveType"))
        kinds[how.split("_")[0]] += 1
        if how.startswith("ref") or layer == "Reference":
            reference.append([layer, how, node.get_friendly_name()[:200]])
    return {"kernels": dict(kinds), "reference": reference[:MOST], "references": len(reference)}


def baseline() -> int:
    """How many models there were."""
    return _COUNT[0]


def facts(since: int | None = None) -> dict[str, Any] | None:
    """The models that were compiled since; None where there is none."""
    made = _COUNT[0] - (since or 0)
    if not made:
        return None
    return {"version": _VERSION[0], "made": made, "models": _MODELS[since or 0 :]}
