"""The side door: which providers each ONNX Runtime session was to have, which it got, and who runs its nodes.

A session is noted each time that one is made: in `InferenceSession(...)`, and again where Python's layer
retries with other providers, also in the middle of `run`. A recent session can tell the provider of each
node; the hook asks it to keep that, which changes nothing of what it computes. Seen in 1.32.
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from types import ModuleType

from . import patches, use

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing is slow to load
    from typing import Any

MODULE = "onnxruntime"
MOST = 200
_KEEP = "session.record_ep_graph_assignment_info"
_SESSIONS: list[dict[str, Any]] = []
_COUNT = [0]


def watch(onnxruntime: ModuleType) -> None:
    """Note each session that is made."""
    session = onnxruntime.InferenceSession
    original = session._create_inference_session

    def create(self: Any, providers: Any, *arguments: Any, **named: Any) -> Any:
        use.used()
        asked = _names(providers)
        _keep_assignment(self, onnxruntime)
        try:
            made = original(self, providers, *arguments, **named)
        except BaseException as problem:
            _note(self, asked, f"{type(problem).__name__}: {problem}"[:300])
            raise
        _note(self, asked, None)
        return made

    patches.put(session, "_create_inference_session", create)


def _names(providers: Any) -> list[str] | None:
    if not providers:
        return None
    return [str(one[0] if isinstance(one, (tuple, list)) else one)[:100] for one in providers]


def _keep_assignment(session: Any, onnxruntime: ModuleType) -> None:
    """Have the session keep who runs its nodes, unless its options say already."""
    if not hasattr(session, "get_provider_graph_assignment_info"):
        return
    with contextlib.suppress(Exception):
        if session._sess_options is None:
            session._sess_options = onnxruntime.SessionOptions()
        try:
            session._sess_options.get_session_config_entry(_KEEP)
        except Exception:
            session._sess_options.add_session_config_entry(_KEEP, "1")


def _note(session: Any, asked: list[str] | None, error: str | None) -> None:
    _COUNT[0] += 1
    if len(_SESSIONS) >= MOST:
        return
    said: dict[str, Any] = {"session": id(session), "asked": asked, "error": error}
    if error is None:
        try:
            said["got"] = [str(name) for name in session.get_providers()]
            said["nodes"] = _assignment(session)
        except Exception as problem:
            said["problem"] = f"{type(problem).__name__}: {problem}"[:300]
    _SESSIONS.append(said)


def _assignment(session: Any) -> dict[str, list[list[Any]]] | None:
    """The nodes by provider, as operator, name of the first, and count; None where it is not kept."""
    if not hasattr(session, "get_provider_graph_assignment_info"):
        return None
    found: dict[str, dict[str, list[Any]]] = {}
    for part in session.get_provider_graph_assignment_info():
        operators = found.setdefault(str(part.ep_name), {})
        for node in part.get_nodes():
            domain = getattr(node, "domain", "")
            one = operators.setdefault(
                f"{domain}:{node.op_type}", [str(node.op_type), str(node.name)[:200], 0]
            )
            one[2] += 1
    return {provider: list(operators.values())[:MOST] for provider, operators in found.items()}


def baseline() -> int:
    """How many sessions there were."""
    return _COUNT[0]


def facts(since: int | None = None) -> dict[str, Any] | None:
    """The sessions that were made since; None where there is none."""
    made = _COUNT[0] - (since or 0)
    if not made:
        return None
    version = getattr(sys.modules.get(MODULE), "__version__", "")
    sessions = _SESSIONS[since or 0 :]
    names = Counter(one["session"] for one in sessions)
    order = {name: at for at, name in enumerate(names)}
    told = [{**one, "session": order[one["session"]]} for one in sessions]
    return {"version": version, "made": made, "sessions": told}
