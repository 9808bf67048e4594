"""Room 5: a policy may call compilers as people do."""

from __future__ import annotations

from pathlib import Path

from fallback_gate.compilers import READERS
from fallback_gate.gate import check
from fallback_gate.model import Outcome
from fallback_gate.policy.compilers import by_known_names

from .make import OURS, TODAY, policy, written

LOG = Path(__file__).parents[2] / "sample_logs" / "moe-decoder-h200" / "fixed.debug.log.gz"


def test_entries_and_expectations_get_the_known_names(tmp_path: Path) -> None:
    rules = policy(
        tmp_path,
        f"hot: [{{op: a, compiler: [torch, 'torch*', nosuch]}}]\n"
        f"cold: [{{op: b, compiler: trt, {OURS}}}]\nexpect: {{compilers: [ort, tvm, nosuch]}}\n",
    )
    known = by_known_names(rules, READERS)
    assert known.hot[0].compiler == ("torch.compile", "torch*", "nosuch")
    assert known.cold[0].compiler == ("tensorrt",)
    assert known.expect_compilers == ("onnxruntime", "tvm", "nosuch")
    assert by_known_names(rules, [*READERS, "trt"]).cold[0].compiler == ("trt",)


def test_a_run_that_is_expected_by_an_alias(tmp_path: Path) -> None:
    text = "version: 1\nextends: ['builtin:moe-serving']\nexpect: {{compilers: [{}]}}\n"
    outcomes = {
        name: check(LOG, written(tmp_path, text.format(name)), today=TODAY).outcome
        for name in ("torch", "PyTorch", "trt")
    }
    assert outcomes == {"torch": Outcome.PASS, "PyTorch": Outcome.PASS, "trt": Outcome.UNPROVEN}
