"""Where logs are read: what needs no cluster. `tests/fleet` has the rest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.errors import InputError, MissingExtra

SAMPLE = Path(__file__).parents[2] / "sample_logs/moe-decoder-h200/disabled.default.log"


@pytest.mark.parametrize("engine", ["spark", "dask:", "dask://", "dask:///", "tcp://host:1", ""])
def test_an_unknown_engine_is_a_usage_error(engine: str) -> None:
    with pytest.raises(InputError, match="no engine is named"):
        check([SAMPLE], engine=engine)


@pytest.mark.parametrize("engine", ["dask", "dask://127.0.0.1:8786", "dask+tls://127.0.0.1:8786"])
def test_without_dask_the_install_command_is_named(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"pip install 'fallback-gate\[dask\]'"):
        check([SAMPLE], engine=engine)


def test_the_command_ends_with_2() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fallback_gate", "check", str(SAMPLE), "--engine", "spark"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "fallback-gate: no engine is named 'spark': take `dask`, or dask://HOST:PORT of a scheduler\n"
    )
