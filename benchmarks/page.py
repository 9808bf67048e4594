"""What was measured, as a part of `docs/speed.md` and a plot beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.section import BARS, Section, number, table

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PLOT = DOCS / "speed.md", DOCS / "speed.svg"
_PART = re.compile(r"(<!-- measured: make bench -->\n).*?(<!-- end -->)", re.DOTALL)
_LOOKS = {  # colours that all eyes tell apart, dark enough for text, and marks
    "fallback-gate": ("#0072b2", "o"),
    "ripgrep": ("#b34d00", "s"),
    "first script": ("#00745a", "^"),
    "cat": ("#555555", "d"),
}


def markdown(sections: Sequence[Section], machine: str, curves: Mapping[str, Mapping[int, float]]) -> str:
    """The measured part of the page."""
    bars = [bar.row() for section in sections for bar in section.bars]
    lines = [machine, "", *table(BARS, bars), ""]
    if curves:
        lines += [f"![{described(curves)}]({PLOT.name})", ""]
    for section in sections:
        lines += section.markdown()
    return "\n".join(lines).rstrip() + "\n"


def write(text: str, curves: Mapping[str, Mapping[int, float]]) -> None:
    """Put the part into the page, and the plot beside it."""
    page, found = _PART.subn(
        lambda match: f"{match[1]}\n{text}\n{match[2]}", PAGE.read_text(encoding="utf-8")
    )
    if found != 1:
        raise SystemExit(f"{PAGE} has no part for the figures")
    PLOT.write_text(plot(curves), encoding="utf-8")
    PAGE.write_text(page, encoding="utf-8")


def described(curves: Mapping[str, Mapping[int, float]]) -> str:
    """The plot in words: what each line says at its ends."""
    told = []
    for name in (name for name in _LOOKS if name in curves):
        points = sorted(curves[name].items())
        ends = " to ".join(f"{number(taken)} s at {mib:,} MiB" for mib, taken in (points[0], points[-1]))
        told.append(f"{name} from {ends}")
    return f"Seconds by the size of the log: {'; '.join(told)}"


def plot(curves: Mapping[str, Mapping[int, float]]) -> str:
    """The seconds of each command by the size of the log, as SVG with a title and a description."""
    try:
        import matplotlib
    except ImportError:
        raise SystemExit("the plot needs matplotlib: pip install 'fallback-gate[bench]'") from None
    matplotlib.use("svg")
    from io import StringIO

    from matplotlib import pyplot

    pyplot.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "bench", "font.family": "sans-serif"})
    figure, axes = pyplot.subplots(figsize=(8, 4.5))
    for name, (colour, mark) in _LOOKS.items():
        points = sorted(curves.get(name, {}).items())
        if not points:
            continue
        sizes, times = zip(*points, strict=True)
        axes.plot(sizes, times, color=colour, marker=mark, linewidth=2 if name == "fallback-gate" else 1.2)
        axes.annotate(
            name, (sizes[-1], times[-1]), (6, 0), textcoords="offset points", color=colour, va="center"
        )
    ticks = sorted(mib for mib in curves["fallback-gate"])
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(ticks, [f"{mib} MiB" if mib < 1024 else f"{mib // 1024} GiB" for mib in ticks])
    axes.yaxis.set_major_formatter("{x:g}")
    axes.set_xlim(ticks[0] * 0.9, ticks[-1] * 2.6)
    axes.set_xlabel("size of the log")
    axes.set_ylabel("seconds")
    axes.grid(True, which="major", alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    out = StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    pyplot.close(figure)
    picture = out.getvalue()
    opening = re.search(r"<svg [^>]*>", picture)
    assert opening
    told = (
        f'{opening[0][:-1]} role="img" aria-labelledby="speed-title speed-text">\n'
        '<title id="speed-title">How long a debug log takes, by its size</title>\n'
        f'<desc id="speed-text">{escape(described(curves))}.</desc>'
    )
    return told + re.sub(r"[ \t]+$", "", picture[opening.end() :], flags=re.MULTILINE)
