"""The pages take from the code what they say, and each reader says what a page needs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fallback_gate.compilers import READERS
from fallback_gate.compilers.rule import Reader

ROOT = Path(__file__).parents[1]


def test_the_pages_are_what_the_code_says() -> None:
    told = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"], capture_output=True, text=True, cwd=ROOT
    )
    assert told.returncode == 0, told.stdout + told.stderr


@pytest.mark.parametrize("reader", READERS.values(), ids=lambda reader: reader.name)
def test_a_reader_is_a_manual_page(reader: Reader) -> None:
    assert reader.manual.startswith(f"{reader.name}: ")
    assert "**What falls back.**" in reader.manual
    assert re.search(r"\*\*When it is silent", reader.manual)
    assert re.match(r"(?:yes|no|partly)\b", reader.silent)
    assert reader.seen_in
