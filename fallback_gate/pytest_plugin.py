"""The side door for tests: the guard as a pytest marker and a fixture. It costs nothing where it is not used.

    @pytest.mark.no_fallback(policy="builtin:llm-decode")
    def test_decode(): ...

    def test_prefill(fallback_gate_guard):
        with fallback_gate_guard(policy="fallback-gate.yaml"):
            model(x)

What the guard found stands in the report of the test, and in the properties of its JUnit case.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fallback_gate.model import Verdict
    from fallback_gate.walks.guard import Guard

MARKER = "no_fallback"
MOST_PROPERTIES = 50  # events that are JUnit properties


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(policy=None, *, allow_unproven=False): fail unless all that the test compiles runs "
        "compiled, as far as the policy asks (fallback-gate)",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Run a marked test in a guard."""
    __tracebackhide__ = True
    marker = item.get_closest_marker(MARKER)
    if marker is None:
        return (yield)
    with _guarded(item, *marker.args, **marker.kwargs):
        return (yield)


@pytest.fixture
def fallback_gate_guard(request: pytest.FixtureRequest) -> Callable[..., AbstractContextManager[Guard]]:
    """`fallback_gate.guard`, which reports with the test what it found."""

    def guarded(*arguments: Any, **named: Any) -> AbstractContextManager[Guard]:
        return _guarded(request.node, *arguments, **named)

    return guarded


@contextmanager
def _guarded(item: pytest.Item, *arguments: Any, **named: Any) -> Iterator[Guard]:
    from fallback_gate.walks.guard import guard

    __tracebackhide__ = True
    gate = guard(*arguments, **named)
    try:
        with gate:
            yield gate
    finally:
        if gate.verdict is not None:
            _report(item, gate.verdict)


def _report(item: pytest.Item, verdict: Verdict) -> None:
    """Put the verdict and its events into the test's report section and its JUnit properties."""
    from fallback_gate.reports import safe, text

    outcome = verdict.outcome.value if verdict.outcome else "error"
    item.add_report_section("call", "fallback-gate", text.render(verdict, color=False))
    item.user_properties.append(("fallback_gate.verdict", outcome))
    for finding in verdict.findings[:MOST_PROPERTIES]:
        event = finding.event
        told = f"{finding.decision.value}: {event.compiler} {event.kind.value} {event.op}"
        item.user_properties.append(("fallback_gate.event", safe.inline(told)))
