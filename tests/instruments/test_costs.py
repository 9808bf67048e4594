"""What each fallback of a log costs by a trace beside it, and a policy that speaks of it; on the real command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.instruments.command import TRACES, run

SMALL = str(TRACES / "small-decoder.disabled.json.gz")
LOG = (
    "fallback to eager: op=gate_attn\nfallback to eager: op=aten::sigmoid\nfallback to eager: op=my::cheap\n"
)


def decided(folder: Path, policy: str, trace: str = SMALL) -> dict[str, tuple[str, float | None]]:
    (folder / "e.log").write_text(LOG, "utf-8")
    (folder / "p.yaml").write_text(
        f"version: 1\ninstruments: {{trace: {{eager_kernel_share: '<=99%'}}}}\n{policy}", "utf-8"
    )
    done = run(folder, "check", "e.log", "--trace", trace, "-p", "p.yaml", "-f", "json")
    return {
        event["op"]: (event["decision"], event["cost"] and event["cost"]["share_of_step"])
        for event in json.loads(done.stdout)["events"]
        if event["compiler"] == "generic"
    }


def test_an_operator_costs_its_kernels_and_a_function_what_runs_eager_under_it(tmp_path: Path) -> None:
    """Of 49 kernels in a step 28 are eager under gate_attn: two copies, two products, softmax, softplus and sigmoid,
    in four layers. Its two matrix products a layer are cuBLAS's. Sigmoid's 4 take 6.6% of the time, less than 4 / 49.
    """
    found = decided(tmp_path, "")
    assert found["gate_attn"] == ("blocked", pytest.approx(28 / 49))
    assert found["aten::sigmoid"] == ("blocked", pytest.approx(4 / 49))
    assert found["my::cheap"] == ("blocked", None)


def test_a_policy_speaks_of_the_share(tmp_path: Path) -> None:
    found = decided(tmp_path, "unlisted: {block_if_share_above: '10%'}\n")
    assert [found[op][0] for op in ("gate_attn", "aten::sigmoid", "my::cheap")] == [
        "blocked",
        "warned",
        "blocked",
    ]
    found = decided(tmp_path, "unlisted: warn\nhot: [{share_of_step: '>10%'}]\n")
    assert [found[op][0] for op in ("gate_attn", "aten::sigmoid", "my::cheap")] == [
        "blocked",
        "warned",
        "warned",
    ]


def test_what_costs_most_comes_first_and_the_report_says_it(tmp_path: Path) -> None:
    (tmp_path / "e.log").write_text(LOG, "utf-8")
    said = run(tmp_path, "check", "e.log", "--trace", SMALL).stdout.decode()
    assert said.index("\n  gate_attn:") < said.index("\n  aten::sigmoid:")
    assert "28 kernels" in said
