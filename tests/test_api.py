"""The Python API: the same frozen verdict that the command reports, by typed names."""

from __future__ import annotations

import json
import subprocess
import sys
import typing
from dataclasses import FrozenInstanceError
from datetime import date
from pathlib import Path

import pytest

import fallback_gate
from fallback_gate import Verdict, check
from fallback_gate.reports import FORMATS
from tests.compilers.lines import clean

CALL = "buf1 = torch.ops.aten.topk.default(buf0, 2)"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "compile.log"
    path.write_text("\n".join(clean(CALL)) + "\n", encoding="utf-8")
    return path


def test_the_names_that_a_user_may_import() -> None:
    assert set(fallback_gate.__all__) == {"Event", "FallbackError", "Policy", "Verdict", "check", "guard"}
    for name in fallback_gate.__all__:
        assert getattr(fallback_gate, name).__doc__
    assert set(fallback_gate.__all__) <= set(dir(fallback_gate))
    with pytest.raises(AttributeError):
        fallback_gate.nonsense  # noqa: B018


def test_the_package_is_typed() -> None:
    assert (Path(fallback_gate.__file__).parent / "py.typed").exists()
    assert typing.get_type_hints(check)["return"] is Verdict


def test_the_verdict_is_frozen(log: Path) -> None:
    verdict = check([log], "builtin:strict", cwd=log.parent)
    assert isinstance(verdict, Verdict)
    with pytest.raises(FrozenInstanceError):
        verdict.exit_code = 0  # type: ignore[misc]


@pytest.mark.parametrize("given", [str, Path])
def test_the_command_reports_the_same_verdict(given: type, log: Path) -> None:
    verdict = check([given(log)], "builtin:strict", cwd=log.parent, today=date(2026, 11, 30))
    command = ["check", str(log), "-p", "builtin:strict", "-f", "json", "--today", "2026-11-30"]
    done = subprocess.run(
        [sys.executable, "-m", "fallback_gate", *command],
        cwd=log.parent,
        capture_output=True,
    )
    assert done.returncode == verdict.exit_code == 1
    assert json.loads(done.stdout) == json.loads(FORMATS["json"](verdict))


def test_a_verdict_is_the_same_each_time(log: Path) -> None:
    assert check([log], cwd=log.parent) == check([log], cwd=log.parent)
