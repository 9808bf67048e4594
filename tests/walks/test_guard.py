"""The guard, in this process and as a pytest plugin. A stand-in for onnxruntime is what it watches here."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import fallback_gate
from fallback_gate import FallbackError, guard
from fallback_gate.errors import PolicyError
from fallback_gate.model import Outcome
from tests.capture.stub_onnxruntime import STUB

pytest_plugins = ["pytester"]
CPU, OV, CUDA = "CPUExecutionProvider", "OpenVINOExecutionProvider", "CUDAExecutionProvider"
ALLOW = """
version: 1
name: cuda-may-be-missing
cold:
  - {op: CUDAExecutionProvider, reason: a test machine, owner: me, expires: 2999-01-01}
"""


@pytest.fixture
def onnxruntime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The stand-in, imported anew."""
    (tmp_path / "onnxruntime").mkdir()
    (tmp_path / "onnxruntime" / "__init__.py").write_text(STUB, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    monkeypatch.setenv("FALLBACK_GATE_POLICY", "builtin:strict")
    return import_module("onnxruntime")


def test_what_stays_where_it_should_passes(onnxruntime: ModuleType) -> None:
    with guard() as gate:
        onnxruntime.InferenceSession("m.onnx", providers=[CPU])
    assert gate.verdict is not None
    assert gate.verdict.outcome is Outcome.PASS


def test_a_fallback_raises_one_error_that_lists_it(onnxruntime: ModuleType) -> None:
    with pytest.raises(AssertionError, match="CUDAExecutionProvider") as raised, guard():
        onnxruntime.InferenceSession("m.onnx", providers=[CUDA, CPU])
    assert isinstance(raised.value, FallbackError)
    assert raised.value.verdict.outcome is Outcome.BLOCKED
    assert [f.event.op for f in raised.value.verdict.findings] == [CUDA]
    assert str(raised.value).startswith("BLOCKED (exit 1)")


def test_a_policy_decides(onnxruntime: ModuleType, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(ALLOW, encoding="utf-8")
    with guard(policy=policy) as gate:
        onnxruntime.InferenceSession("m.onnx", providers=[CUDA, CPU])
    assert gate.verdict is not None
    assert gate.verdict.outcome is Outcome.PASS
    policy.write_text("version: 1\nhto: []\n", encoding="utf-8")
    with pytest.raises(PolicyError, match="hto"), guard(policy=policy):
        onnxruntime.InferenceSession("m.onnx", providers=[CPU])


def test_a_verdict_that_does_not_raise(onnxruntime: ModuleType) -> None:
    with guard(raises=False) as gate:
        onnxruntime.InferenceSession("m.onnx", providers=[CUDA, CPU])
    assert gate.verdict is not None
    assert gate.verdict.outcome is Outcome.BLOCKED


def test_a_block_that_compiles_nothing_proves_nothing(onnxruntime: ModuleType) -> None:
    onnxruntime.InferenceSession("m.onnx", providers=[CPU])  # before the guard
    with pytest.raises(FallbackError, match="compile inside") as raised, guard():
        pass
    assert raised.value.verdict.outcome is Outcome.UNPROVEN
    with guard(allow_unproven=True) as gate:
        pass
    assert gate.verdict is not None
    assert gate.verdict.outcome is Outcome.UNPROVEN
    with pytest.raises(FallbackError, match="CUDA"), guard(allow_unproven=True):
        onnxruntime.InferenceSession("m.onnx", providers=[CUDA, CPU])


def test_guards_in_guards(onnxruntime: ModuleType) -> None:
    with guard(raises=False) as outer:
        with guard(raises=False) as first:
            onnxruntime.InferenceSession("m.onnx", providers=[CPU])
        with guard(raises=False) as second:
            onnxruntime.InferenceSession("m.onnx", providers=[CUDA, CPU])
    outcomes = [gate.verdict.outcome for gate in (first, second, outer) if gate.verdict]
    assert outcomes == [Outcome.PASS, Outcome.BLOCKED, Outcome.BLOCKED]


def test_an_exception_of_the_block_is_passed_on(onnxruntime: ModuleType) -> None:
    gate = guard()
    with pytest.raises(RuntimeError, match="no such provider"), gate:
        onnxruntime.InferenceSession("m.onnx", providers=["BrokenExecutionProvider"])
    assert gate.verdict is None


def test_all_is_as_it_was(onnxruntime: ModuleType) -> None:
    session = onnxruntime.InferenceSession
    before = (session._create_inference_session, list(sys.path), list(sys.meta_path))
    with guard(raises=False), guard(raises=False):
        assert session._create_inference_session is not before[0]
    assert (session._create_inference_session, list(sys.path), list(sys.meta_path)) == before


def test_a_wrapper_that_somebody_put_over_ours_stays(onnxruntime: ModuleType) -> None:
    session = onnxruntime.InferenceSession
    with guard(raises=False) as gate:
        ours = session._create_inference_session
        session._create_inference_session = lambda self, *given: ours(self, *given)
        theirs = session._create_inference_session
        onnxruntime.InferenceSession("m.onnx", providers=[CPU])
    assert session._create_inference_session is theirs
    assert gate.verdict is not None
    assert gate.verdict.outcome is Outcome.PASS


def test_a_compiler_that_is_imported_inside_is_watched(
    onnxruntime: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "onnxruntime")
    with pytest.raises(FallbackError, match="CUDA"), guard():
        import_module("onnxruntime").InferenceSession("m.onnx", providers=[CUDA, CPU])
    assert sys.modules["onnxruntime"] is not onnxruntime


def test_the_command_does_not_pay_for_the_guard() -> None:
    assert set(fallback_gate.__all__) > {"guard", "FallbackError"}
    code = "import sys, fallback_gate.pytest_plugin; print('fallback_gate.gate' in sys.modules)"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "False\n"


TESTS = f"""
import onnxruntime, pytest

def session(*asked):
    return onnxruntime.InferenceSession("m.onnx", providers=list(asked))

@pytest.mark.no_fallback
def test_good():
    session("{CPU}")

@pytest.mark.no_fallback(policy="builtin:strict")
def test_bad():
    session("{CUDA}", "{CPU}")

@pytest.mark.no_fallback
def test_nothing():
    pass

@pytest.mark.no_fallback(allow_unproven=True)
def test_nothing_allowed():
    pass

@pytest.mark.no_fallback(raises=False)
def test_only_looked_at():
    session("{CUDA}", "{CPU}")

def test_fixture(fallback_gate_guard):
    with fallback_gate_guard(raises=False) as gate:
        session("{CUDA}", "{CPU}")
    assert gate.verdict.outcome.value == "blocked"
    with fallback_gate_guard():
        session("{CPU}")

def test_unmarked():
    session("{CUDA}", "{CPU}")
"""


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "xdist"])
def test_the_plugin(pytester: pytest.Pytester, workers: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    package = pytester.path / "onnxruntime"
    package.mkdir()
    (package / "__init__.py").write_text(STUB, encoding="utf-8")
    pytester.makepyfile(test_it=TESTS)
    monkeypatch.setenv("PYTHONPATH", str(pytester.path))
    done = pytester.runpytest_subprocess("--junitxml=junit.xml", "--strict-markers", *workers)
    done.assert_outcomes(passed=5, failed=2)
    done.stdout.fnmatch_lines(["*- Captured fallback-gate call -*", f"*{CUDA}: runs on another device*"])
    cases = {case.get("name"): case for case in ET.parse(pytester.path / "junit.xml").iter("testcase")}
    said = {
        name: [(p.get("name", "").rpartition(".")[2], p.get("value")) for p in case.iter("property")]
        for name, case in cases.items()
    }
    event = ("event", f"blocked: onnxruntime device_fallback {CUDA}")
    assert said == {
        "test_good": [("verdict", "pass")],
        "test_bad": [("verdict", "blocked"), event],
        "test_nothing": [("verdict", "unproven")],
        "test_nothing_allowed": [("verdict", "unproven")],
        "test_only_looked_at": [("verdict", "blocked"), event],
        "test_fixture": [("verdict", "blocked"), event, ("verdict", "pass")],
        "test_unmarked": [],
    }


def test_the_marker_is_documented(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_subprocess("--markers")
    done.stdout.fnmatch_lines(["@pytest.mark.no_fallback(*"])
