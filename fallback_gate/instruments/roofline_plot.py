"""The annex: the roofline as a picture, log by log: SVG from plain text, PNG where matplotlib is installed.

Both show the same: the roof, the balance, and a point for each kernel with its intensity and the FLOP a
second that it reached (or could reach at most, where none was measured).
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from xml.sax.saxutils import escape

from fallback_gate.errors import InputError, MissingExtra
from fallback_gate.instruments import counters
from fallback_gate.instruments.devices import Roof, described
from fallback_gate.model.quantity import shown

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP, _RIGHT = 760.0, 460.0, 90.0, 60.0, 50.0, 30.0
MOST_POINTS = 40
MOST_NAME = 48


@dataclass(frozen=True, slots=True)
class Point:
    """One kernel: FLOP for each byte, FLOP a second, and its share of the time (for the size of the dot)."""

    name: str
    intensity: float
    rate: float
    share: float = 0.0


def kernels(path: str, roof: Roof) -> list[Point]:
    """The kernels of a file of hardware counters; their arithmetic is that of the matrix units alone.

    Raises `InputError` as `counters.read` does, and where the file counts no bytes.
    """
    _, found, _, _ = counters.collected(path, roof)
    total = sum(kernel.us for kernel in found) or 1.0
    points = []
    for kernel in found:
        if kernel.bytes and kernel.us and kernel.tensor_pct:
            rate = kernel.tensor_pct / 100 * roof.peak
            points.append(Point(kernel.name, rate * kernel.us * 1e-6 / kernel.bytes, rate, kernel.us / total))
    if not points:
        raise InputError(
            f"{path} has no bytes of the memory and use of the matrix units to place a kernel by"
        )
    return points


def _drawable(points: Sequence[Point]) -> list[Point]:
    real = [p for p in points if 1e-9 < p.intensity < 1e12 and 1 < p.rate < 1e24]
    return sorted(real, key=lambda point: -point.share)[:MOST_POINTS]


def _frame(roof: Roof, points: Sequence[Point]) -> tuple[int, int, int, int]:
    """The decades of both axes: from and to for intensity, from and to for the rate."""
    intensities = [roof.balance / 100, roof.balance * 10, *(p.intensity for p in points)]
    low, high = math.floor(math.log10(min(intensities))), math.ceil(math.log10(max(intensities)))
    rates = [roof.peak * 2, roof.bandwidth * 10.0**low, *(p.rate for p in points)]
    return low, high, math.floor(math.log10(min(rates))), math.ceil(math.log10(max(rates)))


def _visible(name: str, most: int = MOST_NAME) -> str:
    """A name for XML: what the format forbids is replaced, and it is not endless."""
    plain = "".join(letter if letter.isprintable() else "?" for letter in name)
    return escape(plain if len(plain) <= most else plain[: most - 3] + "...")


def svg(roof: Roof, points: Sequence[Point]) -> str:
    """The picture as one SVG document, which loads nothing and runs nothing."""
    points = _drawable(points)
    x0, x1, y0, y1 = _frame(roof, points)

    def x(value: float) -> float:
        return _LEFT + (math.log10(value) - x0) / (x1 - x0) * (_WIDTH - _LEFT - _RIGHT)

    def y(value: float) -> float:
        return _HEIGHT - _BOTTOM - (math.log10(value) - y0) / (y1 - y0) * (_HEIGHT - _BOTTOM - _TOP)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" '
        'font-family="sans-serif" font-size="12" role="img">',
        f"<title>Roofline of {_visible(roof.device)}</title>",
        f'<rect width="{_WIDTH:.0f}" height="{_HEIGHT:.0f}" fill="#ffffff"/>',
        f'<text x="{_LEFT:.0f}" y="24" font-size="14">{_visible(described(roof), 120)}</text>',
    ]
    for power in range(x0, x1 + 1):
        at = x(10.0**power)
        out.append(f'<path d="M{at:.1f} {_TOP:.1f}V{_HEIGHT - _BOTTOM:.1f}" stroke="#dddddd"/>')
        out.append(
            f'<text x="{at:.1f}" y="{_HEIGHT - _BOTTOM + 18:.1f}" text-anchor="middle">{10.0**power:g}</text>'
        )
    for power in range(y0, y1 + 1):
        at = y(10.0**power)
        out.append(f'<path d="M{_LEFT:.1f} {at:.1f}H{_WIDTH - _RIGHT:.1f}" stroke="#dddddd"/>')
        label = shown(10.0**power, "FLOPS")
        out.append(f'<text x="{_LEFT - 6:.1f}" y="{at + 4:.1f}" text-anchor="end">{label}</text>')
    start, ridge = 10.0**x0, min(max(roof.balance, 10.0**x0), 10.0**x1)
    out.append(
        f'<path d="M{x(start):.1f} {y(start * roof.bandwidth):.1f}L{x(ridge):.1f} {y(roof.peak):.1f}'
        f'H{x(10.0**x1):.1f}" fill="none" stroke="#1f4e79" stroke-width="2.5"/>'
    )
    out.append(
        f'<path d="M{x(ridge):.1f} {y(roof.peak):.1f}V{_HEIGHT - _BOTTOM:.1f}" stroke="#1f4e79" '
        'stroke-dasharray="4 4"/>'
        f'<text x="{x(ridge) + 6:.1f}" y="{_HEIGHT - _BOTTOM - 8:.1f}">'
        f"balance {roof.balance:.0f} FLOP/byte</text>"
    )
    for point in points:
        radius = 3.5 + 8 * math.sqrt(max(0.0, min(point.share, 1.0)))
        name = _visible(point.name)
        out.append(
            f'<circle cx="{x(point.intensity):.1f}" cy="{y(point.rate):.1f}" r="{radius:.1f}" '
            f'fill="#b5462f" fill-opacity="0.75"><title>{name}</title></circle>'
        )
        if len(points) <= 12:
            out.append(
                f'<text x="{x(point.intensity) + radius + 3:.1f}" y="{y(point.rate) + 4:.1f}">{name}</text>'
            )
    out.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2:.1f}" y="{_HEIGHT - 14:.1f}" text-anchor="middle">'
        "arithmetic intensity (FLOP for each byte)</text></svg>"
    )
    return "\n".join(out) + "\n"


def png(roof: Roof, points: Sequence[Point]) -> bytes:
    """The picture as PNG. Raises `MissingExtra` without matplotlib."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtra(
            "a PNG needs matplotlib: pip install 'fallback-gate[plot]', or write --plot FILE.svg"
        ) from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    points = _drawable(points)
    x0, x1, _, _ = _frame(roof, points)
    figure, drawn = pyplot.subplots(figsize=(8, 5))
    axes: Any = drawn
    ridge = [10.0**x0, roof.balance, 10.0**x1]
    axes.loglog(ridge, [min(roof.peak, at * roof.bandwidth) for at in ridge], linewidth=2.5)
    axes.axvline(roof.balance, linestyle="--", linewidth=1)
    for point in points:
        axes.scatter([point.intensity], [point.rate], s=20 + 200 * max(0.0, min(point.share, 1.0)))
        if len(points) <= 12:
            axes.annotate(
                point.name[:MOST_NAME].replace("$", r"\$"), (point.intensity, point.rate), fontsize=7
            )
    axes.set_title(described(roof))
    axes.set_xlabel("arithmetic intensity (FLOP for each byte)")
    axes.set_ylabel("FLOP a second")
    axes.grid(True, which="major", alpha=0.3)
    drawn_as = io.BytesIO()
    figure.savefig(drawn_as, format="png", dpi=120, metadata={"Software": None})
    pyplot.close(figure)
    return drawn_as.getvalue()


FORMS: Final[Mapping[str, Callable[[Roof, Sequence[Point]], str | bytes]]] = {".svg": svg, ".png": png}
"""By the end of a file's name."""
