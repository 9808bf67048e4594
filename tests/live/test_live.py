"""Real compilers, run here: what their programs let fall back is what the gate finds. `make test-compilers`.

Each program runs in this interpreter's environment; one whose compiler is not installed is skipped, and the
target installs them. `FALLBACK_GATE_KEEP=FOLDER` keeps the logs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.model import Outcome

PROGRAMS = Path(__file__).parent / "programs"
SHOWS_ALL = "dynamo,graph_breaks,recompiles,output_code"
Expected = set[tuple[str, str]]


def log_of(folder: Path, program: str, *arguments: str, **environment: str) -> Path:
    """Run a program; what it printed."""
    if find_spec(program.partition("_")[0]) is None:
        pytest.skip(f"{program.partition('_')[0]} is not installed; run `make test-compilers`")
    keep = Path(os.environ.get("FALLBACK_GATE_KEEP", folder))
    log = keep / ("-".join([program, *arguments, *environment.values()]).replace(",", "+") + ".log")
    call = [sys.executable, str(PROGRAMS / f"{program}.py"), *arguments]
    env = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")} | environment
    with log.open("wb") as out:
        subprocess.run(call, stdout=out, stderr=subprocess.STDOUT, env=env, check=True, timeout=600)
    return log


@pytest.mark.parametrize(
    ("mode", "outcome", "expected"),
    [
        ("nothing", Outcome.PASS, set()),
        ("gate", Outcome.BLOCKED, {("graph_break", "gate_attn")}),
        ("topk", Outcome.BLOCKED, {("op_fallback", "aten::topk")}),
    ],
)
def test_torch_compile_with_the_setting_that_shows_all(
    tmp_path: Path, mode: str, outcome: Outcome, expected: Expected
) -> None:
    verdict = check([log_of(tmp_path, "torch_program", mode, TORCH_LOGS=SHOWS_ALL)], "builtin:strict")
    assert verdict.outcome is outcome
    assert {(f.event.kind.value, f.event.op) for f in verdict.findings} == expected


@pytest.mark.parametrize("mode", ["nothing", "gate", "topk"])
def test_torch_compile_at_its_default_level_proves_nothing(tmp_path: Path, mode: str) -> None:
    assert check([log_of(tmp_path, "torch_program", mode)], "builtin:strict").outcome is Outcome.UNPROVEN


def test_a_session_of_onnxruntime_on_the_cpu_is_no_fallback(tmp_path: Path) -> None:
    verdict = check([log_of(tmp_path, "onnxruntime_program")], "builtin:strict")
    assert verdict.findings == ()
    assert verdict.outcome is Outcome.PASS
