"""Room 5: all that is said of a policy, word by word; said.yaml tells it, and `make said` writes that anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from . import saying


@pytest.mark.parametrize("entry", saying.loaded(), ids=lambda entry: entry["policy"][:40])
def test_what_is_said_of_a_policy(
    entry: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert saying.of(entry["policy"]) == {key: entry[key] for key in entry.keys() - {"policy"}}
