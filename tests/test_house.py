"""The house as a whole: files that do one thing."""

from __future__ import annotations

from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "fallback_gate"
WRITTEN = {"compilers/index.py", "scan/pieces.py"}  # by make: data


def test_no_file_is_longer_than_a_person_reads_at_once() -> None:
    lengths = {
        file.relative_to(PACKAGE).as_posix(): len(file.read_text(encoding="utf-8").splitlines())
        for file in PACKAGE.rglob("*.py")
    }
    assert lengths.keys() > WRITTEN
    assert [name for name, lines in lengths.items() if lines > 320 and name not in WRITTEN] == []
