"""`fallback-gate trace`, `check --trace` and `policy hot`, on the real command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from tests.instruments.command import LOGS, TRACES, run

GOOD, BAD = str(TRACES / "moe-decoder.compiled.json.gz"), str(TRACES / "moe-decoder.custom-op.json.gz")


def test_the_json_report_has_the_promised_keys(tmp_path: Path) -> None:
    done = run(tmp_path, "trace", BAD, "--format", "json")
    said = json.loads(done.stdout)
    assert done.returncode == said["exit_code"] == 1
    assert (said["steps"], said["kernels_per_step"], said["graph_launches_per_step"]) == (3, 1509, 1)
    assert said["eager_kernel_share"] > 0.8
    assert said["generated_kernel_share"] == pytest.approx(114 / 1509)
    assert said["small_kernel_share"] > 0.9
    assert {"name", "kernels", "microseconds", "origin"} <= set(said["operators"][0])
    assert sum(one["kernels"] for one in said["operators"]) == 3 * 1509
    assert {"aten::softplus", "aten::sigmoid"} <= {event["op"] for event in said["events"]}


@pytest.mark.parametrize("form", ["text", "junit", "github", "markdown", "sarif", "gitlab", "html"])
def test_every_format_names_an_operator_of_the_attention(form: str, tmp_path: Path) -> None:
    done = run(
        tmp_path, "trace", BAD, "--baseline", GOOD, "--format", form, *(["-v"] if form == "text" else [])
    )
    assert done.returncode == 1
    assert (b"index_copy_" if form == "github" else b"softplus") in done.stdout


@pytest.mark.parametrize(
    ("log", "trace", "code"),
    [
        ("fixed.debug.log.gz", GOOD, 0),
        ("fixed.debug.log.gz", BAD, 1),
        ("disabled.default.log", GOOD, 3),  # a good trace proves nothing for a log that is silent
        ("disabled.default.log", BAD, 1),
    ],
)
def test_a_trace_beside_a_log_can_block_and_never_proves(
    log: str, trace: str, code: int, tmp_path: Path
) -> None:
    done = run(
        tmp_path, "check", str(LOGS / log), "--trace", trace, "-p", "builtin:moe-serving", "-f", "json"
    )
    said = json.loads(done.stdout)
    assert done.returncode == said["exit_code"] == code
    assert {one["name"] for one in said["measurements"]} >= {"kernels_per_step", "eager_kernel_share"}


def test_limits_of_a_policy(tmp_path: Path) -> None:
    policy = tmp_path / "p.yaml"
    for limit, code in (
        ("kernels_per_step: '<=468'", 1),
        ("kernels_per_step: '<=469'", 0),
        ("kernels_per_step: '<=100% of baseline'", 3),
    ):
        policy.write_text(f"version: 1\ninstruments: {{trace: {{{limit}}}}}\n", "utf-8")
        assert run(tmp_path, "trace", GOOD, "-p", str(policy)).returncode == code
    policy.write_text(
        "version: 1\nextends: ['builtin:moe-serving']\nexpect: {instruments: [trace]}\n", "utf-8"
    )
    log = str(LOGS / "fixed.debug.log.gz")
    assert run(tmp_path, "check", log, "-p", str(policy)).returncode == 3
    assert run(tmp_path, "check", log, "-p", str(policy), "--trace", GOOD).returncode == 0


@pytest.mark.parametrize("text", ["{}", '{"traceEvents": []}', "no trace"])
def test_what_shows_no_kernel_never_passes(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text, "utf-8")
    assert run(tmp_path, "trace", "t.json").returncode in (2, 3)


def test_a_baseline_that_says_nothing_lets_nothing_pass(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"traceEvents": [{"ph": "M"}]}', "utf-8")
    done = run(tmp_path, "trace", GOOD, "--baseline", "t.json")
    assert done.returncode == 3
    assert b"the baseline says nothing" in done.stdout


def test_hostile_names_reach_no_terminal(tmp_path: Path) -> None:
    name = "at::native::\x1b[31mevil_kernel_cuda(at::TensorIterator)\n::error::x"
    kernels = [
        {"ph": "X", "cat": "kernel", "name": n, "ts": 10 * at, "dur": 1, "args": {}}
        for at, n in enumerate([name, "triton_a", "triton_b"] * 5)
    ]
    (tmp_path / "t.json").write_text(json.dumps(kernels), "utf-8")
    for form in ("text", "github", "json"):
        done = run(tmp_path, "trace", "t.json", "-f", form)
        assert done.returncode == 1
        assert b"\x1b" not in done.stdout
        assert b"\n::error::x" not in done.stdout


def test_a_hot_list_from_a_trace_judges_that_trace(tmp_path: Path) -> None:
    for trace, hot in (
        ("moe-decoder.compiled", {"aten::softplus", "aten::_grouped_mm", "aten::rsqrt"}),
        ("moe-decoder.eager-backend", {"aten::softplus", "aten::topk", "aten::bmm"}),
        ("small-decoder.disabled", {"gate_attn", "decode_step"}),
    ):
        path = TRACES / f"{trace}.json.gz"
        assert run(tmp_path, "policy", "hot", str(path), "-o", "hot.yaml", "--force").returncode == 0
        said = yaml.safe_load((tmp_path / "hot.yaml").read_text("utf-8"))
        assert hot <= {entry.get("op") or entry.get("function") for entry in said["hot"]}
        assert run(tmp_path, "policy", "lint", "hot.yaml").returncode == 0
    run(tmp_path, "policy", "hot", GOOD, "-o", "hot.yaml", "--force")
    assert run(tmp_path, "trace", GOOD, "-p", "hot.yaml").returncode == 0
    assert run(tmp_path, "trace", BAD, "-p", "hot.yaml").returncode == 1


def test_a_first_hot_list_counts_the_calls_of_a_function(tmp_path: Path) -> None:
    """The decoder has four layers: a step calls gate_attn once in each, and decode_step once in all."""
    said = yaml.safe_load(
        run(tmp_path, "policy", "hot", str(TRACES / "small-decoder.disabled.json.gz")).stdout
    )
    why = {entry["function"]: entry["why"] for entry in said["hot"] if "function" in entry}
    assert why["gate_attn"].startswith("called 4 times, 36 kernels in each of 3 steps")
    assert why["decode_step"].startswith("49 kernels in each of 3 steps")


def test_a_trace_that_names_no_operator_proposes_nothing_and_says_so(tmp_path: Path) -> None:
    told = run(tmp_path, "policy", "hot", str(TRACES / "jax.json.gz")).stdout.decode()
    assert "# No operator or function that the trace names ran in every step." in told
