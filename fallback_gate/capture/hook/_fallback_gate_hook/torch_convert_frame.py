"""The side door: what was given to torch.compile and passed over as it was called, which only DEBUG prints.

Dynamo looks at each frame before it traces it, and lets it run in eager while `config.disable` is on,
under a dispatch mode (`FlopCounterMode`), and in 2.7 and 2.11 where a module of PyTorch's own is compiled in
place (`nn.Sequential(...).compile()`). Each look at a frame that was asked for is watched here; compiled code
that runs is not.

The file's name holds that of Dynamo's own: from such a file on, Dynamo leaves frames out of stacks it prints.
"""

from __future__ import annotations

import contextlib
from types import ModuleType

from . import patches
from .torch_asked import ASKED, MOST, STANCES

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from typing import Any

SKIPPED: list[dict[str, Any]] = []


def watch(dynamo: ModuleType) -> None:
    """Wrap Dynamo's look at a frame. Before 2.7, which keeps no list of traced frames, nothing is watched."""
    traced = getattr(getattr(dynamo.eval_frame, "dynamo_tls", None), "traced_frame_infos", None)
    context = getattr(dynamo.convert_frame, "CatchErrorsWrapper", None)
    if traced is None or context is None:
        return
    original = context.__call__

    def look(self: Any, frame: Any, *arguments: Any) -> Any:
        before = len(dynamo.eval_frame.dynamo_tls.traced_frame_infos)
        result = original(self, frame, *arguments)
        if len(dynamo.eval_frame.dynamo_tls.traced_frame_infos) == before:
            with contextlib.suppress(Exception):
                _note(frame.f_code, result, dynamo)
        return result

    patches.put(context, "__call__", look)


def _note(code: Any, result: Any, dynamo: ModuleType) -> None:
    if getattr(result, "guarded_code", None) is not None or len(SKIPPED) >= MOST:
        return
    place = {"name": code.co_name, "file": code.co_filename, "line": code.co_firstlineno}
    if not any(place.items() <= one.tells.items() for one in ASKED):
        return
    if dynamo.config.disable:
        reason = "Dynamo tracing is disabled"
    elif _in_mode(dynamo):
        reason = "a torch dispatch mode is active"
    elif dynamo.trace_rules.check(code):  # a library's, which is traced from a wrapper on
        if dynamo.utils.counters.get("graph_break") or any("_then_" in one["stance"] for one in STANCES):
            return  # this is what is left behind a break of that, or a first call
        reason = "a module of PyTorch's own is not traced by itself"
    else:
        reason = getattr(result, "skip_reason", None) or "it was not traced"
    SKIPPED.append({**place, "type": None, "reason": f"passed over: {reason}"[:300]})


def _in_mode(dynamo: ModuleType) -> bool:
    """Whether a dispatch mode of the program's own is active, which no version of Dynamo traces under."""
    if look := getattr(dynamo.convert_frame, "is_in_torch_dispatch_mode", None):
        return bool(look(include_infra_modes=False))
    look = getattr(dynamo.convert_frame, "is_in_any_mode_without_ignore_compile_internals", None)
    return look is None or bool(look())
