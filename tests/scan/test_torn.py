"""Room 2: a log whose lines somebody cut or broke at one width proves nothing; tables and long lines are as written."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from textwrap import wrap

import pytest

from fallback_gate import check
from fallback_gate.model import Outcome
from fallback_gate.scan import torn

ROOT = Path(__file__).parents[2]
CLEAN = (ROOT / "tests/data/clean.2.9.1.log").read_text(encoding="utf-8").splitlines()
LOGS = sorted(path for path in (ROOT / "sample_logs").rglob("*.log*") if path.suffix in (".log", ".gz"))


def folded(line: str, width: int) -> list[str]:
    """As `fold -s` does it: behind the last blank that fits, which stays."""
    pieces = []
    while len(line) > width:
        at = line.rfind(" ", 0, width) + 1 or width
        pieces.append(line[:at])
        line = line[at:]
    return [*pieces, line]


HARMS: dict[str, Callable[[str, int], list[str]]] = {
    "cut": lambda line, width: [line[:width]],
    "cut, with dots": lambda line, width: [line if len(line) <= width else f"{line[: width - 3]}..."],
    "cut, with an ellipsis": lambda line, width: [line if len(line) <= width else f"{line[: width - 1]}…"],
    "only the end of each": lambda line, width: [line if len(line) <= width else f"...{line[-width:]}"],
    "broken": lambda line, width: [line[at : at + width] for at in range(0, max(1, len(line)), width)],
    "broken at blanks": folded,
}


@pytest.mark.parametrize("width", [60, 100, 120, 132])
@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_lines_that_end_at_one_width(
    tmp_path: Path, harm: Callable[[str, int], list[str]], width: int
) -> None:
    lines = [piece for line in CLEAN for piece in harm(line, width)]
    assert torn.told("\n".join(lines)) is not None
    log = tmp_path / "a.log"
    for text in (lines, ["served"] * 40_000 + lines):  # at the start, and at the end
        log.write_text("\n".join(text) + "\n", encoding="utf-8")
        assert check(log, environ={}, cwd=tmp_path).outcome is not Outcome.PASS


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.name)
def test_a_log_as_it_was_written(log: Path) -> None:
    text = gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()
    assert torn.told(text[: 128 << 10].decode("utf-8", "replace")) is None


@pytest.mark.parametrize(
    "lines",
    [
        [f"| layer{number:4} | {number * 7919 % 10007:8} |" for number in range(50)],
        [f"layer {number:4}  Status.EXECUTED  {number * 7:8}   " for number in range(50)],
        ["." * 72 + f" [{number:3}%]" for number in range(50)],
        ["step done " for _ in range(50)],
        wrap("one paragraph of prose in which each line is about as long as the one before " * 4, 72),
        [],
    ],
)
def test_lines_that_look_alike(lines: list[str]) -> None:
    assert torn.told("\n".join(lines)) is None
