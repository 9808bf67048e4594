"""The heat map of a coverage matrix in a real browser."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe

from fallback_gate.model import Outcome, PolicySummary
from fallback_gate.model.matrix import Cell, Column, Held, Matrix, Red
from fallback_gate.reports import coverage_html
from tests.browser.conftest import Open

LONG = "moe::" + "gate_attention_" * 12
CELLS = tuple(
    Cell(
        f"op{at} {LONG if at == 2 else ''}",
        backend,
        column,
        "24x2048, 2048x512",
        "bf16",
        ("nvjet_" * 20,),
        12.5,
        at == 3,
        11.0,
        reason="why" * 30,
    )  # fmt: skip
    for backend in ("onnxruntime", "openvino", "tensorrt", "torch.compile")
    for at, column in enumerate(Column)
)
PAGE = coverage_html.render(
    Held(
        Matrix(CELLS), Outcome.BLOCKED, 1, PolicySummary("release", "policies/release.yaml", None),
        (Red(CELLS[3], "policies/release.yaml:5"),), frozenset({CELLS[3].place}), ("a hot entry is open",), ("a note",),
    )
)  # fmt: skip


@pytest.mark.parametrize("width", [320, 768, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_readable_everywhere(show: Open, width: int, scheme: str) -> None:
    """Nothing sticks out at the side of the page, and axe finds nothing: contrast, names, order, roles."""
    page = show(PAGE, width=width, scheme=scheme, scripts=True)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def test_a_field_over_the_red_line_has_a_frame(show: Open) -> None:
    page = show(PAGE)
    frames = page.locator(".field.red").evaluate_all(
        "all => all.map(one => getComputedStyle(one).borderTopWidth)"
    )
    assert frames == ["3px"]
    assert page.locator(".field.red").inner_text().startswith("✕ fallback (red line)")
