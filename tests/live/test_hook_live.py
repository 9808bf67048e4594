"""Real compilers with the recorder's hook: what no log setting shows is found. `make test-compilers`."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

import fallback_gate
from fallback_gate import Verdict, check
from fallback_gate.model import Outcome

PROGRAMS = Path(__file__).parent / "programs"
HOOK = Path(fallback_gate.__file__).parent / "capture" / "hook"
COMPILERS = Path(__file__).parent.parent.parent / ".venv" / "compilers"
Expected = set[tuple[str, str]]


def python_of(family: str) -> str:
    """The interpreter of a family's environment."""
    families = os.environ.get("FALLBACK_GATE_FAMILY", "").split()
    python = COMPILERS / family / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if families and family not in families:
        pytest.skip("another family was asked for")
    if not python.exists():
        pytest.skip(f"not installed; run `make test-compilers FAMILY={family}`")
    return str(python)


def recorded(folder: Path, program: str, *arguments: str, code: int = 0, **environment: str) -> Verdict:
    """The strict verdict on a program that ran with the hook and, for PyTorch, its structured trace."""
    python = python_of(program.partition("_")[0])
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
        call = [python, str(PROGRAMS / f"{program}.py"), *arguments]
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
        ("once", {}, Outcome.BLOCKED, {("eager_frame", "forward")}),
        ("patched", {}, Outcome.BLOCKED, {("eager_frame", "forward")}),
        ("dispatched", {}, Outcome.BLOCKED, {("eager_frame", "forward")}),
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
    root = str(Path(fallback_gate.__file__).parent.parent)
    env = os.environ | {
        "PYTHONPATH": root,
        "FALLBACK_GATE_POLICY": "builtin:strict",
        "TORCHINDUCTOR_CACHE_DIR": str(tmp_path),
    }
    call = [python_of("torch"), str(PROGRAMS / "torch_guarded.py")]
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
    assert found(recorded(tmp_path, "openvino_hooked")) == {("reference_kernel", "Convert")}


@pytest.mark.parametrize(
    ("mode", "platforms", "outcome", "expected"),
    [
        ("clean", "cpu", Outcome.PASS, set()),
        ("callback", "cpu", Outcome.BLOCKED, {("device_fallback", "pure_callback")}),
        ("clean", "cuda,cpu", Outcome.BLOCKED, {("device_fallback", "cuda")}),
    ],
)
def test_jax(tmp_path: Path, mode: str, platforms: str, outcome: Outcome, expected: Expected) -> None:
    verdict = recorded(tmp_path, "jax_hooked", mode, JAX_PLATFORMS=platforms)
    assert (verdict.outcome, found(verdict)) == (outcome, expected)


def test_onnxruntime_keeps_what_it_prints(tmp_path: Path) -> None:
    verdict = recorded(tmp_path, "onnxruntime_hooked")
    assert (verdict.outcome, found(verdict)) == (Outcome.PASS, set())
