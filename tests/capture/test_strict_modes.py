"""A sealed run that succeeded in a strict mode proves the kinds that the mode turns into errors, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from fallback_gate import check
from fallback_gate.model import Kind, Outcome, State, Verdict
from tests.capture.recording import record

GRAPH_NODE = "Fallback required. Node: sort_1 Target: aten.sort.default Meta: {}"
PRINT = f"print({GRAPH_NODE!r})"
POLICY = """\
version: 1
name: hpu
cold:
  - {op: "aten::sort", reason: sampling, owner: serving, expires: 2099-01-01}
proof: {required: [device_fallback]}
"""


def judged(folder: Path, log: str = "compile.log") -> Verdict:
    (folder / ".git").mkdir(exist_ok=True)
    (folder / "policy.yaml").write_text(POLICY, encoding="utf-8")
    return check([folder / log], folder / "policy.yaml", cwd=folder, environ={})


def test_it_proves_the_kind_that_would_have_failed(tmp_path: Path) -> None:
    record(tmp_path, PRINT, "--strict-modes")
    verdict = judged(tmp_path)
    assert verdict.outcome is Outcome.PASS
    (compiler,) = verdict.processes[0].compilers
    assert compiler.proof[Kind.DEVICE_FALLBACK].state is State.PROVEN
    assert "PT_HPU_PLACE_ON_CPU=none" in compiler.proof[Kind.DEVICE_FALLBACK].why
    # A node was left eager although the mode forbids it: that kind is not proven by the mode.
    assert compiler.proof[Kind.OP_FALLBACK].state is not State.PROVEN


@pytest.mark.parametrize(
    ("program", "options", "variables"),
    [
        (PRINT, (), {}),
        (PRINT, ("--strict-modes",), {"PT_HPU_PLACE_ON_CPU": "add,sort"}),
        (PRINT + "; raise SystemExit(1)", ("--strict-modes",), {}),
        (PRINT, ("--strict-modes", "--compilers", "torch_npu"), {}),
    ],
)
def test_without_the_mode_or_without_success_it_proves_nothing(
    program: str, options: tuple[str, ...], variables: dict[str, str], tmp_path: Path
) -> None:
    record(tmp_path, program, *options, variables=variables)
    assert judged(tmp_path).outcome is Outcome.UNPROVEN


def test_a_user_who_sets_the_mode_proves_as_much(tmp_path: Path) -> None:
    record(tmp_path, PRINT, variables={"PT_HPU_PLACE_ON_CPU": "none"})
    assert judged(tmp_path).outcome is Outcome.PASS


def test_only_a_whole_seal_tells_the_mode(tmp_path: Path) -> None:
    record(tmp_path, PRINT, "--strict-modes")
    data = (tmp_path / "compile.log").read_bytes()
    (tmp_path / "cut.log").write_bytes(data.rsplit(b"\n", 2)[0] + b"\n")
    (tmp_path / "said.log").write_bytes(b"PT_HPU_PLACE_ON_CPU=none\n" + GRAPH_NODE.encode() + b"\n")
    assert judged(tmp_path, "cut.log").outcome is Outcome.UNPROVEN
    assert judged(tmp_path, "said.log").outcome is Outcome.UNPROVEN
