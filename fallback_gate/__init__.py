"""fallback-gate: no release with an operator that silently fell back to a slow path.

from fallback_gate import check
verdict = check(["compile.log"], policy="builtin:llm-decode")
verdict.outcome, verdict.exit_code, verdict.findings

with fallback_gate.guard(policy="builtin:llm-decode"):  # in a test: raises FallbackError
    model(x)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
__all__ = ["Event", "FallbackError", "Policy", "Verdict", "check", "guard"]

if TYPE_CHECKING:
    from fallback_gate.gate import check
    from fallback_gate.model import Event, Verdict
    from fallback_gate.policy import Policy
    from fallback_gate.walks.guard import FallbackError, guard

_HOMES = {
    "check": "gate",
    "guard": "walks.guard",
    "FallbackError": "walks.guard",
    "Event": "model",
    "Verdict": "model",
    "Policy": "policy",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that the command's start does not pay for what it does not need."""
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"fallback_gate.{_HOMES[name]}"), name)
    raise AttributeError(name)


def __dir__() -> list[str]:
    """What stands here, imported yet or not."""
    return sorted({*globals(), *__all__})
