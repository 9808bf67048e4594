"""The side door: what torch.compile did in this process, by its own counters and by what was asked of it.

Read at the end: `torch._dynamo.utils.counters`, the frames that were traced, the metrics of the last
compiles; with what `torch_asked` watched in life. Seen in 2.7 and 2.14.
"""

from __future__ import annotations

import atexit
import logging
import os
import sys

from . import torch_asked, torch_convert_frame
from .torch_asked import ASKED, CALLS, RESETS, STANCES, named
from .torch_convert_frame import SKIPPED

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from types import ModuleType
    from typing import Any

MODULE = "torch._dynamo"
MOST = torch_asked.MOST
_SWITCHES = ("TORCHDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE")
_GROUPS = ("inductor", "aot_autograd", "dynamo_cache", "stats")


def watch(dynamo: ModuleType) -> None:
    """Watch what nothing keeps: what is asked for, and what of it is passed over."""
    torch_asked.watch(dynamo)
    torch_convert_frame.watch(dynamo)
    atexit.register(_hush, dynamo)  # which runs before Dynamo's own


def _hush(dynamo: Any) -> None:
    """A process that only starts others, and asks nothing of the compiler, prints no empty list of frames.

    That is what a program prints whose compiler is switched off.
    """
    watched = hasattr(dynamo.reset, "__wrapped__")
    if watched and facts() is None:
        logging.getLogger(MODULE).setLevel(logging.WARNING)


def _traced(dynamo: Any) -> list[str] | None:
    """The frames that Dynamo attempted, as `function file:line`; None before 2.7, which keeps none."""
    tls = getattr(dynamo.eval_frame, "dynamo_tls", None)
    infos = getattr(tls, "traced_frame_infos", None)
    return None if infos is None else list(infos)


def _compiles(dynamo: Any) -> int:
    """How often a frame was compiled, frames that resume another one included; no user clears this."""
    return sum(getattr(dynamo.convert_frame, "FRAME_COMPILE_COUNTER", {}).values())


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
    return {"stance": str(name), "backend": named(backend)}


def baseline() -> dict[str, Any] | None:
    """What was there before; None where Dynamo is not loaded."""
    dynamo = sys.modules.get(MODULE)
    if dynamo is None or not hasattr(dynamo, "utils"):
        return None
    return {
        "asked": len(ASKED),
        "calls": CALLS[0],
        "stances": len(STANCES),
        "resets": len(RESETS),
        "skipped": len(SKIPPED),
        "stance": _stance_now(dynamo),
        "traced": len(_traced(dynamo) or ()),
        "compiles": _compiles(dynamo),
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
    kept = ASKED[since.get("asked", 0) :]
    calls = CALLS[0] - since.get("calls", 0)
    asked = _distinct([one.told() for one in kept])
    frames = counters.get("frames", {})
    if not calls and not traced and not frames.get("total"):
        return None
    stances = ([since["stance"]] if since.get("stance") else []) + STANCES[since.get("stances", 0) :]
    switched_off = [name for name in _SWITCHES if os.environ.get(name) == "1"]
    off = switched_off or stances or getattr(dynamo.config, "disable", False)
    if not traced and not frames.get("total") and not off and all(one.perhaps_unused for one in kept):
        return None
    old = {id(one) for one in since.get("metrics", ())}
    metrics = [one for one in _metrics(dynamo) if id(one) not in old]
    skipped = SKIPPED[since.get("skipped", 0) :] if traced or not off else []
    return {
        "version": str(getattr(torch, "__version__", "")),
        "switched_off": switched_off,
        "config_disable": bool(getattr(dynamo.config, "disable", False)),
        "suppress_errors": bool(getattr(dynamo.config, "suppress_errors", False)),
        "stances": _distinct(stances)[:MOST],
        "asked": asked[:MOST],
        "calls": calls,
        "left_out": calls - len(kept) + len(asked[MOST:]),
        "traced": None if traced is None else list(dict.fromkeys(traced))[:MOST],
        "attempts": None if traced is None else len(traced),
        "compiles": _compiles(dynamo) - since.get("compiles", 0),
        "frames": frames,
        "graph_breaks": _shortened(counters.get("graph_break", {})),
        "unimplemented": _shortened(counters.get("unimplemented", {})),
        "resumes": _shortened(counters.get("resumes", {})),
        "failed": _distinct([*skipped, *(said for said in map(_failed, metrics) if said)])[:MOST],
        "resets": len(RESETS) - since.get("resets", 0),
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
