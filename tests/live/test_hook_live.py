"""Real compilers with the recorder's hook: what no log setting shows is found. `make test-compilers`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import fallback_gate
from fallback_gate import Verdict, check
from fallback_gate.model import Outcome

PROGRAMS = Path(__file__).parent / "programs"
HOOK = Path(fallback_gate.__file__).parent / "capture" / "hook"
Expected = set[tuple[str, str]]


def recorded(folder: Path, program: str, *arguments: str, code: int = 0, **environment: str) -> Verdict:
    """The strict verdict on a program that ran with the hook and, for PyTorch, its structured trace."""
    compiler = program.partition("_")[0]
    if find_spec(compiler) is None:
        pytest.skip(f"{compiler} is not installed; run `make test-compilers`")
    records, trace = folder / "records", folder / "trace"
    records.mkdir()
    trace.mkdir()
    env = os.environ | {
        "PYTHONPATH": str(HOOK),
        "FALLBACK_GATE_RECORD_DIR": str(records),
        "TORCH_TRACE": str(trace),
    }
    env |= {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), **environment}
    log = folder / "compile.log"
    with log.open("wb") as out:
        call = [sys.executable, str(PROGRAMS / f"{program}.py"), *arguments]
        done = subprocess.run(call, stdout=out, stderr=subprocess.STDOUT, env=env, timeout=600)
        assert done.returncode == code, log.read_text(encoding="utf-8")
        closings = sorted(records.glob("closing-*.json"))
        out.writelines(closing.read_bytes() for closing in closings)
    return check([log, *trace.glob("*.log")], "builtin:strict", _closings={str(log): len(closings)})


def found(verdict: Verdict) -> Expected:
    """Kind and operator of each event."""
    return {(f.event.kind.value, f.event.op) for f in verdict.findings}


@pytest.mark.parametrize(
    ("mode", "environment", "outcome", "expected"),
    [
        ("clean", {}, Outcome.PASS, set()),
        ("stance", {}, Outcome.BLOCKED, {("eager_frame", "set_stance")}),
        ("disabled", {}, Outcome.BLOCKED, {("eager_frame", "forward")}),
        ("eager", {}, Outcome.BLOCKED, {("eager_frame", "*")}),
        ("clean", {"TORCHDYNAMO_DISABLE": "1"}, Outcome.BLOCKED, {("eager_frame", "*")}),
        ("clean", {"TORCH_COMPILE_DISABLE": "1"}, Outcome.BLOCKED, {("eager_frame", "*")}),
    ],
)
def test_torch_compile(
    tmp_path: Path, mode: str, environment: dict[str, str], outcome: Outcome, expected: Expected
) -> None:
    verdict = recorded(tmp_path, "torch_ways_out", mode, **environment)
    assert (verdict.outcome, found(verdict)) == (outcome, expected)


def test_a_killed_process_proves_nothing(tmp_path: Path) -> None:
    verdict = recorded(tmp_path, "torch_ways_out", "killed", code=-signal.SIGKILL)
    assert (verdict.outcome, found(verdict)) == (Outcome.UNPROVEN, set())


def test_the_guard(tmp_path: Path) -> None:
    if find_spec("torch") is None:
        pytest.skip("torch is not installed; run `make test-compilers`")
    env = os.environ | {"FALLBACK_GATE_POLICY": "builtin:strict", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    call = [sys.executable, str(PROGRAMS / "torch_guarded.py")]
    told = subprocess.run(call, capture_output=True, text=True, env=env, timeout=600)
    assert told.returncode == 0, told.stderr
    assert told.stdout.splitlines() == [
        "clean pass",
        "broken graph_break:broken",
        "topk op_fallback:aten::topk",
        "warm unproven",
        "off eager_frame:*",
        "given back True",
    ]


def test_openvino(tmp_path: Path) -> None:
    assert found(recorded(tmp_path, "openvino_program")) == {("reference_kernel", "Convert")}


@pytest.mark.parametrize(
    ("mode", "platforms", "outcome", "expected"),
    [
        ("clean", "cpu", Outcome.PASS, set()),
        ("callback", "cpu", Outcome.BLOCKED, {("device_fallback", "pure_callback")}),
        ("clean", "cuda,cpu", Outcome.BLOCKED, {("device_fallback", "cuda")}),
    ],
)
def test_jax(tmp_path: Path, mode: str, platforms: str, outcome: Outcome, expected: Expected) -> None:
    verdict = recorded(tmp_path, "jax_program", mode, JAX_PLATFORMS=platforms)
    assert (verdict.outcome, found(verdict)) == (outcome, expected)


def test_onnxruntime_keeps_what_it_prints(tmp_path: Path) -> None:
    verdict = recorded(tmp_path, "onnxruntime_program")
    assert (verdict.outcome, found(verdict)) == (Outcome.PASS, set())
